// The short forms of agent files, in code.
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { AgentShortForms } from 'cloister';
import { rehearse } from 'cloister/testkit';

const base = { name: 'one', description: 'One.', prompt: 'Work.' };
const model = rehearse([{ reply: 'Done.' }]);
const a = defineAgent({ ...base, name: 'a' });
const define = (options: Partial<AgentShortForms>) => defineAgent({ ...base, ...options });

test.each<[string, Partial<AgentShortForms>, Partial<AgentShortForms>]>([
  [
    'one item for a list',
    { models: model, tools: 'read_file', agents: a },
    { models: [model], tools: ['read_file'], agents: [a] },
  ],
  ['nothing for an empty list', { tools: null, agents: null }, {}],
  [
    'grants, shares, messages and topics',
    { grants: 'goal', share: 'system', messages: 'a', topics: 'news' },
    { grants: ['goal'], share: ['system'], messages: ['a'], topics: ['news'] },
  ],
  [
    'a list of agents to spawn',
    { tools: ['spawn_agent'], spawns: [a, 'self'] },
    { tools: ['spawn_agent'], spawns: { agents: [a, 'self'] } },
  ],
  ['an agent to spawn', { tools: ['spawn_agent'], spawns: a }, { tools: ['spawn_agent'], spawns: { agents: [a] } }],
  [
    'names of sub-agents to spawn',
    { agents: [a], tools: ['spawn_agent'], spawns: ['a'] },
    { agents: [a], tools: ['spawn_agent'], spawns: { agents: [a] } },
  ],
  [
    'spawns as in files',
    { tools: ['spawn_agent'], spawns: { agents: 'self', grace: '5s', wait: '2m', on_end: 'stop' } },
    { tools: ['spawn_agent'], spawns: { agents: ['self'], graceMs: 5_000, waitMs: 120_000, onEnd: 'stop' } },
  ],
  ['a time for gather', { agents: [a], gather: '2m' }, { agents: [a], gather: { timeoutMs: 120_000 } }],
  ['gather as in files', { agents: [a], gather: { timeout: 500 } }, { agents: [a], gather: { timeoutMs: 500 } }],
  [
    'limits in camel case',
    { limits: { maxSteps: 3, timeoutMs: 9_000, maxOutputSizeBytes: 7 } },
    { limits: { max_steps: 3, timeout_ms: 9_000, max_output_size_bytes: 7 } },
  ],
  [
    'limits in snake case',
    { limits: { max_tool_turns: 3, llm_timeout: 900 } },
    { limits: { maxToolTurns: 3, llmTimeout: 900 } },
  ],
  [
    'times as text',
    { limits: { toolTimeout: '30s', mailTimeout: '1h' } },
    { limits: { toolTimeout: 30_000, mailTimeout: 3_600_000 } },
  ],
  [
    'aliases',
    { limits: { maxTurns: 3, toolResponseMaxBytes: 9, parallelToolCalls: false } },
    { limits: { maxToolTurns: 3, max_tokens_per_step: 3, parallelToolCalls: 1 } },
  ],
  [
    'limits and settings at the top level',
    { maxRetries: 1, max_steps: 2, temperature: 0.5 },
    { limits: { maxRetries: 1, max_steps: 2 }, settings: { temperature: 0.5 } },
  ],
])('an agent is the same with %s', (_, short, long) => {
  expect(define(short).digest).toBe(define(long).digest);
  expect(define(short).children.spawns).toEqual(define(long).children.spawns);
});

test.each<[object, RegExp]>([
  [{ limits: { maxSteps: 3, max_steps: 3 } }, /limits\.max_steps: expected one of the two: "max_steps" is set twice/u],
  [{ limits: { maxSteps: 3 }, max_steps: 3 }, /max_steps: expected one of the two/u],
  [{ settings: { seed: 1 }, seed: 2 }, /seed: expected one of the two/u],
  [
    { tools: ['spawn_agent'], spawns: ['not a name'] },
    /spawns\.agents\[0\]: expected an agent created with defineAgent, the name of one, or "self"/u,
  ],
  [{ limits: { toolTimeout: 'soon' } }, /limits\.toolTimeout/u],
  [{ maxStep: 3 }, /maxStep/u],
])('a short form that says nothing clear is refused: %j', (options, expected) => {
  expect(() => define(options)).toThrow(expected);
});
