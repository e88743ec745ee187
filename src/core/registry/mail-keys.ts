// What a file sets for spawning, and the operator's limits for it.
import type { FileSpawns, SpawnCaps, Frontmatter } from '#contracts';
import { nearestName } from '#base';
import type { JsonObject } from '#base';
import type { ReportKeyProblem } from './read-yaml-file.ts';

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
const referencedAgentName = (reference: string): string =>
  reference.slice(Math.max(reference.lastIndexOf('/'), reference.lastIndexOf('\\')) + 1).replace(/\.ai$/u, '');

// Checks that the keys for spawning and mail agree with each other and with `tools`.

const spawnToolName = 'spawn_agent';

/** `given`: the frontmatter as written; `parsed`: the part that could be read. */
export const checkMailKeys = (given: JsonObject, parsed: Partial<Frontmatter>, report: ReportKeyProblem): void => {
  const { spawns } = parsed;
  const tools = parsed.tools?.filter(isText);
  const isPresent = (key: string): boolean => Object.hasOwn(given, key);
  const hasTool = tools?.includes(spawnToolName) ?? false;
  if (isPresent('spawns') && !hasTool && (tools !== undefined || !isPresent('tools')))
    report(['spawns'], '`spawns` needs `spawn_agent` in `tools`.');
  if (hasTool && !isPresent('spawns')) report(['tools'], '`spawn_agent` needs `agents` or `templates` in `spawns`.');
  if (spawns === undefined) return;
  checkNames(spawns, report);
  checkTemplateTools(spawns, tools ?? [], report);
};

/** An unreadable list item leaves a gap in the list. */
const isText = (item: string | undefined): item is string => item !== undefined;

const checkNames = ({ agents = [], pool = {} }: FileSpawns, report: ReportKeyProblem): void => {
  const named = agents.filter(isText);
  // A repeated reference is reported where it is written.
  const names = [...new Set(named)].map(referencedAgentName);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined)
    report(['spawns'], `Two of these agents are named "${duplicate}": a model could not tell them apart.`);
  for (const name of Object.keys(pool))
    if (!names.includes(name))
      report(['spawns', 'pool', name], `${JSON.stringify(name)} is not in \`spawns.agents\`.`, () =>
        nearestName(name, names),
      );
};

const checkTemplateTools = ({ templates }: FileSpawns, tools: readonly string[], report: ReportKeyProblem): void => {
  const named = typeof templates === 'object' ? (templates.tools ?? []) : [];
  for (const [index, tool] of named.entries())
    if (isText(tool) && !tools.includes(tool))
      report(['spawns', 'templates', 'tools', index], `${JSON.stringify(tool)} is not one of its own \`tools\`.`, () =>
        nearestName(tool, tools),
      );
};
