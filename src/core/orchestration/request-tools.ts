// Tools that come with one request, in addition to those of the agent's definition.
//
//   request-tools-root-only. Not its sub-agents, and not a copy of itself that it starts.
//   request-tools-replace-nothing. They never replace one of the agent's own tools, and add nothing to its system prompt.
import { CloisterError, isObject } from '#base';
import { checkShape, listOf, object } from '#base/shapes';
import type { Agent, AgentDefinition, ToolDefinition, ToolSchema } from '#contracts';
import { approvalMark, toToolName } from '#core/rules';
import { toCallableTool } from '#core/session';
import { completeDefinition } from './define-agent.ts';
import { toolShape } from './option-shapes.ts';

/** The same agent with these tools added. Throws `options_invalid`. */
export const addRequestTools = (agent: Agent, asked: readonly ToolDefinition[]): Agent => {
  const tools = asked.map((tool, index) =>
    isObject(tool) ? toCallableTool(tool, (expected) => reject(`tools[${index}].inputSchema`, expected)) : tool,
  );
  checkShape(requestTools, { tools }, (text) => new CloisterError('options_invalid', text));
  for (const tool of tools) {
    if (tool.instructions !== undefined)
      reject(`tools.${tool.name}.instructions`, 'none: only tools of a definition have instructions');
    if (tool.outside !== true && (tool.repeat ?? 'never') !== 'never')
      reject(`tools.${tool.name}.repeat`, 'never: the run cannot be resumed');
  }
  const given = tools.map(({ name }) => name);
  const folded = given.map((name) => name.toLowerCase());
  const duplicate = given.find((_, place) => folded.indexOf(folded[place]!) !== place);
  if (duplicate !== undefined) reject('tools', `unique tool names; "${duplicate}" is used twice`);
  const taken = given.find((name) => isTaken(agent, name));
  if (taken !== undefined) reject('tools', `names not used by agent "${agent.name}"; it already has "${taken}"`);
  return completeDefinition({
    ...agent,
    resources: {
      ...agent.resources,
      tools: Object.freeze([...agent.resources.tools, ...tools]),
      given: Object.freeze(given),
    },
  });
};

const requestTools = object({ tools: listOf(toolShape) });

const reject = (field: string, expected: string): never => {
  throw new CloisterError('options_invalid', `${field}: expected ${expected}.`);
};

/** Tools of servers are only known when a session starts, so their name prefixes are reserved. */
const isTaken = ({ definition, resources: { sources, servers } }: Agent, name: string): boolean => {
  const prefixes = [...sources.map((source) => source.name), ...servers.map((server) => server.split('/')[0]!)];
  return (
    name.toLowerCase() === 'read_output' ||
    definition.tools.some((tool) => tool.name.toLowerCase() === name.toLowerCase()) ||
    prefixes.some((source) => name.toLowerCase().startsWith(`${toToolName(source).toLowerCase()}__`))
  );
};

/** The agent as defined. */
export const withoutRequestTools = (agent: Agent): Agent => {
  const { given, ...own } = agent.resources;
  if (given === undefined) return agent;
  const tools = own.tools.filter(({ name }) => !given.includes(name));
  return completeDefinition({ ...agent, resources: { ...own, tools } });
};

/** The same agent with the request tools that the run's log lists. Those of its client can be called; calling another one throws. */
export const withRecordedTools = (
  agent: Agent,
  recorded: Pick<AgentDefinition, 'tools' | 'approve' | 'client'>,
): Agent => {
  const tools = recorded.tools
    .filter(({ name }) => !isTaken(agent, name))
    .map((tool) => {
      const mark = approvalMark(recorded.approve, tool);
      const approve = mark === undefined ? {} : { approve: mark.when === undefined ? (true as const) : () => true };
      const timeoutMs = recorded.client?.[tool.name];
      const client = timeoutMs === undefined ? {} : { outside: true as const, timeoutMs };
      return { ...tool, ...approve, ...client, execute: refuseCall };
    });
  return tools.length === 0 ? agent : addRequestTools(agent, tools);
};

/** Checks tools that a client brings while its run works, as those that came with its request. Throws `options_invalid`. */
export const checkLaterTools = (agent: Agent, tools: readonly ToolSchema[]): void =>
  void addRequestTools(
    agent,
    tools.map((tool) => ({ ...tool, outside: true, execute: refuseCall })),
  );

/** The request tools that are gone with the process that had them. */
export const lostTools = ({ resources: { given = [], tools } }: Agent): readonly string[] =>
  given.filter((name) => tools.find((tool) => tool.name === name)?.outside !== true);

const refuseCall = (): never => {
  throw new CloisterError('tools_gone');
};
