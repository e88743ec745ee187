// The main view: chat, the run in one of its panes, and the X-ray of what is selected.
import type { ComponentType } from 'preact';
import { signal } from '@preact/signals';
import { address, panes, select } from '../address.ts';
import type { Address, Pane } from '../address.ts';
import { Chat } from '../chat/chat.tsx';
import { outgoing } from '../chat/outbox.ts';
import type { RunStore } from '../run-store.ts';
import { agents, run } from '../state.ts';
import { later } from '../ui/later.tsx';
import { Busy, capitalized, Problem } from '../ui/parts.tsx';
import { RetryNotice } from '../ui/retry-notice.tsx';
import { newestRuns, useNewestRuns } from './newest-runs.ts';
import { FirstVisit, Welcome } from './welcome.tsx';

export type PaneProps = { readonly store: RunStore };

const views: Readonly<Record<Pane, ComponentType<PaneProps>>> = {
  rooms: later('Rooms'),
  tree: later('Tree'),
  tasks: later('Tasks'),
  mail: later('Mail'),
  transcript: later('TranscriptPane'),
  windows: later('Windows'),
  summary: later('Summary'),
  audit: later('Audit'),
};

const Inspector = later('Inspector');

/** Which of the panes a narrow screen shows: at first, the one that the address is about. */
const narrowPane = signal<'chat' | 'run' | 'xray' | null>(null);

const addressedPane = ({ pane, cell, crossing }: Address): 'chat' | 'run' | 'xray' => {
  if (cell !== undefined || crossing !== undefined) return 'xray';
  return pane === undefined ? 'chat' : 'run';
};

export const Workbench = () => {
  const store = run.value;
  const { cell, crossing, agent, conversation, pane } = address.value;
  const hasOwnDetails = pane === 'tasks' || pane === 'mail';
  const narrow = narrowPane.value ?? addressedPane(address.peek());
  useNewestRuns(store === null);
  if (store === null && isKeptFile) return null;
  if (store === null && agent === undefined && conversation === undefined && outgoing.value === null) {
    if (newestRuns.value === null) return <Busy />;
    if (newestRuns.value.length === 0) return <FirstVisit />;
  }
  if (store?.state.value === 'lost' && store.view.events === 0) return <RunMissing store={store} />;
  const hasSelection = store !== null && (cell !== undefined || crossing !== undefined);
  return (
    <div class={`workbench narrow-${narrow}`} data-pane={store === null ? undefined : address.value.pane}>
      <h1 class="unseen">{store?.facts.value?.goal || `Chat with ${agent ?? agents.value[0]?.name ?? 'nobody'}`}</h1>
      <section class="workbench-chat" aria-label="Chat">
        <Chat />
      </section>
      <section class="workbench-run" aria-label="Run">
        {store === null ? <Welcome /> : <RunPane store={store} />}
      </section>
      {store === null ? null : (
        <section class={`workbench-xray ${hasSelection ? 'is-open' : ''}`} aria-label="X-ray">
          {/* Where it is not seen, it takes no keys. */}
          {hasOwnDetails && narrow !== 'xray' ? null : <Inspector store={store} />}
        </section>
      )}
      <BottomBar shown={narrow} />
    </div>
  );
};

const RunMissing = ({ store }: PaneProps) => (
  <div class="first-visit">
    <h1>{store.problem.value?.message}</h1>
    <a class="button" href="#/runs">
      Open runs
    </a>
  </div>
);

const RunPane = ({ store }: PaneProps) => {
  const shown = address.value.pane ?? 'rooms';
  const View = views[shown];
  const { problem, retryAt, state } = store;
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Views of the run">
        {panes.map((pane) => (
          <button
            key={pane}
            type="button"
            role="tab"
            class="tab"
            aria-selected={pane === shown}
            onClick={() => select({ pane })}
          >
            {capitalized(pane)}
          </button>
        ))}
      </div>
      {problem.value !== null && state.value === 'lost' ? (
        <Problem error={problem.value} />
      ) : retryAt.value !== null && problem.value !== null ? (
        <RetryNotice at={retryAt.value} />
      ) : null}
      <div class="tab-panel" role="tabpanel" aria-label={capitalized(shown)}>
        <View store={store} />
      </div>
    </>
  );
};

const bars = [
  ['chat', 'Chat'],
  ['run', 'Rooms'],
  ['xray', 'X-ray'],
] as const;

const BottomBar = ({ shown }: { readonly shown: string }) => (
  <nav class="bottom-bar" aria-label="Parts of the page">
    {bars.map(([pane, title]) => (
      <button key={pane} type="button" aria-pressed={shown === pane} onClick={() => void (narrowPane.value = pane)}>
        {title}
      </button>
    ))}
    <a href="#/runs">Runs</a>
  </nav>
);
