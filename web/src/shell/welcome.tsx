// Shown while no run is selected: what this is, and where to begin.
import { plural } from '#headends/run-view';
import { go } from '../address.ts';
import { send } from '../chat/outbox.ts';
import { conversationName } from '../chat/words.ts';
import { agents, mayAct, me } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { CopyButton, StatusMark } from '../ui/parts.tsx';
import { newestRuns } from './newest-runs.ts';
import { RoomsFigure } from './rooms-figure.tsx';

const title = 'Every agent in a room of its own';
const promise = 'Nothing passes between rooms unless a grant allows it, and everything that passes is written down.';

/** Nothing has run here yet. */
export const FirstVisit = () => (
  <div class="first-visit-page">
    <div class="first-visit">
      <RoomsFigure />
      <h1>{title}</h1>
      <p class="first-visit-text">{promise} There are no runs in this workspace yet.</p>
      {mayAct.value && agents.value.length > 0 ? <FirstSteps /> : <LookingOnly />}
    </div>
  </div>
);

const FirstSteps = () => {
  const { name, usage = '', input } = agents.value[0]!;
  const hasExample = usage !== '' && input?.format !== 'json';
  const chat = (): void => go({ page: 'chat', agent: name });
  const runExample = (): void => {
    const conversation = conversationName(usage, []);
    const body = { input: usage, wait: false, conversation };
    send({ key: crypto.randomUUID(), text: usage, agent: name, conversation, to: null, body });
    go({ page: 'chat', agent: name });
  };
  useKeys({ c: { about: 'chat', hint: true, run: chat } });
  return (
    <>
      <div class="first-visit-buttons">
        {hasExample ? (
          <button type="button" class="button primary large" onClick={runExample}>
            Run the example
          </button>
        ) : null}
        <button type="button" class={`button large ${hasExample ? '' : 'primary'}`} onClick={chat}>
          Chat with {name}
        </button>
      </div>
      {hasExample ? (
        <p class="muted small">
          The example asks {name}: {usage}
        </p>
      ) : null}
      <CommandLine command="npx cloister demo" about="or in a terminal" />
    </>
  );
};

const LookingOnly = () => (
  <>
    <p>
      <strong>Looking only.</strong>{' '}
      {me.value?.watchOnly === true ? 'This link may look only.' : 'Give studio an agent file to chat with it.'}
    </p>
    {me.value?.watchOnly === true ? null : <CommandLine command="npx cloister studio lead.ai" about="in a terminal" />}
  </>
);

const CommandLine = ({ command, about }: { readonly command: string; readonly about: string }) => (
  <div class="command-line">
    <code>
      <span class="muted">{about}</span> {command}
    </code>
    <CopyButton text={() => command} />
  </div>
);

/** Beside the chat, while no run is selected. */
export const Welcome = () => {
  const runs = newestRuns.value ?? [];
  const canAsk = mayAct.value && agents.value.length > 0;
  return (
    <div class="first-visit is-beside">
      <RoomsFigure />
      <h1>{title}</h1>
      <p class="first-visit-text">{promise}</p>
      {canAsk ? null : <LookingOnly />}
      {runs.length === 0 ? null : (
        <nav class="recent-runs" aria-label="Newest runs">
          {runs.map(({ run, agent, goal, status, state, cells }) => (
            <a key={run} href={`#/chat?run=${encodeURIComponent(run)}`}>
              <StatusMark status={status ?? state} />
              <strong>{agent}</strong>
              <span>{goal}</span>
              <small class="muted small">{plural(cells, 'room')}</small>
            </a>
          ))}
        </nav>
      )}
    </div>
  );
};
