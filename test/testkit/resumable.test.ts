// `expectResumable` crashes a workflow after every record.
import { AssertionError } from 'node:assert';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { ToolDefinition } from 'cloister';
import { expectResumable, rehearse } from 'cloister/testkit';
import type { MakeWorkflow, Script } from 'cloister/testkit';
import { newFolder } from './folders.ts';

const lines: Script = [
  {
    when: { agent: 'lead', turn: 1 },
    reply: {
      calls: [
        { tool: 'write_file', args: { path: 'notes.md', content: 'tea' } },
        { tool: 'look', args: {} },
        { tool: 'helper', args: { prompt: 'Compare.' } },
      ],
    },
  },
  {
    when: { agent: 'lead', turn: 2 },
    reply: { calls: [{ tool: 'read_file', args: { path: 'notes.md' } }], delayMs: 40 },
  },
  { when: { agent: 'lead', turn: 3 }, reply: 'Done with {{results}}' },
  { when: { agent: 'helper', turn: 1 }, reply: { calls: [{ tool: 'send', args: {} }], delayMs: 10 } },
  { when: { agent: 'helper', turn: 2 }, reply: 'Helped: {{results}}' },
];

const agentFile = (more: string): string =>
  [
    '---',
    'description: Works.',
    'usage: Go.',
    'output: { format: text }',
    'models: play/any',
    more,
    '---',
    'Work.',
  ].join('\n');

type Tools = { readonly look?: ToolDefinition['execute']; readonly send?: Partial<ToolDefinition> };

const workflow =
  ({ look = () => 'Seen.', send = {} }: Tools = {}, script: Script = lines): MakeWorkflow =>
  ({ clock }) => {
    const models = [rehearse(script, { clock })];
    const inputSchema = { type: 'object' };
    const helper = defineAgent({
      name: 'helper',
      description: 'Helps.',
      prompt: 'You help.',
      models,
      tools: [{ name: 'send', description: 'Sends.', inputSchema, execute: () => 'Sent.', ...send }],
    });
    const lead = defineAgent({
      name: 'lead',
      description: 'Leads.',
      prompt: 'You lead.',
      models,
      agents: [helper],
      tools: [
        { name: 'look', description: 'Looks.', inputSchema, repeat: 'free', execute: look },
        'write_file',
        'read_file',
      ],
    });
    return { agents: [lead, helper], input: 'Go.' };
  };

describe('a workflow with steps, files, a child and waiting', () => {
  // invariants: resumable-nothing-repeated, resumable-unsafe-not-repeated
  test('resumes after a crash at any record, and ends the same', async () => {
    const { records, crashes, indeterminate, outcome } = await expectResumable(workflow());
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('Done with tea') });
    expect(crashes).toBe(records - 1);
    expect(records).toBeGreaterThan(20);
    // The record between the begin and the settlement of `send`, which is not safe to retry; others come in between.
    expect(indeterminate).toBeGreaterThan(0);
  });

  test('has no indeterminate call if every tool is safe to retry', async () => {
    expect(await expectResumable(workflow({ send: { repeat: 'keyed' } }))).toMatchObject({ indeterminate: 0 });
  });

  test('can be crashed after every nth record only', async () => {
    const { records, crashes } = await expectResumable(workflow(), { every: 7 });
    expect(crashes).toBe(Math.ceil((records - 1) / 7));
  });

  test('may use agents from files', async () => {
    const folder = newFolder({
      'lead.ai': agentFile('agents: helper\ntools: write_file'),
      'helper.ai': agentFile(''),
      '.ai-agent.json': JSON.stringify({ providers: { play: { type: 'rehearsal', script: './script.yaml' } } }),
      'script.yaml': [
        '- { when: { agent: lead, turn: 1 }, reply: { calls: [{ tool: helper, args: { prompt: Help } }] } }',
        '- { when: { agent: lead }, reply: "So: {{results}}" }',
        // It takes real time, because it has no fake clock.
        '- { when: { agent: helper }, reply: { text: Helped., delayMs: 3 } }',
      ].join('\n'),
    });
    const { outcome, crashes } = await expectResumable({ agents: ['lead.ai'], cwd: folder, input: 'Go.' });
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('Helped.') });
    expect(crashes).toBeGreaterThan(5);
  });
});

describe('a workflow that is not resumable', () => {
  // invariant: resumable-same-end
  test('is reported with the record of the crash: a tool whose results depend on earlier calls', async () => {
    let looks = 0;
    const failing = expectResumable(
      workflow({ look: () => `Look ${++looks}.` }, [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'look', args: {} }] } },
        { when: { agent: 'lead', turn: 2 }, reply: 'Done with {{results}}' },
      ]),
    );
    await expect(failing).rejects.toBeInstanceOf(AssertionError);
    await expect(failing).rejects.toThrow(
      /^Crashed after record \d+ of \d+ \(.* in lead\): the run ended differently\./u,
    );
    await expect(failing).rejects.toMatchObject({ expected: expect.stringContaining('Done with Look 1.') });
  });

  test('because its script is used up is reported with the missing line', async () => {
    const models = [rehearse([{ times: 1, reply: 'Once.' }])];
    const agents = [defineAgent({ name: 'once', description: 'O.', prompt: 'O.', models })];
    await expect(expectResumable({ agents })).rejects.toThrow(/the run ended differently/u);
    await expect(expectResumable({ agents })).rejects.toMatchObject({ code: 'model_unscripted' });
  });
});
