// Draws the calls of a session that other agents can observe: with the tools it has, and with names it could know.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Agent, MailTool, Validate } from '#contracts';
import { isMailTool } from '#core/session';
import type { Rng } from './rng.ts';
import { drawGoal } from './plan.ts';
import { sampleSchema } from './sample-schema.ts';
import type { DrawnCall } from './mail-cell.ts';
import type { TestAgent } from './agent-tree.ts';

/** A session whose model is about to reply. */
export type CallingSession = {
  readonly agent: Agent;
  readonly testAgent: TestAgent | undefined;
  /** The tools that its model is shown. */
  readonly tools: readonly LanguageModelV4FunctionTool[];
  /** Names of live agents and of the definitions; names of its own children. */
  readonly names: readonly string[];
  readonly children: readonly string[];
  /** Live agents that are neither its parent nor its children. */
  readonly others: readonly string[];
  /** The topics that an agent, given by name, may subscribe to. */
  readonly topicsOf: (agent: string) => readonly string[];
  readonly validate: Validate;
};

/** Relative weights of the available tools. */
const weights: Readonly<Record<MailTool | 'agent' | 'look', number>> = {
  spawn_agent: 6,
  send_message: 6,
  publish: 4,
  receive_message: 4,
  receive_broadcast: 3,
  subscribe: 2,
  shutdown_agent: 3,
  list_spawned_agents: 1,
  agent: 3,
  look: 2,
};

/** Usually one call; none if the drawn call is not possible. */
export const drawCalls = (caller: CallingSession, rng: Rng): readonly DrawnCall[] => {
  const kinds = caller.tools.flatMap((tool): readonly LanguageModelV4FunctionTool[] =>
    Array.from<LanguageModelV4FunctionTool>({ length: weightOf(tool.name, caller) }).fill(tool),
  );
  if (kinds.length === 0) return [];
  const tool = rng.pick(kinds);
  const args = drawArgs(tool, caller, rng);
  if (args === null) return [];
  const call = { name: tool.name, args };
  const canWrite = caller.tools.some(({ name }) => name === 'send_message');
  // The agent may end before it reads this message.
  return tool.name === 'shutdown_agent' && canWrite && rng.percent(60)
    ? [{ name: 'send_message', args: { to: args['sub_agent_id'], message: rng.words() } }, call]
    : [call];
};

const drawArgs = (tool: LanguageModelV4FunctionTool, caller: CallingSession, rng: Rng): JsonObject | null => {
  if (isMailTool(tool.name)) return mailArgs[tool.name](caller, rng);
  const child = caller.testAgent?.children.get(tool.name);
  return child === undefined ? callWithSampleArgs(tool, rng).args : drawGoal(child, rng.hex(), caller.validate);
};

const weightOf = (name: string, { testAgent }: CallingSession): number => {
  if (isMailTool(name)) return weights[name];
  if (name === 'gather') return 0;
  return testAgent?.children.has(name) === true ? weights.agent : weights.look;
};

/** A call with arguments drawn from the tool's schema. */
export const callWithSampleArgs = (tool: LanguageModelV4FunctionTool, rng: Rng): DrawnCall => {
  const args = sampleSchema(tool.inputSchema as JsonObject, rng);
  return { name: tool.name, args: isObject(args) ? args : {} };
};

type ArgsOf = (speaker: CallingSession, rng: Rng) => JsonObject | null;

const drawRecipient: ArgsOf = ({ names, children, others }, rng) => {
  const groups = [children, others, [...names, 'parent', 'parent', 'nobody']];
  return { to: rng.pick(rng.pick(groups.filter((group) => group.length > 0))) };
};

const drawTopic = (topics: readonly string[], rng: Rng): string | null => {
  if (topics.length === 0 || rng.percent(6)) return rng.percent(20) ? 'elsewhere' : null;
  return rng.pick(topics);
};

const drawSome = <T>(items: readonly T[], rng: Rng): readonly T[] => items.filter(() => rng.percent(70));

const drawSpawnArgs: ArgsOf = ({ agent, topicsOf }, rng) => {
  const {
    children: { spawns },
  } = agent;
  if (spawns === null) return null;
  const known = [...spawns.agents, ...(spawns.self ? ['self'] : [])];
  const isDescribed = spawns.templates !== null && (known.length === 0 || rng.percent(25));
  if (known.length === 0 && !isDescribed) return null;
  const id = isDescribed ? `drawn-${rng.below(3)}` : rng.pick(known);
  const hear = isDescribed ? [] : topicsOf(id === 'self' ? agent.name : id);
  return {
    agent_id: id,
    ...(rng.percent(70) ? { initial_message: rng.words() } : {}),
    ...(hear.length > 0 ? { auto_subscribe: [...drawSome(hear, rng)] } : {}),
    ...(rng.percent(30) ? { workflow_id: rng.pick(['one', 'other']) } : {}),
    ...(rng.percent(15) ? { metadata: { note: rng.words() } } : {}),
    ...(spawns.share.length > 0 && rng.percent(30) ? { share: [...drawSome(spawns.share, rng)] } : {}),
    ...(isDescribed
      ? { template: { prompt: rng.words(), tools: [...drawSome(spawns.templates?.tools ?? [], rng)] } }
      : {}),
  };
};

const timeouts = [1, 1_000, 30_000];

const drawReceiveArgs: ArgsOf = ({ names, children }, rng) => ({
  timeout_ms: rng.pick(timeouts),
  ...(rng.percent(20) ? { from: [rng.pick([...names, ...children, 'parent'])] } : {}),
  ...(rng.percent(10) && children.length > 0 ? { from: [...children], wait_for: 'all' } : {}),
});

const mailArgs: Readonly<Record<MailTool, ArgsOf>> = {
  spawn_agent: drawSpawnArgs,
  list_spawned_agents: () => ({}),
  shutdown_agent: ({ names, children }, rng) => {
    if (children.length === 0 && rng.percent(80)) return null;
    return { sub_agent_id: rng.pick(children.length === 0 || rng.percent(6) ? [...names, 'nobody'] : children) };
  },
  send_message: (speaker, rng) => ({ ...drawRecipient(speaker, rng), message: rng.words() }),
  receive_message: drawReceiveArgs,
  subscribe: ({ agent }, rng) => {
    const topic = drawTopic(agent.permissions.topics.hear, rng);
    return topic === null ? null : { topic };
  },
  publish: ({ agent }, rng) => {
    const topic = drawTopic(agent.permissions.topics.say, rng);
    return topic === null ? null : { topic, message: rng.words() };
  },
  receive_broadcast: (_speaker, rng) => ({ timeout_ms: rng.pick(timeouts) }),
};
