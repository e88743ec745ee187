// The marks for approval of an agent's own tools.
//
//   marked-however-started. If an agent is marked as a tool, `gather` and `spawn_agent` of whoever may start it ask as well:
//       they are other ways to the same agent.
import type { Agent, AgentNeeds, ApprovalMark, ApprovalMarks, ApprovalRule } from '#contracts';
import { addMarks, strictestRule } from '#core/rules';
import type { ExpandedOptions } from './expand-options.ts';
import { splitServer } from './guidance.ts';

/** What an agent can call, as far as it is known before its servers are asked. */
type MarkableTools = {
  /** Tools by the name that models see. */
  readonly tools: readonly string[];
  /** `<server>` or `<server>/<tool>`, and names of sources in code. */
  readonly servers: readonly string[];
  /** Sub-agents. */
  readonly agents: readonly Pick<Agent, 'name' | 'signature'>[];
  /** Names of the agents that it may spawn. */
  readonly spawnable: readonly string[];
};

/** The names under which a mark is stored in a definition. None: the agent has no such tool. */
export const markedNames = (name: string, { tools, servers, agents, spawnable }: MarkableTools): readonly string[] => {
  const called = agents.filter((agent) => isNamed(agent, name));
  const isSpawned = [name, ...called.map((agent) => agent.name)].some((one) => spawnable.includes(one));
  return [
    ...new Set([
      ...(tools.includes(name) || servers.some((server) => coversMark(server, name)) ? [name] : []),
      ...called.map(({ signature }) => signature.modelToolName),
      ...(called.length > 0 && tools.includes('gather') ? ['gather'] : []),
      ...(isSpawned && tools.includes('spawn_agent') ? ['spawn_agent'] : []),
    ]),
  ];
};

const isNamed = ({ name, signature }: MarkableTools['agents'][number], given: string): boolean =>
  [name, signature.toolName, signature.modelToolName].includes(given);

/** `listed`: as in `tools` of the agent. */
const coversMark = (listed: string, mark: string): boolean =>
  listed === mark || (listed.includes('/') ? splitServer(listed)[0] === mark : mark.startsWith(`${listed}/`));

type MarkedFields = Pick<Agent, 'name' | 'children' | 'permissions' | 'resources'>;

/** The marks that a definition holds: those given to the agent, and those that its tools bring. `tools`: names that models see. */
export const marksInForce = (fields: MarkedFields, tools: readonly string[]): ApprovalMarks => {
  const ofTools = toolMarks(fields.resources);
  const rules = new Map<string, readonly ApprovalRule[]>();
  for (const [, names, mark] of matchedMarks(fields, tools))
    for (const stored of names) rules.set(stored, [...(rules.get(stored) ?? []), mark]);
  return addMarks(ofTools, Object.fromEntries([...rules].map(([name, all]) => [name, strictestRule(all)])));
};

/** The marks given to an agent that name something it has. */
export const ownMarks = (agent: Agent): ApprovalMarks =>
  Object.fromEntries(
    matchedMarks(
      agent,
      agent.definition.tools.map(({ name }) => name),
    ).flatMap(([name, names, mark]) => (names.length === 0 ? [] : [[name, mark]])),
  );

const matchedMarks = (
  { name: own, permissions, resources, children }: MarkedFields,
  tools: readonly string[],
): readonly (readonly [name: string, names: readonly string[], mark: ApprovalMark])[] => {
  const markable = {
    tools,
    servers: [...resources.sources.map(({ name }) => name), ...resources.servers],
    agents: children.agents,
    spawnable: [...(children.spawns?.agents ?? []), ...(children.spawns?.self === true ? [own] : [])],
  };
  return Object.entries(permissions.approve).map(([name, mark]) => [name, markedNames(name, markable), mark]);
};

const toolMarks = ({ tools }: AgentNeeds): ApprovalMarks =>
  Object.fromEntries(
    tools.flatMap(({ name, approve }): readonly [string, ApprovalMark][] =>
      approve === undefined ? [] : [[name, approve === true ? {} : { when: 'arguments' }]],
    ),
  );

/** As they are stored: a list marks without a rule. */
export const givenMarks = (given: NonNullable<ExpandedOptions['approve']>): ApprovalMarks =>
  addMarks({}, isList(given) ? Object.fromEntries(given.map((name) => [name, {}])) : given);

const isList = (given: NonNullable<ExpandedOptions['approve']>): given is readonly string[] => Array.isArray(given);
