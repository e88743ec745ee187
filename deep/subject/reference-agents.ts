// Agents of the reference run: a parent and two children that work in parallel, tools of every `repeat`, an output that is
// too long to show, a file, and a model that is busy once. The script goes by turns, so the run ends the same way whatever was lost.
import { setTimeout as sleep } from 'node:timers/promises';
import { defineAgent } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { ScriptLine, RequestView, ScriptedReply } from 'cloister/testkit';
import { expected } from './expected.ts';
import type { RepeatPolicy, Witness } from './witness.ts';

export const createReferenceAgents = (witness: Witness): Agent => {
  const model = modelOf(witness);
  const agent = (name: string, more: object): Agent =>
    defineAgent({ name, description: `Is ${name}.`, prompt: `Be ${name}.`, models: [model], ...more });
  const tool = (name: string, repeat: RepeatPolicy, give: (what: string) => string): ToolDefinition => ({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
    repeat,
    execute: async ({ what }, { key }) => {
      witness.record({ saw: 'effect', tool: name, repeat, key, what: what as string });
      await sleep(2);
      return give(what as string);
    },
  });
  const pay = tool('pay', 'never', (what) => `Paid: ${what}.`);
  const look = tool('look', 'free', (what) => `Seen: ${what}.`);
  const book = tool('book', 'keyed', (what) => `Booked: ${what}.`);
  const survey = tool('survey', 'free', (what) => `${what} `.repeat(1_500));
  // Its model is busy once in each process that resumes the run.
  const scout = agent('scout', { tools: [look, survey], limits: { maxRetries: 8 } });
  const scribe = agent('scribe', { tools: [pay, 'write_file'] });
  return agent('lead', { agents: [scout, scribe], tools: [pay, book] });
};

type Script = Readonly<Record<string, readonly ScriptedReply[]>>;

const ask = (tool: string, prompt: string) => ({ tool, args: { prompt, reason: 'A part of the task.' } });
const use = (tool: string, what: string) => ({ tool, args: { what } });
const write = (nth: 0 | 1) => ({ tool: 'write_file', args: { ...expected.files[nth] } });

const script: Script = {
  lead: [
    { calls: [ask('scout', 'Look around.'), ask('scribe', 'Write it down.'), use('pay', 'lead: ring')] },
    { calls: [use('book', 'lead: room')] },
    { text: expected.output },
  ],
  scout: [
    { calls: [use('look', 'scout: north'), use('survey', 'scout: all of it')] },
    { calls: [{ tool: 'read_output', args: { name: 'survey_001.txt', from: 1_000, bytes: 100 } }] },
    { text: 'All seen.' },
  ],
  scribe: [
    { calls: [write(0), use('pay', 'scribe: pay 1')] },
    { calls: [use('pay', 'scribe: pay 2'), write(1)] },
    { text: 'All written.' },
  ],
};

const modelOf = (witness: Witness) => {
  const witnessed = (reply: ScriptedReply) => (view: RequestView) => {
    witness.record({ saw: 'model', agent: view.agent ?? '', turn: view.turn });
    return reply;
  };
  const lines: ScriptLine[] = Object.entries(script).flatMap(([agent, replies]) =>
    replies.map((reply, at) => ({ when: { agent, turn: at + 1 }, reply: witnessed(reply) })),
  );
  // Once per process, so that there is a retry delay to wait for.
  const busy = witnessed({ fault: 429, retryAfterMs: 4 });
  const once: ScriptLine = { when: { agent: 'scout', turn: 3 }, times: 1, reply: busy };
  return rehearse({ price: { input: 1, output: 5 }, lines: [once, ...lines] }, { keepRequests: false }).model;
};
