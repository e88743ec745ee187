// What a file sets for spawning, and the operator's limits for it.
import type { FileSpawns, SpawnCaps } from '#contracts';

export const spawnCapsDefault: SpawnCaps = { children: 10, perMinute: 5, depth: 3 };

const capKeys = ['children', 'perMinute', 'depth'] as const;

/** Uses the operator's limits where the file sets none. */
export const withCaps = (spawns: FileSpawns, caps: SpawnCaps): FileSpawns & SpawnCaps => ({ ...caps, ...spawns });

/** The values of a file that exceed these limits. */
export const capViolations = (
  spawns: FileSpawns,
  caps: SpawnCaps,
): readonly { readonly key: keyof SpawnCaps; readonly message: string }[] =>
  capKeys.flatMap((key) => {
    const requested = spawns[key] ?? 0;
    return requested <= caps[key]
      ? []
      : [
          {
            key,
            message: `Expected at most ${caps[key]}; got ${requested}. The operator can raise it: \`"spawns": { "${key}": ${requested} }\` in .ai-agent.json.`,
          },
        ];
  });

/** The agent name in a reference, which is a path or a name. */
export const referencedAgentName = (reference: string): string =>
  reference.slice(Math.max(reference.lastIndexOf('/'), reference.lastIndexOf('\\')) + 1).replace(/\.ai$/u, '');
