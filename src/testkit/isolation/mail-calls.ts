// The calls that a member of a talking team makes for all to see: with the tools that it has, and names that it could know.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Agent, MailTool, Validate } from '#contracts';
import { isMailTool } from '#core/session';
import type { Rng } from './rng.ts';
import { goalFor } from './plan.ts';
import { sampleSchema } from './sample-schema.ts';
import type { SaidCall } from './mail-act.ts';
import type { PlayedAgent } from './team.ts';

/** One that is about to say something. */
export type Speaker = {
  readonly agent: Agent;
  readonly part: PlayedAgent | undefined;
  /** As its model is shown them. */
  readonly tools: readonly LanguageModelV4FunctionTool[];
  /** By what those who live can be called, and what its own children are called. */
  readonly names: readonly string[];
  readonly children: readonly string[];
  /** Those who live, and are neither its parent nor its children. */
  readonly strangers: readonly string[];
  /** What an agent may hear, by its name. */
  readonly hearOf: (agent: string) => readonly string[];
  readonly validate: Validate;
};

/** How often each is tried, among those that there are. */
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

/** Mostly one; none when what was drawn cannot be said. */
export const drawCalls = (speaker: Speaker, chance: Rng): readonly SaidCall[] => {
  const kinds = speaker.tools.flatMap((tool): readonly LanguageModelV4FunctionTool[] =>
    Array.from<LanguageModelV4FunctionTool>({ length: weightOf(tool.name, speaker) }).fill(tool),
  );
  if (kinds.length === 0) return [];
  const tool = chance.pick(kinds);
  const args = argsFor(tool, speaker, chance);
  if (args === null) return [];
  const call = { name: tool.name, args };
  const canWrite = speaker.tools.some(({ name }) => name === 'send_message');
  // What it is sent last, it may not read any more.
  return tool.name === 'shutdown_agent' && canWrite && chance.percent(60)
    ? [{ name: 'send_message', args: { to: args['sub_agent_id'], message: chance.words() } }, call]
    : [call];
};

const argsFor = (tool: LanguageModelV4FunctionTool, speaker: Speaker, chance: Rng): JsonObject | null => {
  if (isMailTool(tool.name)) return mailArgs[tool.name](speaker, chance);
  const child = speaker.part?.children.get(tool.name);
  return child === undefined ? lookWith(tool, chance).args : goalFor(child, chance.hex(), speaker.validate);
};

const weightOf = (name: string, { part }: Speaker): number => {
  if (isMailTool(name)) return weights[name];
  if (name === 'gather') return 0;
  return part?.children.has(name) === true ? weights.agent : weights.look;
};

/** A call that concerns nobody else. */
export const lookWith = (tool: LanguageModelV4FunctionTool, chance: Rng): SaidCall => {
  const args = sampleSchema(tool.inputSchema as JsonObject, chance);
  return { name: tool.name, args: isObject(args) ? args : {} };
};

type ArgsOf = (speaker: Speaker, chance: Rng) => JsonObject | null;

const anyName: ArgsOf = ({ names, children, strangers }, chance) => {
  const groups = [children, strangers, [...names, 'parent', 'parent', 'nobody']];
  return { to: chance.pick(chance.pick(groups.filter((group) => group.length > 0))) };
};

const topicOf = (topics: readonly string[], chance: Rng): string | null => {
  if (topics.length === 0 || chance.percent(6)) return chance.percent(20) ? 'elsewhere' : null;
  return chance.pick(topics);
};

const some = <T>(items: readonly T[], chance: Rng): readonly T[] => items.filter(() => chance.percent(70));

const spawn: ArgsOf = ({ agent, hearOf }, chance) => {
  const { spawns } = agent;
  if (spawns === null) return null;
  const known = [...spawns.agents, ...(spawns.self ? ['self'] : [])];
  const isDescribed = spawns.templates !== null && (known.length === 0 || chance.percent(25));
  if (known.length === 0 && !isDescribed) return null;
  const id = isDescribed ? `drawn-${chance.below(3)}` : chance.pick(known);
  const hear = isDescribed ? [] : hearOf(id === 'self' ? agent.name : id);
  return {
    agent_id: id,
    ...(chance.percent(70) ? { initial_message: chance.words() } : {}),
    ...(hear.length > 0 ? { auto_subscribe: [...some(hear, chance)] } : {}),
    ...(chance.percent(30) ? { workflow_id: chance.pick(['one', 'other']) } : {}),
    ...(chance.percent(15) ? { metadata: { note: chance.words() } } : {}),
    ...(spawns.share.length > 0 && chance.percent(30) ? { share: [...some(spawns.share, chance)] } : {}),
    ...(isDescribed
      ? { template: { prompt: chance.words(), tools: [...some(spawns.templates?.tools ?? [], chance)] } }
      : {}),
  };
};

const timeouts = [1, 1_000, 30_000];

const receive: ArgsOf = ({ names, children }, chance) => ({
  timeout_ms: chance.pick(timeouts),
  ...(chance.percent(20) ? { from: [chance.pick([...names, ...children, 'parent'])] } : {}),
  ...(chance.percent(10) && children.length > 0 ? { from: [...children], wait_for: 'all' } : {}),
});

const mailArgs: Readonly<Record<MailTool, ArgsOf>> = {
  spawn_agent: spawn,
  list_spawned_agents: () => ({}),
  shutdown_agent: ({ names, children }, chance) => {
    if (children.length === 0 && chance.percent(80)) return null;
    return { sub_agent_id: chance.pick(children.length === 0 || chance.percent(6) ? [...names, 'nobody'] : children) };
  },
  send_message: (speaker, chance) => ({ ...anyName(speaker, chance), message: chance.words() }),
  receive_message: receive,
  subscribe: ({ agent }, chance) => {
    const topic = topicOf(agent.topics.hear, chance);
    return topic === null ? null : { topic };
  },
  publish: ({ agent }, chance) => {
    const topic = topicOf(agent.topics.say, chance);
    return topic === null ? null : { topic, message: chance.words() };
  },
  receive_broadcast: (_speaker, chance) => ({ timeout_ms: chance.pick(timeouts) }),
};
