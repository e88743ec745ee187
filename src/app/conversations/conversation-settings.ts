// How conversations and checkpoints are stored, from the options of `openCloister`.
import { omitUndefined } from '#base';
import type { RunId } from '#base';
import type { Retention, Checkpoint } from '#contracts';
import type { ExportFolder } from './export-folder.ts';

export type ConversationSettings = {
  /** Null in memory-only mode. */
  readonly files: ExportFolder | null;
  readonly defaultAgent: string | null;
  readonly retention: Retention;
  readonly autosaveMs: number;
};

const dayMs = 86_400_000;

export const retentionDefault: Retention = { allMs: dayMs, thinMs: dayMs, most: 1_000 };

export const defaultConversationSettings: ConversationSettings = {
  files: null,
  defaultAgent: null,
  retention: retentionDefault,
  autosaveMs: 30_000,
};

export const readConversationSettings = (
  files: ExportFolder | null,
  options: ConversationOptions,
): ConversationSettings => {
  const { defaultAgent = null, autosaveMs = defaultConversationSettings.autosaveMs } = options;
  const retention = { ...retentionDefault, ...omitUndefined(options.retention) };
  return { files, defaultAgent, retention, autosaveMs };
};

type ConversationOptions = {
  readonly defaultAgent?: string | null;
  readonly retention?: Partial<Retention>;
  readonly autosaveMs?: number;
};

// Which checkpoints have expired.
//
//   retention-thins-by-period. All checkpoints of a conversation are kept for a while, then only the newest of each period.
//   retention-requested-last. Checkpoints that a person requested are kept until their agent has too many; autosaved ones are
//       removed first.
//   retention-by-caller. An agent's checkpoints are counted for each caller of a server alone: with one count for all, a caller
//       could push out the checkpoints of others, and see how many they have.
/** `checkpoints` in order of creation. Returns the ids of those to remove, oldest first. */
export const expiredCheckpoints = (
  checkpoints: Iterable<Checkpoint>,
  { now, callerOf }: { readonly now: number; readonly callerOf: (run: RunId) => string | null },
  { allMs, thinMs, most }: Retention,
): readonly string[] => {
  const newestFirst = [...checkpoints].toReversed().sort((one, other) => other.at - one.at);
  const periods = new Set<string>();
  const thinned = newestFirst.filter(({ at, why, agent, conversation, run }) => {
    if (why === 'asked' || now - at <= allMs) return true;
    const period = JSON.stringify([agent, conversation?.agent, conversation?.name ?? run, Math.floor(at / thinMs)]);
    if (periods.has(period)) return false;
    periods.add(period);
    return true;
  });
  const kept = new Set(thinned.filter(withinCap(thinned, most, callerOf)).map(({ id }) => id));
  return newestFirst.flatMap(({ id }) => (kept.has(id) ? [] : [id])).toReversed();
};

/** Whether callers matter: only if some agent has more checkpoints than one caller may have. */
export const mayExceedCap = (checkpoints: readonly Checkpoint[], { most }: Retention): boolean =>
  [...Map.groupBy(checkpoints, ({ agent }) => agent).values()].some(({ length }) => length > most);

const withinCap = (
  newestFirst: readonly Checkpoint[],
  most: number,
  callerOf: (run: RunId) => string | null,
): ((checkpoint: Checkpoint) => boolean) => {
  const count = new Map<string, number>();
  const within = new Set<Checkpoint>();
  const requested = newestFirst.filter(({ why }) => why === 'asked');
  const saved = newestFirst.filter(({ why }) => why !== 'asked');
  for (const checkpoint of [...requested, ...saved]) {
    const whose = JSON.stringify([checkpoint.agent, callerOf(checkpoint.run)]);
    const before = count.get(whose) ?? 0;
    if (before >= most) continue;
    count.set(whose, before + 1);
    within.add(checkpoint);
  }
  return (checkpoint) => within.has(checkpoint);
};
