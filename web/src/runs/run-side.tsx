// Beside the list: the conversation of the selected run, or the run alone.
import { useState } from 'preact/hooks';
import { clockTime, count, money, plural } from '#headends/run-view';
import { formatAddress, go } from '../address.ts';
import { mayAct, source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Button, Problem, Status } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { backWords, branchWords, checkpointOf, checkpointWords, conversationLine } from './conversation-line.ts';
import type { ConversationFacts, ConversationTurn, LineEntry, ShownCheckpoint } from './conversation-line.ts';
import { roomsText, rowStatus, tookText } from './run-list.ts';
import type { ListedRun } from './run-list.ts';

export const RunSide = ({ row }: { readonly row: ListedRun }) => {
  const talk = row.conversation ?? null;
  const [reads, setReads] = useState(0);
  const key = talk === null ? row.run : `${talk.agent} ${talk.name}`;
  const loaded = useLoaded<ConversationFacts | null>(
    async () => (row.unreadable === undefined ? readLine(row) : null),
    [key, row.endedAt, reads],
  );
  if (row.unreadable !== undefined) return <Unreadable row={row} />;
  const facts = loaded.value;
  return (
    <>
      <header class="detail-head">
        <h2>{talk?.name ?? row.agent}</h2>
        <span class="muted">
          {talk === null
            ? `run ${row.run.slice(0, 8)}, no conversation`
            : `conversation with ${talk.agent}${facts === null ? '' : `, ${turnsText(facts.turns.length)}`}`}
        </span>
      </header>
      {loaded.error === null ? null : <Problem error={loaded.error} />}
      <div class="detail-body">
        {talk === null ? <RunFigures row={row} /> : null}
        {facts === null ? null : <Line facts={facts} run={row.run} onChange={() => setReads(reads + 1)} />}
      </div>
    </>
  );
};

const turnsText = (turns: number): string => `${turns} ${turns === 1 ? 'turn' : 'turns'}`;

/** The conversation; of a run without one, its own goal, answer and checkpoints. */
const readLine = async (row: ListedRun): Promise<ConversationFacts> => {
  const talk = row.conversation;
  if (talk != null)
    return source.value.get(`/conversations/${encodeURIComponent(talk.agent)}/${encodeURIComponent(talk.name)}`);
  const [{ output, status }, { checkpoints }] = await Promise.all([
    source.value.run(row.run),
    source.value
      .get<{ checkpoints: readonly ShownCheckpoint[] }>('/checkpoints', { run: row.run, limit: 50 })
      .catch(() => ({ checkpoints: [] })),
  ]);
  const { run, agent, goal, startedAt, endedAt, spent } = row;
  return { agent, name: '', turns: [{ run, goal, output, status, startedAt, endedAt, spent }], checkpoints };
};

const Unreadable = ({ row }: { readonly row: ListedRun }) => (
  <div class="detail-body">
    <p>
      <b>A newer version wrote this run; it cannot be opened.</b>
    </p>
    <p class="muted">{row.unreadable}</p>
  </div>
);

const RunFigures = ({ row }: { readonly row: ListedRun }) => (
  <section class="run-figures">
    <p>
      <Status status={rowStatus(row)} /> <span class="muted">{tookText(row, Date.now())}</span>
    </p>
    <p class="muted small">
      {roomsText(row)}
      {row.refused ? <span class="hue-text hue-stop">, {count(row.refused)} refused</span> : null}
      {row.spent === null ? '' : `, ${count(row.spent.inputTokens)} in, ${count(row.spent.outputTokens)} out`}
    </p>
    {row.fork == null ? null : (
      <p class="small">
        A fork of{' '}
        <a href={formatAddress({ page: 'chat', run: row.fork.run, with: row.run })}>
          <code>{row.fork.run.slice(0, 8)}</code>, side by side
        </a>
      </p>
    )}
    {row.state === 'damaged' ? (
      <p class="hue-text hue-stop">
        This run has lost records. It is shown as far as they go; Audit lists what is missing.
      </p>
    ) : null}
  </section>
);

type LineProps = { readonly facts: ConversationFacts; readonly run: string; readonly onChange: () => void };

const Line = ({ facts, run, onChange }: LineProps) => {
  const line = conversationLine(facts);
  const current = checkpointOf(line, run);
  const [error, setError] = useState<Error | null>(null);
  const next = async (id: string, how: 'branch' | 'restore'): Promise<void> => {
    setError(null);
    try {
      const to = await continueFrom(id, how);
      if (how === 'restore' && to.run === null) onChange();
      else openContinuation(to);
    } catch (problem) {
      setError(problem as Error);
    }
  };
  const branch = (id: string): Promise<void> => next(id, 'branch');
  const goBack = (id: string): Promise<void> => next(id, 'restore');
  useKeys(
    { b: { about: 'branch', hint: true, run: () => current !== undefined && void branch(current.id) } },
    mayAct.value && current !== undefined,
  );
  return (
    <>
      {error === null ? null : <Problem error={error} />}
      {facts.more === true ? <p class="muted small">Earlier turns are not shown.</p> : null}
      <ol class="rows talk-line">
        {line.map((entry) => (
          <Entry
            key={entry.kind === 'checkpoint' ? entry.checkpoint.id : `${entry.turn.run} ${entry.kind}`}
            {...{ entry, run, branch, goBack }}
            agent={facts.agent}
            isCurrent={entry.kind === 'checkpoint' && entry.checkpoint === current}
          />
        ))}
      </ol>
      {(facts.branches ?? []).map((one) => (
        <a
          key={one.name}
          class="line card-row branch"
          href={formatAddress({ page: 'chat', agent: one.agent, conversation: one.name })}
        >
          <b>{one.name}</b>
          <span class="muted cut grow">{branchWords(one, facts)}</span>
        </a>
      ))}
    </>
  );
};

type Continuation = {
  readonly conversation: { readonly agent: string; readonly name: string } | null;
  readonly run: string | null;
};

const continueFrom = (checkpoint: string, how: 'branch' | 'restore'): Promise<Continuation> =>
  source.value.send<Continuation>(
    'POST',
    `/checkpoints/${encodeURIComponent(checkpoint)}/${how}`,
    ...(how === 'branch' ? [{}] : []),
  );

const openContinuation = ({ conversation, run }: Continuation): void =>
  go({
    page: 'chat',
    ...(conversation === null ? {} : { agent: conversation.agent, conversation: conversation.name }),
    ...(run === null ? {} : { run }),
  });

type EntryProps = {
  readonly entry: LineEntry;
  readonly run: string;
  readonly agent: string;
  readonly isCurrent: boolean;
  readonly branch: (id: string) => Promise<void>;
  readonly goBack: (id: string) => Promise<void>;
};

const Entry = ({ entry, run, agent, isCurrent, branch, goBack }: EntryProps) => {
  if (entry.kind === 'checkpoint') return <CheckpointEntry {...{ entry, isCurrent, branch, goBack }} />;
  const { turn, kind, at } = entry;
  const isPerson = kind === 'person';
  const text = isPerson ? turn.goal : turn.output === '' ? (turn.status ?? 'no answer') : turn.output;
  return (
    <li class={`talk-entry talk-${kind} ${turn.run === run ? 'is-selected' : ''}`}>
      <p class="is-clamped">
        {isPerson ? 'You' : agent}: {text}
      </p>
      <p class="muted small">
        {isPerson ? (
          clockTime(at)
        ) : (
          <>
            <a href={formatAddress({ page: 'chat', run: turn.run })}>run {turn.run.slice(0, 8)}</a>
            {turn.spent === null ? '' : `, ${money(turn.spent.usd)}`}
            <Versions turn={turn} />
          </>
        )}
      </p>
    </li>
  );
};

/** A turn that was tried again has a version before this one. */
const Versions = ({ turn: { run, versions = [] } }: { readonly turn: ConversationTurn }) => {
  const other = versions.findLast((one) => one !== run);
  if (other === undefined) return null;
  return (
    <>
      , <a href={formatAddress({ page: 'chat', run: other, with: run })}>{plural(versions.length, 'version')}</a>
    </>
  );
};

type CheckpointEntryProps = Pick<EntryProps, 'isCurrent' | 'branch' | 'goBack'> & {
  readonly entry: LineEntry & { kind: 'checkpoint' };
};

const CheckpointEntry = ({ entry, isCurrent, branch, goBack }: CheckpointEntryProps) => {
  const [isAsking, setAsking] = useState(false);
  const { checkpoint, at, turnsAfter } = entry;
  return (
    <li class={`talk-entry talk-checkpoint ${isCurrent ? 'is-current' : ''}`}>
      <p>
        <b>Checkpoint {checkpoint.id.slice(0, 8)}</b>
      </p>
      <div class="line">
        <span class="muted small">
          {checkpointWords(checkpoint)}, {clockTime(at)}
        </span>
        <span class="grow" />
        {mayAct.value && !isAsking ? (
          <span class="talk-actions line">
            <Button onClick={() => void branch(checkpoint.id)}>Branch</Button>
            <Button onClick={() => setAsking(true)}>Go back</Button>
          </span>
        ) : null}
      </div>
      {isAsking ? (
        <div class="talk-ask" role="group" aria-label="Go back to this checkpoint">
          <p class="small">{backWords(turnsAfter)}</p>
          <button type="button" class="button small danger" onClick={() => void goBack(checkpoint.id)}>
            Go back
          </button>{' '}
          <Button onClick={() => setAsking(false)}>Keep</Button>
        </div>
      ) : null}
    </li>
  );
};
