// Tools of the AI SDK in our agents, and our agents as tools of its loops.
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, openCloister } from 'cloister';
import type { AiTool, ToolDefinition, ToolSource } from 'cloister';
import { rehearse } from 'cloister/testkit';

const base = { name: 'lead', description: 'Leads.', prompt: 'Lead.' };

/** What the model is shown after it has called the tool. */
const resultOf = async (look: AiTool | ToolDefinition | ToolSource, args: object = { city: 'Rome' }, name = 'look') => {
  const model = rehearse([
    { when: { turn: 1 }, reply: { calls: [{ tool: name, args: args as never }] } },
    { reply: ({ toolResults }) => toolResults[0]!.text },
  ]);
  const tools = 'list' in look || 'name' in look ? [look as ToolDefinition] : [{ look }];
  const agent = defineAgent({ ...base, models: [model], tools });
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const { run, output } = await cloister.run('lead', 'Go.').outcome;
  expect(await cloister.replay(run)).toMatchObject({ ok: true });
  return output;
};

describe('a tool of the AI SDK', () => {
  const inputSchema = z.object({ city: z.string(), days: z.number().default(3) });

  test('is called with its own types, an id and a signal', async () => {
    const look = tool({
      description: 'Looks.',
      inputSchema,
      execute: ({ city, days }, { toolCallId, abortSignal }) =>
        `${city} ${days} ${toolCallId.length > 0} ${abortSignal?.aborted}`,
    });
    expect(await resultOf(look)).toBe('Rome 3 true false');
  });

  test('may have a JSON Schema of the AI SDK, with its own check', async () => {
    const validate = (value: unknown) =>
      (value as { city: string }).city === 'Rome'
        ? { success: true as const, value: value as { city: string } }
        : { success: false as const, error: new Error('Only Rome.') };
    const schema = jsonSchema<{ city: string }>(
      { type: 'object', properties: { city: { type: 'string' } } },
      { validate },
    );
    const look = tool({ inputSchema: schema, execute: async ({ city }) => ({ city }) });
    expect(await resultOf(look)).toBe('{"city":"Rome"}');
    expect(await resultOf(look, { city: 'Bonn' })).toContain('Only Rome.');
  });

  test('may yield results, of which the last counts, and may say how they are shown', async () => {
    const look = tool({
      inputSchema,
      async *execute({ city }) {
        yield { state: 'looking', city };
        yield { state: 'found', city };
      },
      toModelOutput: ({ output }) => ({ type: 'text', value: `${output.state}: ${output.city}` }),
    });
    expect(await resultOf(look)).toBe('found: Rome');
    expect(await resultOf(tool({ inputSchema, execute: () => undefined }))).toBe('null');
    const refuses = tool({
      inputSchema,
      execute: () => 1,
      toModelOutput: () => ({ type: 'error-text', value: 'Closed.' }),
    });
    expect(await resultOf(refuses)).toContain('Closed.');
  });

  test('that needs approval is marked: always, by its arguments, or always if it decides later', () => {
    const approvalOf = (needsApproval: unknown) => {
      const look = { inputSchema, execute: () => 1, needsApproval } as AiTool;
      const { definition, resources } = defineAgent({ ...base, tools: [{ look }] });
      const { approve } = resources.tools[0]!;
      const asks = typeof approve === 'function' ? ['Rome', 'Bonn'].map((city) => approve({ city })) : approve;
      return [definition.approve?.['look'], asks];
    };
    expect(approvalOf(undefined)).toEqual([undefined, undefined]);
    expect(approvalOf(false)).toEqual([undefined, undefined]);
    expect(approvalOf(true)).toEqual([{}, true]);
    const byCity = ({ city, days }: { city: string; days: number }) => city === 'Rome' && days === 3;
    expect(approvalOf(byCity)).toEqual([{ when: 'arguments' }, [true, false]]);
    expect(approvalOf(async () => false)).toEqual([{ when: 'arguments' }, [true, true]]);
    expect(approvalOf(() => Promise.reject(new Error('late')))).toEqual([{ when: 'arguments' }, [true, true]]);
  });

  test.each<[string, AiTool, RegExp]>([
    ['without execute', { inputSchema }, /tools\[0\]\.look\.execute: expected a function/u],
    ['that runs at the provider', { inputSchema, type: 'provider' } as AiTool, /runs at the provider/u],
    [
      'whose need for approval is no answer',
      { inputSchema, execute: () => 1, needsApproval: 'yes' } as AiTool,
      /needsApproval/u,
    ],
    ['whose description is a function', { inputSchema, execute: () => 1, description: () => 'x' }, /description/u],
    ['whose schema comes later', { inputSchema: jsonSchema(Promise.resolve({})), execute: () => 1 }, /by a promise/u],
  ])('is refused when the agent is defined, if it is one %s', (_, look, expected) => {
    expect(() => defineAgent({ ...base, tools: [{ look }] })).toThrow(expected);
  });
});

test('a tool source may return a plain list, and have no name', async () => {
  const look: ToolDefinition = { name: 'look', inputSchema: { type: 'object' }, execute: () => 'found' };
  expect(await resultOf({ list: async () => [look] }, {}, 'tools__look')).toBe('found');
  expect(await resultOf({ name: 'my', list: async () => ({ tools: [look] }) }, {}, 'my__look')).toBe('found');
});

// invariant: agent-tool-is-a-run
describe('one of our agents as a tool', () => {
  const open = () => {
    const text = defineAgent({ ...base, models: [rehearse([{ reply: ({ goal }) => `did ${goal}` }])] });
    const json = defineAgent({
      ...base,
      name: 'json',
      models: [rehearse([{ reply: '{"days":3}' }])],
      input: { format: 'json', schema: z.object({ city: z.string() }) },
      output: { format: 'json', schema: z.object({ days: z.number() }) },
    });
    return openCloister({ agents: [text, json], store: 'memory' });
  };

  test('works in a loop of the AI SDK', async () => {
    await using cloister = await open();
    const model = rehearse([
      {
        when: { turn: 1 },
        reply: {
          calls: [
            { tool: 'lead', args: { prompt: 'this' } },
            { tool: 'json', args: { city: 'Rome' } },
          ],
        },
      },
      { reply: ({ toolResults }) => toolResults.map(({ text }) => text).join(' & ') },
    ]);
    const { text } = await generateText({
      model,
      prompt: 'Go.',
      tools: { lead: cloister.agentTool('lead'), json: cloister.agentTool('json') },
      stopWhen: stepCountIs(3),
    });
    expect(text).toBe('did this & {"days":3}');
    const runs = await cloister.runs();
    expect(runs.map(({ agent }) => agent).sort()).toEqual(['json', 'lead']);
    expect(await cloister.audit(runs[0]!.run)).toMatchObject({ ok: true });
  });

  test('works as a tool of an agent elsewhere, and in a loop of one’s own', async () => {
    await using cloister = await open();
    const lead = cloister.agentTool('lead');
    expect(await resultOf(lead, { prompt: 'that' }, 'lead')).toBe('did that');
    expect(await resultOf(lead, { text: 'that' }, 'lead')).toContain('"prompt" is missing');
    expect(await lead.execute({ prompt: 'it' })).toBe('did it');
    expect(JSON.parse(JSON.stringify(lead.inputSchema))).toMatchObject({ required: ['prompt'] });
    await expect(lead.execute({ prompt: 'x' }, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
    });
    expect(() => cloister.agentTool('nobody')).toThrow(/nobody/u);
  });
});
