// Scripted agents for real clients: one calls another, one returns the prompt it was shown, and some fail.
import { EventEmitter } from 'node:events';
import type { Agent, AgentOptions } from 'cloister';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal, RequestView } from 'cloister/testkit';

/** The scripted usage of a whole run of `lead`. */
export const scriptedUsage = { input: 1000 + 300 + 1200, cacheRead: 500, cacheWrite: 100, output: 20 + 5 + 30 };

export const answer = 'Lisbon is in Portugal.\ndata: [DONE]\n\nevent: error\ndata: {"error":{}}';

export const placeSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
} as const;

export type ScriptedAgents = {
  readonly agents: readonly Agent[];
  readonly model: Rehearsal;
  /** Emits `hangs`, with the signal of the request, when a model is called that never answers. */
  readonly hung: EventEmitter<{ hangs: [AbortSignal] }>;
};

export const scriptAgents = (): ScriptedAgents => {
  const hung: ScriptedAgents['hung'] = new EventEmitter();
  const call = { tool: 'researcher', args: { prompt: 'Where is Lisbon?', reason: 'to know' } };
  const model: Rehearsal = rehearse([
    {
      when: { agent: 'lead', turn: 1 },
      reply: { text: 'Let me ask.', calls: [call], usage: { input: 1000, output: 20, cacheWrite: 100 } },
    },
    { when: { agent: 'researcher' }, reply: { text: 'Portugal', usage: { input: 300, output: 5 } } },
    {
      when: { agent: 'lead', turn: 2 },
      reply: () => ({ pieces: answer.split(/(?<= )/u), usage: { input: 1200, output: 30, cacheRead: 500 } }),
    },
    { when: { agent: 'mirror' }, reply: (view) => describePrompt(view) },
    { when: { agent: 'clerk' }, reply: (view) => `I was asked ${view.goal}.` },
    {
      when: ({ agent }) => agent === 'atlas' || agent === 'globe',
      reply: () => ({ text: '{"city":"Lisbon","people":545796}' }),
    },
    {
      when: { agent: 'slow', turn: 1 },
      reply: { text: 'One moment.', calls: [{ tool: 'never', args: { prompt: 'x', reason: 'y' } }] },
    },
    {
      when: { agent: 'never' },
      reply: () => {
        const signal = model.requests.at(-1)?.abortSignal;
        if (signal !== undefined) hung.emit('hangs', signal);
        return { fault: 'timeout' };
      },
    },
    { when: { agent: 'broken' }, reply: { fault: 400 } },
    { when: { agent: 'tired', turn: 1 }, reply: { calls: [call] } },
    { when: { agent: 'tired', turn: 2 }, reply: { text: 'As far as I got.', calls: [call] } },
    { when: { agent: 'late', turn: 1 }, reply: { text: 'So far so good.', calls: [call] } },
    { when: { agent: 'late', turn: 2 }, reply: { fault: 400 } },
  ]);
  const agent = (name: string, more: Partial<AgentOptions> = {}): Agent =>
    defineAgent({ name, description: `It is ${name}.`, prompt: `You are ${name}.`, models: [model], ...more });
  const researcher = agent('researcher');
  const agents = [
    agent('lead', { agents: [researcher] }),
    agent('mirror'),
    agent('atlas'),
    agent('globe', { output: { format: 'json', schema: placeSchema } }),
    agent('clerk', { input: { format: 'json', schema: placeSchema } }),
    agent('slow', { agents: [agent('never')] }),
    agent('broken'),
    agent('tired', { agents: [researcher], limits: { maxToolTurns: 1 } }),
    agent('poor', { budget: { tokens: 10 } }),
    agent('narrow', { limits: { contextTokensMax: 1000 } }),
    agent('late', { agents: [researcher] }),
  ];
  return { agents, model, hung };
};

/** The prompt of the model as its answer: every message with its role. */
const describePrompt = ({ messages }: RequestView): string =>
  messages
    .map(({ role, content }) => {
      const texts = typeof content === 'string' ? [content] : content.map((part) => ('text' in part ? part.text : ''));
      return `<${role}>${texts.join('|')}</${role}>`;
    })
    .join('\n');
