// Tools that come with one request for a run, besides those of the agent's definition.
//
//   B1. They are the root's alone: not its sub-agents', nor of another one of its kind that it starts.
//   B2. None takes the place of one that the agent has, and none adds a word to its system prompt.
import { CloisterError } from '#base';
import type { Agent, ToolDefinition, ToolSchema } from '#contracts';
import { plainName } from '#core/session';
import { checkTool } from './check-agent.ts';
import { completeDefinition } from './define-agent.ts';

/** The same agent with these besides its own. Throws `options_invalid`. */
export const addRequestTools = (agent: Agent, tools: readonly ToolDefinition[]): Agent => {
  for (const tool of tools) {
    checkTool(tool, wrong);
    if (tool.instructions !== undefined) wrong(`tools.${tool.name}.instructions`, 'none: they are for definitions');
    if ((tool.repeat ?? 'never') !== 'never') wrong(`tools.${tool.name}.repeat`, 'never: the run cannot be resumed');
  }
  const given = tools.map(({ name }) => name);
  const folded = given.map((name) => name.toLowerCase());
  const twice = given.find((_, place) => folded.indexOf(folded[place]!) !== place);
  if (twice !== undefined) wrong('tools', `one tool per name; "${twice}" is there twice`);
  const taken = given.find((name) => isTaken(agent, name));
  if (taken !== undefined) wrong('tools', `names that agent "${agent.name}" has no tool of; it has "${taken}"`);
  return completeDefinition({
    ...agent,
    tools: Object.freeze([...agent.tools, ...tools]),
    given: Object.freeze(given),
  });
};

const wrong = (field: string, expected: string): never => {
  throw new CloisterError('options_invalid', `${field}: expected ${expected}.`);
};

/** Those of its servers are known when a session begins, by how their names begin. */
const isTaken = ({ definition, sources, servers }: Agent, name: string): boolean => {
  const begins = [...sources.map((source) => source.name), ...servers.map((server) => server.split('/')[0]!)];
  return (
    name.toLowerCase() === 'read_output' ||
    definition.tools.some((tool) => tool.name.toLowerCase() === name.toLowerCase()) ||
    begins.some((source) => name.toLowerCase().startsWith(`${plainName(source).toLowerCase()}__`))
  );
};

/** The agent as it is defined. */
export const withoutRequestTools = (agent: Agent): Agent => {
  const { given, ...fields } = agent;
  if (given === undefined) return agent;
  return completeDefinition({ ...fields, tools: agent.tools.filter(({ name }) => !given.includes(name)) });
};

/** The same agent with what a run's record says that it was given: to be looked at, not to be called. */
export const withRecordedTools = (agent: Agent, recorded: readonly ToolSchema[]): Agent => {
  const tools = recorded.filter(({ name }) => !isTaken(agent, name)).map((tool) => ({ ...tool, execute: gone }));
  return tools.length === 0 ? agent : addRequestTools(agent, tools);
};

const gone = (): never => {
  throw new CloisterError('tools_gone');
};
