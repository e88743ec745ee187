// How conversations and checkpoints are stored, from the options of `openCloister`.
import { omitUndefined } from '#base';
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
/** `checkpoints` in order of creation. Returns the ids of those to remove, oldest first. */
export const expiredCheckpoints = (
  checkpoints: Iterable<Checkpoint>,
  now: number,
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
  const kept = new Set(thinned.filter(withinCap(thinned, most)).map(({ id }) => id));
  return newestFirst.flatMap(({ id }) => (kept.has(id) ? [] : [id])).toReversed();
};

const withinCap = (newestFirst: readonly Checkpoint[], most: number): ((checkpoint: Checkpoint) => boolean) => {
  const count = new Map<string, number>();
  const within = new Set<Checkpoint>();
  const requested = newestFirst.filter(({ why }) => why === 'asked');
  const saved = newestFirst.filter(({ why }) => why !== 'asked');
  for (const checkpoint of [...requested, ...saved]) {
    const before = count.get(checkpoint.agent) ?? 0;
    if (before >= most) continue;
    count.set(checkpoint.agent, before + 1);
    within.add(checkpoint);
  }
  return (checkpoint) => within.has(checkpoint);
};
