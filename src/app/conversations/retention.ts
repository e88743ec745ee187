// Which checkpoints are past their time.
//
//   K1. Of one conversation all are kept for a while, then the newest of each stretch of time.
//   K2. What a person asked for stays until its agent has too many; then what was saved by itself goes first.
import type { Checkpoint, Retention } from '#contracts';

const dayMs = 86_400_000;

export const retentionDefault: Retention = { allMs: dayMs, thinMs: dayMs, most: 1_000 };

/** `checkpoints` in the order in which they were made. Gives the ids of those to forget, oldest first. */
export const expiredCheckpoints = (
  checkpoints: Iterable<Checkpoint>,
  now: number,
  { allMs, thinMs, most }: Retention,
): readonly string[] => {
  const newestFirst = [...checkpoints].toReversed().sort((one, other) => other.at - one.at);
  const stretches = new Set<string>();
  const thinned = newestFirst.filter(({ at, why, agent, conversation, run }) => {
    if (why === 'asked' || now - at <= allMs) return true;
    const stretch = JSON.stringify([agent, conversation?.agent, conversation?.name ?? run, Math.floor(at / thinMs)]);
    if (stretches.has(stretch)) return false;
    stretches.add(stretch);
    return true;
  });
  const kept = new Set(thinned.filter(withinCap(thinned, most)).map(({ id }) => id));
  return newestFirst.flatMap(({ id }) => (kept.has(id) ? [] : [id])).toReversed();
};

const withinCap = (newestFirst: readonly Checkpoint[], most: number): ((checkpoint: Checkpoint) => boolean) => {
  const count = new Map<string, number>();
  const within = new Set<Checkpoint>();
  const asked = newestFirst.filter(({ why }) => why === 'asked');
  const saved = newestFirst.filter(({ why }) => why !== 'asked');
  for (const checkpoint of [...asked, ...saved]) {
    const before = count.get(checkpoint.agent) ?? 0;
    if (before >= most) continue;
    count.set(checkpoint.agent, before + 1);
    within.add(checkpoint);
  }
  return (checkpoint) => within.has(checkpoint);
};
