// The end of a session that spawned agents: it waits for their work, shuts them down, and says what they left.
//
//   answered-model-not-asked. The session has answered: its model is not asked again, and nothing that comes now is added to
//       its words.
//   wait-holds-nothing. While it waits, it holds no slot, lane or floor, and the time is no working time.
//   unfinished-work-named. Agents that have not finished their work are named, with the reason. A session that leaves such
//       work is not `completed`.
import { CloisterError, deepFreeze, errorText1, limitSentence, utf8Bytes } from '#base';
import type { ErrorCode } from '#base';
import { decodeEnvelope } from '#contracts';
import type { Envelope, Outcome, SpawnedChild, SpawnedOutcome } from '#contracts';
import { spawnedWaitName } from '#core/events';
import { cutBytes } from '#core/rules';
import { elapsedSpend, failureFrom, stoppedOutcome } from './session-outcome.ts';
import { openSpawned, shutDownSpawned } from './shut-down-spawned.ts';
import type { ShutdownResult } from './shut-down-spawned.ts';
import type { Session } from './state.ts';

export const spawnedWaitMs = 600_000;

export const endSpawned = async (session: Session, answered: Outcome): Promise<Outcome> => {
  let ended = answered;
  let [whyStopped, shutDown]: [string, ShutdownResult] = ['', { asked: [], unheard: [] }];
  try {
    // probe: spawned-wait
    whyStopped = await awaitWork(session, answered);
    shutDown = await shutDownSpawned(session);
  } catch (error) {
    // The session was stopped meanwhile, and its spawned agents with it.
    ended = stoppedOutcome(session, failureFrom(error));
  }
  const spawned: SpawnedOutcome[] = [];
  for (const child of session.cell.runtime.spawnedChildren) {
    const wasAsked = shutDown.asked.includes(child.pending.operation.cell);
    const end = describeEnd(child, await endOf(session, child), wasAsked ? whyStopped : 'It was stopped at work.');
    if (end.why !== null || shutDown.unheard.includes(end.cell)) spawned.push(end);
  }
  const left = spawned.filter(({ why }) => why !== null);
  return deepFreeze({
    ...ended,
    status: left.length > 0 && ended.status === 'completed' ? 'partial' : ended.status,
    missing: [...ended.missing, ...left.map(({ agent }) => agent)],
    ...(spawned.length === 0 ? {} : { spawned }),
    spent: elapsedSpend(session),
  });
};

const whenParentEnded = 'It was still working when its parent ended.';

/** Waits until nobody below has work or unread mail. Returns what to say of agents that still work then. */
const awaitWork = async (session: Session, { status }: Outcome): Promise<string> => {
  const { runtime, agent, isResident } = session.cell;
  const { onEnd = 'wait', waitMs = spawnedWaitMs } = agent.children.spawns ?? {};
  // A resident lives on after its answers. When it ends, it failed, or somebody wants it to end.
  if (isResident || (status !== 'completed' && status !== 'partial')) return whenParentEnded;
  if (onEnd === 'stop') return 'It was still working when its parent answered (spawns.on_end: stop).';
  if (openSpawned(session).length === 0) return whenParentEnded;
  const startedAt = runtime.now;
  const askedBefore = longestAskedMs(session);
  let leftMs = waitMs;
  for (;;) {
    const untilDeadlineMs = session.workClock.untilDeadlineMs();
    const timeoutMs = Math.max(1, Math.min(leftMs, untilDeadlineMs));
    const pending = runtime.begin({ do: 'receive', name: spawnedWaitName, wanted: { kind: 'idle-below' }, timeoutMs });
    const { settled } = await runtime.first([pending]);
    if (!settled!.ok) throw new CloisterError(settled!.failure.code);
    if (settled!.value.timedOut !== true) return whenParentEnded;
    if (untilDeadlineMs < leftMs && session.workClock.untilDeadlineMs() === 0)
      return 'It was still working at the deadline.';
    // Waiting for a person does not count.
    const askedMs = longestAskedMs(session) - askedBefore;
    leftMs = waitMs + askedMs - (runtime.now - startedAt);
    if (leftMs <= 0) return `It was still working ${waitMs} ms after its parent answered (spawns.wait).`;
    leftMs = Math.ceil(Math.max(leftMs, askedMs / 16));
  }
};

/** How long one of the agents that have not ended has waited for people. */
const longestAskedMs = (session: Session): number => {
  const { runtime } = session.cell;
  return Math.max(0, ...openSpawned(session).map(({ operation }) => runtime.askedMs(operation)));
};

/** The result that crossed; or why none did. */
type ChildEnd = Envelope | { readonly failure: ErrorCode } | null;

/** Null: this session was stopped before the agent ended. */
const endOf = async ({ cell: { runtime } }: Session, { pending }: SpawnedChild): Promise<ChildEnd> => {
  try {
    const settled = pending.settled ?? (await runtime.first([pending])).settled!;
    if (!settled.ok) return { failure: settled.failure.code };
    return decodeEnvelope(runtime.received.at(settled.value.crossing)!.content);
  } catch {
    return null;
  }
};

const describeEnd = ({ pending, identity }: SpawnedChild, end: ChildEnd, whyStopped: string): SpawnedOutcome => {
  const child = { agent: identity.name, cell: pending.operation.cell };
  if (end === null) return { ...child, status: 'cancelled', why: 'It was stopped with its parent.', output: '' };
  if ('failure' in end) return { ...child, status: 'failed', why: errorText1(end.failure).summary, output: '' };
  const { status, output } = end;
  const bytes = utf8Bytes(output);
  const shown = bytes > outputBytesMax ? { output: cutBytes(output, outputBytesMax), bytes } : { output };
  return { ...child, status, why: whyUnfinished(end, whyStopped), ...shown };
};

/** The whole output is in the report of the agent's cell. */
const outputBytesMax = 20_000;

/** Null if it finished its work, or never had any. */
const whyUnfinished = ({ status, error }: Envelope, whyStopped: string): string | null => {
  if (status === 'completed') return null;
  if (status === 'cancelled') return error?.code === 'shut_down' ? null : whyStopped;
  return error === null ? 'Its answer is incomplete.' : `${errorText1(error.code).summary}${limitSentence(error)}`;
};
