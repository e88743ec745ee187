// Which runs are no longer kept.
//
//   expiry-by-conversation. The turns of a conversation go together, when the newest of them is due: later turns hold the earlier ones.
//   expiry-spares. A run that has not ended, and one with a checkpoint that somebody asked for, stay, with their conversation.
import type { RunId } from '#base';
import type { ConversationRef, KeepRules, RunSummary } from '#contracts';

/** What goes together: a conversation with its turns, or one run. */
type KeepUnit = { readonly conversation: ConversationRef | null; readonly runs: readonly RunId[] };

type KeptUnit = KeepUnit & { readonly newestAt: number; readonly bytes: number; readonly mayGo: boolean };

type RecordedRuns = {
  readonly runs: readonly RunSummary[];
  readonly conversations: readonly KeepUnit[];
  /** Runs with checkpoints that somebody asked for. */
  readonly asked: ReadonlySet<RunId>;
  readonly bytes: ReadonlyMap<RunId, number>;
};

const dayMs = 86_400_000;

/** Oldest first. */
export const expiredUnits = (recorded: RecordedRuns, rules: KeepRules, now: number): readonly KeepUnit[] => {
  const { days = Infinity, runs: runsMax = Infinity, bytes: bytesMax = Infinity } = rules;
  const newestFirst = unitsOf(recorded, rules.agent).toSorted((one, other) => other.newestAt - one.newestAt);
  let [runs, bytes] = [0, 0];
  const due = newestFirst.filter((unit) => {
    runs += unit.runs.length;
    bytes += unit.bytes;
    return unit.mayGo && (now - unit.newestAt > days * dayMs || runs > runsMax || bytes > bytesMax);
  });
  return due.toReversed();
};

const unitsOf = (recorded: RecordedRuns, agent: string | undefined): readonly KeptUnit[] => {
  const found = new Map(recorded.runs.map((one) => [one.run, one]));
  const inConversations = new Set(recorded.conversations.flatMap(({ runs }) => runs));
  const alone = recorded.runs.flatMap(({ run }) =>
    inConversations.has(run) ? [] : [{ conversation: null, runs: [run] }],
  );
  return [...recorded.conversations, ...alone].flatMap((unit) => {
    const summaries = unit.runs.flatMap((run) => found.get(run) ?? []);
    const owner = unit.conversation?.agent ?? summaries[0]?.agent;
    if (summaries.length === 0 || (agent !== undefined && owner !== agent)) return [];
    return [
      {
        ...unit,
        newestAt: Math.max(...summaries.map(({ startedAt, endedAt }) => endedAt ?? startedAt)),
        bytes: summaries.reduce((sum, { run }) => sum + (recorded.bytes.get(run) ?? 0), 0),
        mayGo: summaries.every(({ run, state }) => state === 'ended' && !recorded.asked.has(run)),
      },
    ];
  });
};
