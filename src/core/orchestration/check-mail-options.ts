// Checks that `spawns`, `messages` and `topics` of an agent defined in code agree with its tools and with each other.
//
//   code-sets-any-number. From 0 up, because its author is the operator. Files are limited by the config.
//   roles-are-no-names. A grant to the role `parent` must not reach an agent named `parent`.
import { nearestName } from '#base';
import { showValue } from '#base/shapes';
import type { SpawnOptions } from '#contracts';
import { isMailTool } from '#core/session';
import type { ExpandedOptions } from './expand-options.ts';
import type { RejectField } from './option-shapes.ts';

const mailRoles: readonly string[] = ['parent', 'children', 'siblings'];

/** Names that an agent cannot have if it is spawned or uses mail. */
export const isReserved = (name: string): boolean => name === 'self' || mailRoles.includes(name);

export const checkMailOptions = (options: ExpandedOptions, reject: RejectField): void => {
  const { name, spawns, messages } = options;
  const tools = toolNames(options);
  const hasTool = tools.includes('spawn_agent');
  if (spawns !== undefined && !hasTool) reject('spawns', 'the tool `spawn_agent` in `tools`');
  if (spawns === undefined && hasTool) reject('tools', '`spawns`, which lists the agents `spawn_agent` may start');
  if (spawns !== undefined) checkSpawns(spawns, tools, reject);
  if ((messages !== undefined || tools.some(isMailTool)) && isReserved(name))
    reject('name', `another name: "${name}" is reserved as a role in \`messages\` and \`spawns\``);
};

/** Tool names as the model sees them. Tools of a source are not known yet. */
const toolNames = ({ tools = [] }: ExpandedOptions): readonly string[] =>
  tools.flatMap((tool) => (typeof tool === 'string' ? [tool] : 'list' in tool ? [] : [tool.name]));

const checkSpawns = (spawns: SpawnOptions, tools: readonly string[], reject: RejectField): void => {
  const { self } = spawns as SpawnOptions & { readonly self?: boolean };
  const names = spawnNames(spawns.agents ?? [], reject);
  if (self !== undefined && self !== names.includes('self')) reject('spawns.self', '"self" in `spawns.agents`');
  const own = tools.filter((tool) => !isMailTool(tool));
  const { templates = false, pool = {} } = spawns;
  for (const tool of typeof templates === 'object' ? (templates.tools ?? []) : [])
    if (!own.includes(tool))
      reject(
        'spawns.templates.tools',
        `its own tools, except mail tools (${own.join(', ') || 'it has none'}); ${gotHint(tool, own)}`,
      );
  for (const name of Object.keys(pool))
    if (!names.includes(name)) reject('spawns.pool', `names from \`spawns.agents\`; ${gotHint(name, names)}`);
};

const gotHint = (name: string, known: readonly string[]): string => {
  const suggestion = nearestName(name, known);
  return `got ${showValue(name)}${suggestion === null ? '' : `; did you mean "${suggestion}"?`}`;
};

const spawnNames = (agents: NonNullable<SpawnOptions['agents']>, reject: RejectField): readonly string[] => {
  const names = agents.map((agent) => {
    if (agent === 'self') return agent;
    if (typeof agent === 'string') {
      if (isReserved(agent)) reject('spawns.agents', `agents with other names: "${agent}" is reserved as a role`);
      return agent;
    }
    if (agent.team !== null) reject('spawns.agents', `agents; "${agent.name}" is a team, and teams cannot be spawned`);
    if (isReserved(agent.name))
      reject('spawns.agents', `agents with other names: "${agent.name}" is reserved as a role`);
    return agent.name;
  });
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) reject('spawns.agents', `unique agent names; "${duplicate}" is used twice`);
  return names;
};
