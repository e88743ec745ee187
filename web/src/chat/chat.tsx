// The chat with an agent: the turns of a conversation, the one that is shown in full, and where the next message is written.
import { useEffect, useRef } from 'preact/hooks';
import type { RefObject } from 'preact';
import { formatDuration, money } from '#headends/run-view';
import { select } from '../address.ts';
import { AnswerText } from '../markdown/answer-text.tsx';
import { useNextQuestion } from '../questions/next-question.ts';
import type { RunStore } from '../run-store.ts';
import type { AgentFacts } from '../source.ts';
import { agents, mayAct, run } from '../state.ts';
import { useClock } from '../ui/clock.ts';
import { Status } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { Composer } from './composer.tsx';
import { readConversations, readTurns, shownAgent, shownConversation } from './context.ts';
import type { ConversationTurn, ConversationTurns } from './context.ts';
import { draft, outgoing, resumeOutgoing, takeBack, waitsFor } from './outbox.ts';
import { AgentHead, PersonMessage, Turn } from './turn.tsx';
import { TurnFigures } from './turn-figures.tsx';

export const Chat = () => {
  const store = run.value;
  const agent = shownAgent.value;
  const { turns, more } = useTurns(store, agent, shownConversation.value);
  const facts = agents.value.find(({ name }) => name === agent);
  useNextQuestion();
  useEffect(resumeOutgoing, []);
  useEffect(() => {
    if (agent !== null) void readConversations(agent);
  }, [agent]);
  const scroller = useRef<HTMLDivElement>(null);
  useStickiness(scroller, store);
  const at = store === null ? -1 : turns.findIndex((turn) => isTurnOf(turn, store.run));
  const before = at === -1 ? turns : turns.slice(0, at);
  const after = at === -1 ? [] : turns.slice(at + 1);
  const isEmpty = turns.length === 0 && store === null && outgoing.value === null;
  return (
    <>
      <div class="thread" ref={scroller} tabIndex={0} role="log" aria-live="off" aria-label="Messages">
        <div class="thread-inner">
          {more === true ? <p class="muted">Earlier turns are among the runs.</p> : null}
          {before.map((turn) => (
            <PastTurn key={turn.run} turn={turn} agent={agent!} />
          ))}
          {store === null ? null : <Turn key={store.run} store={store} versions={turns[at]?.versions} />}
          {after.map((turn) => (
            <PastTurn key={turn.run} turn={turn} agent={agent!} />
          ))}
          {isEmpty && facts !== undefined && mayAct.value ? <Invitation agent={facts} /> : null}
          <Outgoing />
        </div>
      </div>
      <Composer />
    </>
  );
};

/** The turns of the shown conversation. Without a run, its newest one is shown. */
const useTurns = (store: RunStore | null, agent: string | null, name: string | null): ConversationTurns => {
  const key = `${agent} ${name}`;
  const isEnded = store?.state.value === 'ended';
  const { value } = useLoaded(
    async () => ({ key, read: agent === null || name === null ? null : await readTurns(agent, name) }),
    [key, store?.run, isEnded],
  );
  const known = (value?.key === key ? value.read : null) ?? noTurns;
  const newest = store === null ? known.turns.at(-1)?.run : undefined;
  useEffect(() => {
    if (newest !== undefined) select({ run: newest });
  }, [newest]);
  return known;
};

const noTurns: ConversationTurns = { turns: [] };

/** Also of a run that was tried again: it is still shown in its place. */
const isTurnOf = ({ run: id, versions = [] }: ConversationTurn, shown: string): boolean =>
  id === shown || versions.includes(shown);

/** The end stays in sight while it grows, unless somebody has scrolled away. A run that has ended is shown from its beginning. */
const useStickiness = (scroller: RefObject<HTMLDivElement | null>, store: RunStore | null): void => {
  const isAtEnd = useRef(true);
  const isSending = outgoing.value !== null;
  useEffect(() => {
    const box = scroller.current!;
    const stick = (): void => {
      if (isAtEnd.current) box.scrollTop = box.scrollHeight;
    };
    const look = (): void => {
      isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 32;
    };
    // What was opened stays where it was clicked.
    const release = (): void => void (isAtEnd.current = false);
    const grown = new ResizeObserver(stick);
    grown.observe(box.firstElementChild!);
    grown.observe(box);
    box.addEventListener('scroll', look, { passive: true });
    box.addEventListener('click', release, { capture: true });
    return () => {
      grown.disconnect();
      box.removeEventListener('scroll', look);
      box.removeEventListener('click', release, { capture: true });
    };
  }, []);
  const state = store?.state.value;
  const wasLive = useRef(false);
  useEffect(() => {
    wasLive.current = false;
    isAtEnd.current = true;
  }, [store?.run, isSending]);
  useEffect(() => {
    if (state === 'live') wasLive.current = true;
    if (state !== 'ended' || wasLive.current) return;
    isAtEnd.current = false;
    const turn = scroller.current!.querySelector<HTMLElement>('.turn:not(.is-past, .is-outgoing)');
    if (turn !== null) scroller.current!.scrollTop = turn.offsetTop - scroller.current!.offsetTop - 16;
  }, [store?.run, state]);
};

const PastTurn = ({ turn, agent }: { readonly turn: ConversationTurn; readonly agent: string }) => {
  const { run: id, goal, output, status, startedAt, endedAt, spent } = turn;
  const format = agents.value.find(({ name }) => name === agent)?.output?.format;
  return (
    <section class="turn is-past" aria-label={`${agent}, ${goal.slice(0, 80)}`}>
      <PersonMessage text={goal} />
      <AgentHead agent={agent} at={startedAt} />
      {output === '' ? null : (
        <div class="chat-text">
          <AnswerText text={output} format={format} />
        </div>
      )}
      {status === 'completed' ? null : <Status status={status} />}
      <TurnFigures
        run={id}
        agent={agent}
        store={null}
        versions={turn.versions}
        words={[
          ...(endedAt === null ? [] : [formatDuration(spent?.ms ?? endedAt - startedAt)]),
          ...(spent === null ? [] : [money(spent.usd)]),
        ]}
        isRetryable={turn.inherited !== true}
      />
    </section>
  );
};

/** Nothing was said yet: what the agent is for, and something to try. */
const Invitation = ({ agent: { name, description, usage = '' } }: { readonly agent: AgentFacts }) => (
  <div class="invitation">
    <h2 class="agent-head">{name}</h2>
    <p>{description}</p>
    {usage === '' ? null : (
      <button type="button" class="invitation-usage" onClick={() => void (draft.value = usage)}>
        {usage}
      </button>
    )}
  </div>
);

/** The message that the server has not taken yet. */
const Outgoing = () => {
  const message = outgoing.value;
  const waits = waitsFor.value;
  const now = useClock(waits !== null);
  if (message === null) return null;
  const seconds = waits === null ? 0 : Math.max(0, Math.ceil((waits.until - now) / 1000));
  return (
    <section class="turn is-outgoing" aria-label="Your next message">
      <PersonMessage text={message.text} />
      <p class="muted" role="status">
        {waits === null
          ? 'Sending…'
          : waits.why === 'turn'
            ? 'Waits its turn.'
            : `The server does not answer. Not sent yet; trying again in ${seconds} s.`}{' '}
        {waits === null ? null : (
          <button type="button" class="button small" onClick={takeBack}>
            Take back
          </button>
        )}
      </p>
    </section>
  );
};
