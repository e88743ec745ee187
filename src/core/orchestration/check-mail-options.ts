// Says what is wrong with what an agent may spawn, whom it writes to, and its topics.
//
//   O1. In code any number from 0 on may be asked for: who writes it is the operator. Files are held to the config's.
//   O2. Roles are nobody's names: what an agent grants to its parent is not for one that is called `parent`.
import { isName, isObject, nearestName } from '#base';
import type { AgentOptions, ShareName, SpawnOptions } from '#contracts';
import { isTopic, numberProblem, topicExpected } from '#core/registry';
import { isMailTool } from '#core/session';
import { checkKeys, describeGot } from './check-keys.ts';
import type { RejectField } from './check-keys.ts';

export const mailRoles: readonly string[] = ['parent', 'children', 'siblings'];

/** Names that no agent may have that is spawned, or takes part in mail. */
export const isReserved = (name: string): boolean => name === 'self' || mailRoles.includes(name);

export const checkMailOptions = (options: AgentOptions, wrong: RejectField): void => {
  const { name, spawns, messages, topics } = options;
  const tools = toolNames(options);
  const hasTool = tools.includes('spawn_agent');
  if (spawns !== undefined && !hasTool) wrong('spawns', 'the tool `spawn_agent` in `tools`, which starts them');
  if (spawns === undefined && hasTool) wrong('tools', '`spawns`, which says whom `spawn_agent` may start');
  if (spawns !== undefined) checkSpawns(spawns, tools, wrong);
  if (messages !== undefined) checkMessages(messages, wrong);
  if (topics !== undefined) checkTopics(topics, wrong);
  if ((messages !== undefined || tools.some(isMailTool)) && isReserved(name))
    wrong('name', `another name: "${name}" is a role in \`messages\` and \`spawns\``);
};

/** What its model calls them by; those of sources are not known yet. */
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
] as const satisfies readonly (keyof SpawnOptions)[];

const shareNames: readonly ShareName[] = ['system', 'context'];

const checkSpawns = (spawns: SpawnOptions, tools: readonly string[], wrong: RejectField): void => {
  if (!isObject(spawns)) wrong('spawns', 'an object, such as { agents: [fighter] }');
  // The rules of an agent, from which another is made, have a key of that name.
  const { self, ...options } = spawns as SpawnOptions & { readonly self?: unknown };
  checkKeys(options, spawnKeys, 'spawns.', wrong);
  const names = spawnNames(spawns.agents ?? [], wrong);
  if (self !== undefined && self !== names.includes('self')) wrong('spawns.self', '"self" among `spawns.agents`');
  for (const key of ['children', 'perMinute', 'depth', 'graceMs'] as const) {
    const expected = spawns[key] === undefined ? null : numberProblem(spawns[key], whole);
    if (expected !== null) wrong(`spawns.${key}`, `${expected}; ${describeGot(spawns[key])}`);
  }
  const { share = [], templates = false, pool = {} } = spawns;
  if (!Array.isArray(share)) wrong('spawns.share', 'a list');
  for (const one of share)
    if (!shareNames.includes(one)) wrong('spawns.share', `some of ${shareNames.join(', ')}; ${describeGot(one)}`);
  checkTemplates(templates, tools, wrong);
  if (!isObject(pool)) wrong('spawns.pool', 'an object: a number for each agent');
  for (const [name, ready] of Object.entries(pool)) {
    if (!names.includes(name))
      wrong('spawns.pool', `agents of \`spawns.agents\`; got ${JSON.stringify(name.slice(0, 80))}${near(name, names)}`);
    const expected = numberProblem(ready, whole);
    if (expected !== null) wrong(`spawns.pool.${name}`, `${expected}; ${describeGot(ready)}`);
  }
};

const whole = { min: 0, whole: true };

const near = (name: string, known: readonly string[]): string => {
  const meant = nearestName(name, known);
  return meant === null ? '' : `; did you mean "${meant}"?`;
};

const spawnNames = (agents: NonNullable<SpawnOptions['agents']>, wrong: RejectField): readonly string[] => {
  if (!Array.isArray(agents)) wrong('spawns.agents', 'a list of agents');
  const names = agents.map((agent) => {
    if (agent === 'self') return agent;
    if (typeof agent?.digest !== 'string') wrong('spawns.agents', 'agents made by defineAgent, or "self"');
    if (agent.team !== null) wrong('spawns.agents', `agents; "${agent.name}" is a team, which is called, not started`);
    if (isReserved(agent.name)) wrong('spawns.agents', `agents by other names: "${agent.name}" is a role`);
    return agent.name;
  });
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) wrong('spawns.agents', `one agent per name; "${twice}" is there twice`);
  return names;
};

const checkTemplates = (
  templates: NonNullable<SpawnOptions['templates']>,
  tools: readonly string[],
  wrong: RejectField,
): void => {
  if (typeof templates === 'boolean') return;
  if (!isObject(templates)) wrong('spawns.templates', `true, false, or { tools: […] }; ${describeGot(templates)}`);
  checkKeys(templates, ['tools'], 'spawns.templates.', wrong);
  const { tools: given = [] } = templates;
  if (!Array.isArray(given)) wrong('spawns.templates.tools', 'a list');
  const own = tools.filter((tool) => !isMailTool(tool));
  const foreign = (given as readonly unknown[]).find((tool) => typeof tool !== 'string' || !own.includes(tool));
  if (foreign !== undefined)
    wrong(
      'spawns.templates.tools',
      `some of its own tools that are not for mail (${own.join(', ') || 'it has none'}); ${describeGot(foreign)}${typeof foreign === 'string' ? near(foreign, own) : ''}`,
    );
};

const checkMessages = (messages: readonly unknown[], wrong: RejectField): void => {
  if (!Array.isArray(messages)) wrong('messages', 'a list');
  const odd = messages.find((name) => typeof name !== 'string' || !isName(name));
  if (odd !== undefined) wrong('messages', `${mailRoles.join(', ')}, or names of agents; ${describeGot(odd)}`);
};

const checkTopics = (topics: NonNullable<AgentOptions['topics']>, wrong: RejectField): void => {
  if (Array.isArray(topics)) return checkTopicList('topics', topics, wrong);
  if (!isObject(topics)) wrong('topics', 'a list, or { hear: […], say: […] }');
  checkKeys(topics, ['hear', 'say'], 'topics.', wrong);
  for (const [key, list] of Object.entries(topics)) checkTopicList(`topics.${key}`, list ?? [], wrong);
};

const checkTopicList = (field: string, topics: unknown, wrong: RejectField): void => {
  if (!Array.isArray(topics)) return wrong(field, 'a list');
  const odd: unknown = topics.find((topic) => typeof topic !== 'string' || !isTopic(topic));
  if (odd !== undefined) wrong(field, `${topicExpected}; ${describeGot(odd)}`);
};
