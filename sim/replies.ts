// Decides the reply of a simulated model. It depends only on the seed and on every byte of the request.
import type { JsonObject } from '#base';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { skillFile } from './instruction-workload.ts';
import { mailEndProbability, isMailToolName, drawMailArgs, pickMailTool, repeatShutdown } from './mail-replies.ts';
import type { AgentPlan } from './plan.ts';
import { Random } from './random.ts';
import { drawCoordinatorReply, drawMemberAnswer, drawMemberMessage } from './team-replies.ts';

export type SimulatedCall = { readonly id: string; readonly name: string; readonly input: string };
export type SimulatedReply = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly SimulatedCall[];
};

type Tools = NonNullable<LanguageModelV4CallOptions['tools']>;

/** `shown` is a hash of the whole request. */
export const decideReply = (shown: string, options: LanguageModelV4CallOptions, agent: AgentPlan): SimulatedReply => {
  const random = new Random(shown);
  const tools = options.tools ?? [];
  if (agent.role?.as === 'coordinator')
    return { text: drawCoordinatorReply(agent.role, options, random), reasoning: '', calls: [] };
  // Without earlier turns of a conversation, which come before the goal.
  const turn = options.prompt.slice(goalIndex(options)).filter(({ role }) => role === 'assistant').length;
  const byTurn = endProbabilities[Math.min(turn, endProbabilities.length - 1)]!;
  const likely =
    agent.role !== null ? 0.4 + byTurn / 2 : agent.mail === null ? byTurn : mailEndProbability(options.prompt);
  const ends = tools.length === 0 || random.chance(likely);
  const reasoning = random.chance(0.1) ? `thinking ${random.hex()}` : '';
  if (ends) return { text: drawAnswer(agent, random), reasoning, calls: [] };
  const allowed = random.fork('allowed');
  const markedAgent = tools.find(({ name }) => agent.approve?.[name] && agent.agents.some((one) => one.name === name));
  if (markedAgent !== undefined && allowed.chance(0.5)) {
    const context = { agent, random: allowed, options };
    return { text: '', reasoning, calls: [drawCall(markedAgent, `call-${turn}-${allowed.hex()}`, context)] };
  }
  const marked = agent.tools.filter(({ approve }) => approve !== undefined).map(({ name }) => name);
  if (marked.length > 0) {
    const asking = drawAskingCalls(marked, tools, `call-${turn}`, random.fork('asks'));
    if (asking.length > 0) return { text: '', reasoning, calls: asking };
  }
  const more = random.weighted(agent.mail === null ? callCounts : mailCounts) === 'more';
  const calls = Array.from({ length: more ? random.int(2, 3) : 1 }, (_, index) =>
    drawCall(pickTool(agent, tools, { random, options }), `call-${turn}-${index}-${random.hex()}`, {
      agent,
      random,
      options,
    }),
  );
  return {
    text: random.chance(0.2) ? `next ${random.hex()}` : '',
    reasoning,
    calls: agent.mail === null ? calls : repeatShutdown(calls, random),
  };
};

/** Up to four calls at once, of marked tools above all, often with arguments that were used before. */
const drawAskingCalls = (
  marked: readonly string[],
  tools: Tools,
  id: string,
  random: Random,
): readonly SimulatedCall[] => {
  const known = tools.filter(({ name }) => marked.includes(name));
  if (known.length === 0 || !random.chance(0.6)) return [];
  return Array.from({ length: random.pick([1, 1, 2, 3, 4]) }, (_, index) => ({
    id: `${id}-${index}-${random.hex()}`,
    name: (random.chance(0.5) ? known.at(-1)! : random.pick(known)).name,
    input: JSON.stringify({
      q: random.chance(0.75) ? random.pick(['1 common', '1 common', '9 common']) : random.hex(),
    }),
  }));
};

const goalIndex = ({ prompt }: LanguageModelV4CallOptions): number =>
  Math.max(
    0,
    prompt.findLastIndex(({ role, content }) => role === 'user' && JSON.stringify(content).includes('"Your task: ')),
  );

/** Prefers agent tools, if there are any. */
const pickTool = (
  { agents, mail, role, skills }: AgentPlan,
  tools: Tools,
  { random, options }: Pick<ReplyContext, 'random' | 'options'>,
): Tools[number] => {
  const readsSkill = skills.length > 0 && random.chance(0.35);
  const skillTool = readsSkill ? tools.find(({ name }) => name === 'read_skill') : undefined;
  if (skillTool !== undefined) return skillTool;
  if (mail !== null && role === null && random.chance(0.85)) return pickMailTool(tools, random, options.prompt);
  const agentTools = tools.filter(({ name }) => name === 'gather' || agents.some((one) => one.name === name));
  return random.pick(agentTools.length > 0 && random.chance(0.6) ? agentTools : tools);
};

/** The probability that a reply is the last one, by the number of earlier turns. */
const endProbabilities = [0.08, 0.4, 0.7, 0.9];
const callCounts = { one: 3, more: 2 };
const mailCounts = { one: 1, more: 2 };

const drawAnswer = ({ output, role }: AgentPlan, random: Random): string => {
  if (role !== null && output.format !== 'json') return drawMemberAnswer(random);
  if (output.format !== 'json')
    return random.chance(0.1) ? longText(random) : `found ${random.hex()}\nfound ${random.hex()}`;
  if (random.chance(0.2)) return `no JSON, ${random.hex()}`;
  const value = {
    findings: [{ text: `found ${random.hex()}` }],
    ...(random.chance(0.8) ? { sum: random.int(0, 9) } : {}),
  };
  return surround(spoil(JSON.stringify(value), random), random);
};

/** JSON that a reader would change without saying so: a duplicate key, or a number that a double cannot hold. */
const spoil = (json: string, random: Random): string => {
  if (random.chance(0.9)) return json;
  return json.replace(/\}$/u, random.chance(0.5) ? ',"sum":1,"sum":2}' : ',"most":12345678901234567890}');
};

/** What models write around JSON. */
const surround = (json: string, random: Random): string => {
  if (random.chance(0.3)) return `\`\`\`json\n${json}\n\`\`\``;
  return random.chance(0.2) ? `Found ${random.hex()}: ${json}\nMore next time.` : json;
};

const longText = (random: Random): string => `${random.hex()} `.repeat(random.int(20, 120));

type ReplyContext = {
  readonly agent: AgentPlan;
  readonly random: Random;
  readonly options: LanguageModelV4CallOptions;
};

const drawCall = (tool: Tools[number], id: string, context: ReplyContext): SimulatedCall => {
  const { random } = context;
  if (random.chance(0.03)) return { id, name: 'no_such_tool', input: '{}' };
  if (random.chance(0.04))
    return { id, name: tool.name, input: random.pick(['{"q": ', '[]', '"text"', '{"none": 1}', '']) };
  return { id, name: tool.name, input: JSON.stringify(drawArgs(tool.name, context)) };
};

const paths = ['notes.txt', 'a/b.txt', 'plan.md'];

const drawArgs = (name: string, { agent, random, options }: ReplyContext): JsonObject => {
  const child = agent.agents.find((one) => one.name === name);
  if (child !== undefined) return { ...drawGoal(child, random), ...(random.chance(0.3) ? { reason: 'why' } : {}) };
  if (agent.role?.as === 'member' && name === 'send_message') return drawMemberMessage(agent.role, random);
  if (agent.mail !== null && isMailToolName(name)) return drawMailArgs(name, { agent, random, prompt: options.prompt });
  switch (name) {
    case 'gather':
      return {
        tasks: Array.from({ length: random.int(1, 3) }, () => drawGatherTask(random.pick(agent.agents), random)),
      };
    case 'write_file':
      return { path: random.pick(paths), content: random.chance(0.3) ? longText(random) : random.hex() };
    case 'read_file':
      return { path: random.pick(paths) };
    case 'list_files':
      return {};
    case 'read_skill':
      return {
        skill: random.chance(0.1) ? 'none' : random.pick(agent.skills).name,
        ...(random.chance(0.4) ? { file: random.chance(0.1) ? 'none.md' : skillFile } : {}),
      };
    case 'read_output':
      return {
        name: lastOutputName(options) ?? 'look_001.txt',
        ...(random.chance(0.5) ? { from: random.int(0, 60) } : {}),
      };
    default:
      return { q: random.hex(), ...(random.chance(0.1) ? { fail: true } : {}) };
  }
};

const drawGoal = (child: AgentPlan, random: Random): JsonObject =>
  child.input.format === 'json' ? { topic: random.hex(), size: random.int(1, 9) } : { prompt: `find ${random.hex()}` };

const drawGatherTask = (child: AgentPlan, random: Random): JsonObject => ({
  agent: child.name,
  ...(child.input.format === 'json' ? { input: drawGoal(child, random) } : drawGoal(child, random)),
});

/** The latest name of a stored output in the prompt. */
const lastOutputName = ({ prompt }: LanguageModelV4CallOptions): string | undefined =>
  [...JSON.stringify(prompt.slice(-4)).matchAll(/[a-z_]+_\d{3}\.(?:txt|json)/gu)].at(-1)?.[0];
