// Scripted agents for real clients: one calls another, one returns the prompt it was shown, and some fail.
import { EventEmitter } from 'node:events';
import type { Agent, AgentOptions } from '#contracts';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal, RequestView, ScriptedReply } from 'cloister/testkit';

/** The scripted usage of a whole run of `lead`. */
export const scriptedUsage = { input: 1000 + 300 + 1200, cacheRead: 500, cacheWrite: 100, output: 20 + 5 + 30 };

export const answer = 'Lisbon is in Portugal.\ndata: not an event\n\nevent: error';

export type ScriptedAgents = {
  readonly agents: readonly Agent[];
  readonly model: Rehearsal;
  /** Emits `hangs`, with the signal of the request, when a model is called that never answers. */
  readonly hung: EventEmitter;
};

export const scriptAgents = (): ScriptedAgents => {
  const hung = new EventEmitter();
  const hang = (): ScriptedReply => {
    hung.emit('hangs', model.requests.at(-1)?.abortSignal);
    return { fault: 'timeout' };
  };
  const model: Rehearsal = rehearse([
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        text: 'Let me ask.',
        calls: [{ tool: 'researcher', args: { prompt: 'Where is Lisbon?', reason: 'to know' } }],
        usage: { input: 1000, output: 20, cacheWrite: 100 },
      },
    },
    { when: { agent: 'researcher', text: 'Lisbon' }, reply: { text: 'Portugal', usage: { input: 300, output: 5 } } },
    {
      when: { agent: 'lead', turn: 2 },
      reply: { pieces: pieces(answer), usage: { input: 1200, output: 30, cacheRead: 500 } },
    },
    { when: { agent: 'mirror' }, reply: (view) => describePrompt(view) },
    { when: { agent: 'judge' }, reply: () => ({ text: '{"verdict":"yes","points":3}' }) },
    {
      when: { agent: 'slow', turn: 1 },
      reply: { text: 'One moment.', calls: [{ tool: 'never', args: { prompt: 'x', reason: 'y' } }] },
    },
    { when: { agent: 'hasty' }, reply: { fault: 'timeout' } },
    { when: { agent: 'never' }, reply: () => hang() },
    { when: { agent: 'broken' }, reply: { fault: 400 } },
    {
      when: { agent: 'late', turn: 1 },
      reply: { text: 'So far so good.', calls: [{ tool: 'researcher', args: { prompt: 'Lisbon', reason: 'y' } }] },
    },
    { when: { agent: 'late', turn: 2 }, reply: { fault: 400 } },
  ]);
  const agent = (name: string, agents: Agent[] = [], more: Partial<AgentOptions> = {}): Agent =>
    defineAgent({ name, description: `${name}.`, prompt: `You are ${name}.`, models: [model], agents, ...more });
  const researcher = agent('researcher');
  return {
    model,
    hung,
    agents: [
      agent('lead', [researcher]),
      agent('mirror'),
      agent('judge'),
      agent('slow', [agent('never')]),
      agent('broken'),
      agent('hasty', [], { budget: { ms: 20 } }),
      agent('poor', [], { budget: { tokens: 1 } }),
      agent('late', [researcher]),
    ],
  };
};

/** All messages of the prompt after the agent's own, by role. */
const describePrompt = ({ messages }: RequestView): ScriptedReply => ({
  text: JSON.stringify(messages.slice(1).map(({ role, content }) => [role, JSON.stringify(content)])),
});

const pieces = (text: string): readonly string[] => text.match(/.{1,7}/gsu) ?? [];
