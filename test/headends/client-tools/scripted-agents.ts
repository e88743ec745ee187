// Agents whose model calls what their goal names: `weather:Lisbon, own:x; time:now` is two calls in one turn, one in the next, and an
// answer with all results. Also the tools of the clients in these tests.
import { defineAgent } from 'cloister';
import type { Agent, AgentOptions, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal, RequestView, ScriptedReply } from 'cloister/testkit';

export type ScriptedAgents = { readonly agents: readonly Agent[]; readonly model: Rehearsal };

export const weather = {
  name: 'weather',
  description: 'Tells the weather in a city.',
  schema: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  },
} as const;

export const time = { name: 'time', description: 'Tells the time.', schema: weather.schema } as const;

/** The scripted usage of each turn. */
export const scriptedUsage = { input: 100, output: 10 };

/** `own`: options of the agent's own tool; `spade`: options of its helper's tool. */
export const scriptAgents = (
  own: Partial<ToolDefinition> = {},
  spade: Partial<ToolDefinition> = {},
): ScriptedAgents => {
  const model: Rehearsal = rehearse([
    {
      when: { agent: 'helper', turn: 1, text: 'dig' },
      reply: { text: 'I dig.', calls: [{ tool: 'spade', args: {} }] },
    },
    { when: { agent: 'helper' }, reply: ({ goal, tools }) => `helped ${goal} with ${tools.join(' ') || 'nothing'}` },
    { reply: (view) => replyTo(view) },
  ]);
  const agent = (name: string, options: Partial<AgentOptions> = {}): Agent =>
    defineAgent({ name, description: `It is ${name}.`, prompt: `You are ${name}.`, models: [model], ...options });
  const ownTool: ToolDefinition = {
    name: 'own',
    description: 'Is its own.',
    inputSchema: { type: 'object' },
    execute: (args) => `own ${JSON.stringify(args)}`,
    ...own,
  };
  const helper = agent('helper', { tools: [{ ...ownTool, name: 'spade', execute: () => 'dug', ...spade }] });
  return { model, agents: [agent('guide', { tools: [ownTool], agents: [helper] }), agent('plain')] };
};

const replyTo = ({ goal, turn, messages }: RequestView): ScriptedReply => {
  const usage = scriptedUsage;
  const round = goal.split(';')[turn - 1];
  if (round === undefined) return { text: `Told: ${resultsIn(messages).join(' | ')}`, usage };
  const calls = round.split(',').map((call) => {
    const [tool = '', text = ''] = call.trim().split(':');
    return { tool, args: tool === 'helper' ? { prompt: text, reason: 'to know' } : { text } };
  });
  return { text: `Round ${turn}.`, calls, usage };
};

const resultsIn = (messages: RequestView['messages']): readonly string[] =>
  messages.flatMap(({ role, content }) =>
    role === 'tool'
      ? content.flatMap((part) => ('output' in part && 'value' in part.output ? [textOf(part.output.value)] : []))
      : [],
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
