// Checks `spawns`, `messages` and `topics` of an agent defined in code.
//
//   O1. Code may set any number from 0 up, because its author is the operator. Files are limited by the config.
//   O2. No agent may be named like a role: a grant to the role `parent` must not reach an agent named `parent`.
import { isName, isObject, nearestName } from '#base';
import type { AgentOptions, ShareName, SpawnOptions } from '#contracts';
import { isTopic, numberProblem, topicExpected } from '#core/registry';
import { isMailTool } from '#core/session';
import { checkKeys, describeGot } from './check-keys.ts';
import type { RejectField } from './check-keys.ts';

export const mailRoles: readonly string[] = ['parent', 'children', 'siblings'];

/** Names that an agent cannot have if it is spawned or uses mail. */
export const isReserved = (name: string): boolean => name === 'self' || mailRoles.includes(name);

export const checkMailOptions = (options: AgentOptions, reject: RejectField): void => {
  const { name, spawns, messages, topics } = options;
  const tools = toolNames(options);
  const hasTool = tools.includes('spawn_agent');
  if (spawns !== undefined && !hasTool) reject('spawns', 'the tool `spawn_agent` in `tools`');
  if (spawns === undefined && hasTool) reject('tools', '`spawns`, which lists the agents `spawn_agent` may start');
  if (spawns !== undefined) checkSpawns(spawns, tools, reject);
  if (messages !== undefined) checkMessages(messages, reject);
  if (topics !== undefined) checkTopics(topics, reject);
  if ((messages !== undefined || tools.some(isMailTool)) && isReserved(name))
    reject('name', `another name: "${name}" is reserved as a role in \`messages\` and \`spawns\``);
};

/** Tool names as the model sees them. Tools of a source are not known yet. */
const toolNames = ({ tools = [] }: AgentOptions): readonly string[] =>
  tools.flatMap((tool) => (typeof tool === 'string' ? [tool] : 'list' in tool ? [] : [tool.name]));

const spawnKeys = [
  'agents',
  'children',
  'perMinute',
  'depth',
  'share',
  'templates',
  'pool',
  'graceMs',
  'onEnd',
  'waitMs',
] as const satisfies readonly (keyof SpawnOptions)[];

const shareNames: readonly ShareName[] = ['system', 'context'];
const endChoices: readonly NonNullable<SpawnOptions['onEnd']>[] = ['wait', 'stop'];

const checkSpawns = (spawns: SpawnOptions, tools: readonly string[], reject: RejectField): void => {
  if (!isObject(spawns)) reject('spawns', 'an object, such as { agents: [fighter] }');
  // `spawns` may come from the rules of another agent, which have the key `self`.
  const { self, ...options } = spawns as SpawnOptions & { readonly self?: unknown };
  checkKeys(options, spawnKeys, 'spawns.', reject);
  const names = spawnNames(spawns.agents ?? [], reject);
  if (self !== undefined && self !== names.includes('self')) reject('spawns.self', '"self" in `spawns.agents`');
  for (const key of ['children', 'perMinute', 'depth', 'graceMs', 'waitMs'] as const) {
    const expected = spawns[key] === undefined ? null : numberProblem(spawns[key], wholeNumber);
    if (expected !== null) reject(`spawns.${key}`, `${expected}; ${describeGot(spawns[key])}`);
  }
  const { share = [], templates = false, pool = {}, onEnd = 'wait' } = spawns;
  if (!endChoices.includes(onEnd)) reject('spawns.onEnd', `one of ${endChoices.join(', ')}; ${describeGot(onEnd)}`);
  if (!Array.isArray(share)) reject('spawns.share', 'a list');
  for (const one of share)
    if (!shareNames.includes(one)) reject('spawns.share', `one of ${shareNames.join(', ')}; ${describeGot(one)}`);
  checkTemplates(templates, tools, reject);
  if (!isObject(pool)) reject('spawns.pool', 'an object with a number for each agent');
  for (const [name, ready] of Object.entries(pool)) {
    if (!names.includes(name))
      reject(
        'spawns.pool',
        `names from \`spawns.agents\`; got ${JSON.stringify(name.slice(0, 80))}${suggestionHint(name, names)}`,
      );
    const expected = numberProblem(ready, wholeNumber);
    if (expected !== null) reject(`spawns.pool.${name}`, `${expected}; ${describeGot(ready)}`);
  }
};

const wholeNumber = { min: 0, whole: true };

const suggestionHint = (name: string, known: readonly string[]): string => {
  const suggestion = nearestName(name, known);
  return suggestion === null ? '' : `; did you mean "${suggestion}"?`;
};

const spawnNames = (agents: NonNullable<SpawnOptions['agents']>, reject: RejectField): readonly string[] => {
  if (!Array.isArray(agents)) reject('spawns.agents', 'a list of agents');
  const names = agents.map((agent) => {
    if (agent === 'self') return agent;
    if (typeof agent?.digest !== 'string') reject('spawns.agents', 'agents created with defineAgent, or "self"');
    if (agent.team !== null) reject('spawns.agents', `agents; "${agent.name}" is a team, and teams cannot be spawned`);
    if (isReserved(agent.name))
      reject('spawns.agents', `agents with other names: "${agent.name}" is reserved as a role`);
    return agent.name;
  });
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) reject('spawns.agents', `unique agent names; "${duplicate}" is used twice`);
  return names;
};

const checkTemplates = (
  templates: NonNullable<SpawnOptions['templates']>,
  tools: readonly string[],
  reject: RejectField,
): void => {
  if (typeof templates === 'boolean') return;
  if (!isObject(templates)) reject('spawns.templates', `true, false, or { tools: […] }; ${describeGot(templates)}`);
  checkKeys(templates, ['tools'], 'spawns.templates.', reject);
  const { tools: given = [] } = templates;
  if (!Array.isArray(given)) reject('spawns.templates.tools', 'a list');
  const own = tools.filter((tool) => !isMailTool(tool));
  const notAllowed = (given as readonly unknown[]).find((tool) => typeof tool !== 'string' || !own.includes(tool));
  if (notAllowed !== undefined)
    reject(
      'spawns.templates.tools',
      `its own tools, except mail tools (${own.join(', ') || 'it has none'}); ${describeGot(notAllowed)}${typeof notAllowed === 'string' ? suggestionHint(notAllowed, own) : ''}`,
    );
};

const checkMessages = (messages: readonly unknown[], reject: RejectField): void => {
  if (!Array.isArray(messages)) reject('messages', 'a list');
  const invalid = messages.find((name) => typeof name !== 'string' || !isName(name));
  if (invalid !== undefined) reject('messages', `${mailRoles.join(', ')}, or agent names; ${describeGot(invalid)}`);
};

const checkTopics = (topics: NonNullable<AgentOptions['topics']>, reject: RejectField): void => {
  if (Array.isArray(topics)) return checkTopicList('topics', topics, reject);
  if (!isObject(topics)) reject('topics', 'a list, or { hear: […], say: […] }');
  checkKeys(topics, ['hear', 'say'], 'topics.', reject);
  for (const [key, list] of Object.entries(topics)) checkTopicList(`topics.${key}`, list ?? [], reject);
};

const checkTopicList = (field: string, topics: unknown, reject: RejectField): void => {
  if (!Array.isArray(topics)) return reject(field, 'a list');
  const invalid: unknown = topics.find((topic) => typeof topic !== 'string' || !isTopic(topic));
  if (invalid !== undefined) reject(field, `${topicExpected}; ${describeGot(invalid)}`);
};
