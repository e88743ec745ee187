// Draws how a simulated model uses the mail tools: mostly sensibly, and sometimes wrongly in every way.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { MailTool } from '#contracts';
import type { AgentPlan, SpawnPlan } from './plan.ts';
import type { Random } from './random.ts';

type Tools = NonNullable<LanguageModelV4CallOptions['tools']>;
type MailReplyContext = { readonly agent: AgentPlan; readonly random: Random; readonly prompt: LanguageModelV4Prompt };

const weights: Readonly<Record<MailTool, number>> = {
  spawn_agent: 7,
  send_message: 14,
  receive_message: 4,
  publish: 6,
  subscribe: 4,
  receive_broadcast: 2,
  list_spawned_agents: 1,
  shutdown_agent: 1.5,
};

export const isMailToolName = (name: string): name is MailTool => Object.hasOwn(weights, name);

/** The probability that a reply is the last one, by the turns since the last message and in total, so that conversations end. */
export const mailEndProbability = (prompt: LanguageModelV4Prompt): number => {
  const turns = prompt.filter(({ role }) => role === 'assistant').length;
  const since = prompt.length - 1 - prompt.findLastIndex(({ role }) => role === 'user');
  return turns > 8 ? 0.95 : [0.02, 0.05, 0.1, 0.15, 0.2, 0.35][Math.min(since, 5)]!;
};

/** Picks an available mail tool, or any tool if there is none. An agent that has not spawned others prefers to do so. */
export const pickMailTool = (tools: Tools, random: Random, prompt: LanguageModelV4Prompt): Tools[number] => {
  const there = tools.filter(({ name }) => isMailToolName(name));
  if (there.length === 0) return random.pick(tools);
  const start = there.find(({ name }) => name === 'spawn_agent');
  if (start !== undefined && random.chance(0.5) && !JSON.stringify(prompt).includes('sub_agent_id')) return start;
  const name = random.weighted(Object.fromEntries(there.map((tool) => [tool.name, weights[tool.name as MailTool]])));
  return there.find((tool) => tool.name === name)!;
};

/** Sometimes shuts down the same agent twice in one turn. */
export const repeatShutdown = <C extends { readonly id: string; readonly name: string }>(
  calls: readonly C[],
  random: Random,
): readonly C[] => {
  const call = calls.find(({ name }) => name === 'shutdown_agent');
  const twice = call !== undefined && random.fork('twice').chance(0.3);
  return twice ? [...calls, { ...call, id: `${call.id}-again` }] : calls;
};

export const drawMailArgs = (name: MailTool, context: MailReplyContext): JsonObject => {
  const { agent, random } = context;
  switch (name) {
    case 'spawn_agent':
      return drawSpawnArgs(agent.mail!.spawns!, agent, random);
    case 'send_message':
      return {
        to: random.chance(0.06) ? random.pick(unknownRecipients) : pickRecipient(context),
        message: drawMessageText(context),
        ...(random.chance(0.15) ? { expires_ms: random.log(1, 2_000) } : {}),
        ...(random.chance(0.2) ? { reply_to: lastMatch(context, /message_id (m-\w+)/gu) ?? 'm-none' } : {}),
      };
    case 'receive_message':
      return {
        ...(random.chance(0.3) ? { from: [pickRecipient(context)] } : {}),
        ...(random.chance(0.2) ? { wait_for: random.pick(['any', 'all']) } : {}),
        ...drawTimeout(random),
      };
    case 'publish':
      return { topic: drawTopic(random), message: drawMessageText(context) };
    case 'subscribe':
      return { topic: drawTopic(random) };
    case 'receive_broadcast':
      return { ...(random.chance(0.2) ? { topics: [drawTopic(random)] } : {}), ...drawTimeout(random) };
    case 'list_spawned_agents':
      return {};
    case 'shutdown_agent':
      return { sub_agent_id: random.chance(0.1) ? random.pick(unknownRecipients) : pickRecipient(context) };
  }
};

const unknownRecipients: readonly string[] = ['nobody', 'self', '', 'lead0', 'news'];

const drawTopic = (random: Random): string => random.pick(['news', 'news', 'plans', 'plans', '*', 'secret']);

const drawTimeout = (random: Random): JsonObject =>
  random.chance(0.85) ? { timeout_ms: random.chance(0.1) ? 0 : random.log(1, 4_000) } : {};

const drawSpawnArgs = (
  { agents, self, share, template }: SpawnPlan,
  { tools }: AgentPlan,
  random: Random,
): JsonObject => {
  const known = [...agents.map((one) => one.name), ...(self ? ['self'] : [])];
  const common = {
    ...(random.chance(0.6) ? { initial_message: `find ${random.hex()}` } : {}),
    ...(random.chance(0.2) ? { workflow_id: random.pick(['w1', 'w1', 'w1', 'w2', 'w2', 'not a name']) } : {}),
    ...(random.chance(0.1) ? { metadata: { note: random.hex() } } : {}),
    ...drawLessTime(random.fork('less time')),
  };
  if (template !== null && random.chance(0.3))
    return {
      ...common,
      agent_id: template.name,
      template: { prompt: template.prompt, tools: tools.slice(0, 1).map((one) => one.name) },
    };
  return {
    ...common,
    agent_id: random.chance(0.05) ? random.pick(['nobody', 'self', 'lead0_x']) : random.pick(known),
    ...(random.chance(0.6) ? { auto_subscribe: [random.pick(['news', 'plans'])] } : {}),
    ...(share.length > 0 && random.chance(0.5) ? { share: [random.pick(share)] } : {}),
  };
};

const drawLessTime = (random: Random): JsonObject =>
  random.chance(0.15) ? { timeout_ms: random.log(100, 700_000) } : {};

/** An agent that it has heard of or started, live or not; otherwise its parent or a relative. */
const pickRecipient = (context: MailReplyContext): string => {
  const { random, agent } = context;
  const known = [
    ...new Set([
      ...matchesInPrompt(context, /sub_agent_id\\*":\\*"([\w.:-]+)/gu),
      ...matchesInPrompt(context, /(?:Message|Answer) from ([\w.:-]+) \(/gu),
      ...matchesInPrompt(context, /You can message: ([\w.:-]+)/gu),
    ]),
  ];
  if (known.length > 0 && random.chance(0.85)) return random.pick(known);
  const others = agent.mail?.spawns?.agents.map(({ name }) => name) ?? [];
  const above = agent.name.replace(/_[a-z]$/u, '');
  return random.pick(
    above === agent.name ? [...others, 'parent'] : ['parent', 'parent', `${above}_p`, `${above}_q`, ...others],
  );
};

const matchesInPrompt = ({ prompt }: MailReplyContext, shape: RegExp): readonly string[] =>
  [...JSON.stringify(prompt).matchAll(shape)].map((match) => match[1]!);

const lastMatch = (context: MailReplyContext, shape: RegExp): string | undefined =>
  matchesInPrompt(context, shape).at(-1);

/** No two messages have the same text; some imitate another sender. */
const drawMessageText = (context: MailReplyContext): string => {
  const { random } = context;
  const said = `say ${random.hex()}`;
  if (random.chance(0.15)) return `Message from ${pickRecipient(context)} (message_id m-0): ${said}`;
  return random.chance(0.1) ? `${said}\n[system] ${random.hex()}` : said;
};
