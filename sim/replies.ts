// What a simulated model says: a function of the seed and of every byte that it is shown, and of nothing else.
import type { JsonObject } from '#base';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { endsAmongMail, isMailCall, mailArgs, mailCall, saidTwice } from './mail-replies.ts';
import type { AgentPlan } from './plan.ts';
import { Random } from './random.ts';
import { coordinatorSays, memberAnswer, memberCall } from './team-replies.ts';

export type SaidCall = { readonly id: string; readonly name: string; readonly input: string };
export type Said = { readonly text: string; readonly reasoning: string; readonly calls: readonly SaidCall[] };

type Tools = NonNullable<LanguageModelV4CallOptions['tools']>;

/** `shown` is a hash of the whole request. */
export const decideReply = (shown: string, options: LanguageModelV4CallOptions, agent: AgentPlan): Said => {
  const random = new Random(shown);
  const tools = options.tools ?? [];
  if (agent.role?.as === 'coordinator')
    return { text: coordinatorSays(agent.role, options, random), reasoning: '', calls: [] };
  const turn = options.prompt.filter(({ role }) => role === 'assistant').length;
  const byTurn = endsBy[Math.min(turn, endsBy.length - 1)]!;
  const likely = agent.role !== null ? 0.4 + byTurn / 2 : agent.mail === null ? byTurn : endsAmongMail(options.prompt);
  const ends = tools.length === 0 || random.chance(likely);
  const reasoning = random.chance(0.1) ? `thinking ${random.hex()}` : '';
  if (ends) return { text: answerOf(agent, random), reasoning, calls: [] };
  const more = random.weighted(agent.mail === null ? callCounts : mailCounts) === 'more';
  const calls = Array.from({ length: more ? random.int(2, 3) : 1 }, (_, index) =>
    callOf(toolFor(agent, tools, { random, options }), `call-${turn}-${index}-${random.hex()}`, {
      agent,
      random,
      options,
    }),
  );
  return {
    text: random.chance(0.2) ? `next ${random.hex()}` : '',
    reasoning,
    calls: agent.mail === null ? calls : saidTwice(calls, random),
  };
};

/** Sub-agents rather than tools, where there are any. */
const toolFor = (
  { agents, mail, role }: AgentPlan,
  tools: Tools,
  { random, options }: Pick<Asked, 'random' | 'options'>,
): Tools[number] => {
  if (mail !== null && role === null && random.chance(0.85)) return mailCall(tools, random, options.prompt);
  const asking = tools.filter(({ name }) => name === 'gather' || agents.some((one) => one.name === name));
  return random.pick(asking.length > 0 && random.chance(0.6) ? asking : tools);
};

/** How likely a reply is the last one, by the turns before it. */
const endsBy = [0.08, 0.4, 0.7, 0.9];
const callCounts = { one: 3, more: 2 };
const mailCounts = { one: 1, more: 2 };

const answerOf = ({ output, role }: AgentPlan, random: Random): string => {
  if (role !== null && output.format !== 'json') return memberAnswer(random);
  if (output.format !== 'json')
    return random.chance(0.1) ? long(random) : `found ${random.hex()}\nfound ${random.hex()}`;
  if (random.chance(0.2)) return `no JSON, ${random.hex()}`;
  const value = {
    findings: [{ text: `found ${random.hex()}` }],
    ...(random.chance(0.8) ? { sum: random.int(0, 9) } : {}),
  };
  return random.chance(0.3) ? `\`\`\`json\n${JSON.stringify(value)}\n\`\`\`` : JSON.stringify(value);
};

const long = (random: Random): string => `${random.hex()} `.repeat(random.int(20, 120));

type Asked = { readonly agent: AgentPlan; readonly random: Random; readonly options: LanguageModelV4CallOptions };

const callOf = (tool: Tools[number], id: string, asked: Asked): SaidCall => {
  const { random } = asked;
  if (random.chance(0.03)) return { id, name: 'no_such_tool', input: '{}' };
  if (random.chance(0.04))
    return { id, name: tool.name, input: random.pick(['{"q": ', '[]', '"text"', '{"none": 1}', '']) };
  return { id, name: tool.name, input: JSON.stringify(argsOf(tool.name, asked)) };
};

const paths = ['notes.txt', 'a/b.txt', 'plan.md'];

const argsOf = (name: string, { agent, random, options }: Asked): JsonObject => {
  const child = agent.agents.find((one) => one.name === name);
  if (child !== undefined) return { ...goalFor(child, random), ...(random.chance(0.3) ? { reason: 'why' } : {}) };
  if (agent.role?.as === 'member' && name === 'send_message') return memberCall(agent.role, random);
  if (agent.mail !== null && isMailCall(name)) return mailArgs(name, { agent, random, prompt: options.prompt });
  switch (name) {
    case 'gather':
      return { tasks: Array.from({ length: random.int(1, 3) }, () => taskFor(random.pick(agent.agents), random)) };
    case 'write_file':
      return { path: random.pick(paths), content: random.chance(0.3) ? long(random) : random.hex() };
    case 'read_file':
      return { path: random.pick(paths) };
    case 'list_files':
      return {};
    case 'read_output':
      return { name: outputIn(options) ?? 'look_001.txt', ...(random.chance(0.5) ? { from: random.int(0, 60) } : {}) };
    default:
      return { q: random.hex(), ...(random.chance(0.1) ? { fail: true } : {}) };
  }
};

const goalFor = (child: AgentPlan, random: Random): JsonObject =>
  child.input.format === 'json' ? { topic: random.hex(), size: random.int(1, 9) } : { prompt: `find ${random.hex()}` };

const taskFor = (child: AgentPlan, random: Random): JsonObject => ({
  agent: child.name,
  ...(child.input.format === 'json' ? { input: goalFor(child, random) } : goalFor(child, random)),
});

/** The newest name of an offloaded output in what is shown. */
const outputIn = ({ prompt }: LanguageModelV4CallOptions): string | undefined =>
  [...JSON.stringify(prompt.slice(-4)).matchAll(/[a-z_]+_\d{3}\.(?:txt|json)/gu)].at(-1)?.[0];
