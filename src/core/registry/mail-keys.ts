// What a file says of spawning and mail, and what the operator allows at most.
import type { FileSpawns, SpawnCaps } from '#contracts';

export const spawnCapsDefault: SpawnCaps = { children: 10, perMinute: 5, depth: 3 };

const capKeys = ['children', 'perMinute', 'depth'] as const;

/** With the operator's numbers where the file has none. */
export const withCaps = (spawns: FileSpawns, caps: SpawnCaps): FileSpawns & SpawnCaps => ({ ...caps, ...spawns });

/** What a file asks for beyond them, in words. */
export const capViolations = (
  spawns: FileSpawns,
  caps: SpawnCaps,
): readonly { readonly key: keyof SpawnCaps; readonly message: string }[] =>
  capKeys.flatMap((key) => {
    const asked = spawns[key] ?? 0;
    return asked <= caps[key]
      ? []
      : [
          {
            key,
            message: `Expected at most ${caps[key]}; got ${asked}. The operator can raise it: \`"spawns": { "${key}": ${asked} }\` in .ai-agent.json.`,
          },
        ];
  });

/** The name of the agent that a reference means. */
export const referredName = (reference: string): string =>
  reference.slice(Math.max(reference.lastIndexOf('/'), reference.lastIndexOf('\\')) + 1).replace(/\.ai$/u, '');
