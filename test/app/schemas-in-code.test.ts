// Schemas of libraries in code: what is recorded and shown is JSON Schema, what `execute` gets is what the library made of it.
import { type } from 'arktype';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, openCloister } from 'cloister';
import type { AgentOptions, Schema, ToolSource } from 'cloister';
import { rehearse } from 'cloister/testkit';

const base = { name: 'one', description: 'One.', prompt: 'Work.' };

/** Calls the tool once, and gives what it was called with, what the model was shown, and whether the run can be checked. */
const callOnce = async (args: object, options: Partial<AgentOptions>) => {
  const model = rehearse([
    { when: { turn: 1 }, reply: { calls: [{ tool: 'look', args: args as never }] } },
    { reply: ({ toolResults }) => toolResults.map(({ text }) => text).join() },
  ]);
  const agent = defineAgent({ ...base, models: [model], ...options });
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const { run, output } = await cloister.run('one', 'Go.').outcome;
  expect(await cloister.audit(run)).toMatchObject({ ok: true });
  expect(await cloister.replay(run)).toMatchObject({ ok: true });
  return { output, shown: agent.definition.tools[0]! };
};

const cities: Readonly<Record<string, Schema>> = {
  zod: z.object({ city: z.string().min(2) }),
  'JSON Schema made by zod': z.toJSONSchema(z.object({ city: z.string().min(2) })),
  valibot: toStandardJsonSchema(v.object({ city: v.pipe(v.string(), v.minLength(2)) })),
  arktype: type({ city: 'string >= 2' }),
};

// invariant: schema-as-json
test.each(Object.entries(cities))(
  'a model is shown the JSON Schema of a schema of %s, and held to it',
  async (_, schema) => {
    const seen: unknown[] = [];
    const look = defineTool({
      name: 'look',
      inputSchema: schema,
      execute: (args) => {
        seen.push(args);
        return 'sun';
      },
    });
    const { output, shown } = await callOnce({ city: 'Rome' }, { tools: [look] });
    expect(output).toBe('sun');
    expect(shown).toMatchObject({
      description: '',
      inputSchema: { type: 'object', properties: { city: { type: 'string', minLength: 2 } }, required: ['city'] },
    });
    expect((await callOnce({ city: 'R' }, { tools: [look] })).output).toContain(
      '/city: expected at least 2 characters',
    );
    expect(seen).toEqual([{ city: 'Rome' }]);
  },
);

// invariant: execute-gets-parsed
test('a tool gets the defaults and transforms of its schema, and refinements are its refusals', async () => {
  const seen: unknown[] = [];
  const inputSchema = z.object({
    day: z.string().transform((text) => new Date(text)),
    days: z.number().default(3),
    word: z.string().refine((word) => word === 'please', 'Say please.'),
  });
  const look = defineTool({
    name: 'look',
    inputSchema,
    execute: ({ day, days }) => {
      seen.push([day, days]);
      return { day: day.getUTCFullYear(), days };
    },
  });
  const call = (word: string) => callOnce({ day: '2031-02-03', word }, { tools: [look] });
  const { output, shown } = await call('please');
  expect(JSON.parse(output)).toEqual({ day: 2031, days: 3 });
  expect(shown.inputSchema).toMatchObject({ required: ['day', 'word'], properties: { day: { type: 'string' } } });
  expect((await call('now')).output).toContain('word: Say please.');
  expect(seen).toEqual([[new Date('2031-02-03'), 3]]);
});

test('a tool source may list tools with schemas of libraries', async () => {
  const inputSchema = z.object({ n: z.number().transform((n) => n + 1) });
  const source: ToolSource = {
    name: 'my',
    list: async () => ({ tools: [defineTool({ name: 'look', inputSchema, execute: ({ n }) => `got ${n}` })] }),
  };
  const model = rehearse([
    { when: { turn: 1 }, reply: { calls: [{ tool: 'my__look', args: { n: 1 } }] } },
    { reply: ({ toolResults }) => toolResults[0]!.text },
  ]);
  const agent = defineAgent({ ...base, models: [model], tools: [source] });
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  expect((await cloister.run('one', 'Go.').outcome).output).toBe('got 2');
});

test('data is the JSON of the answer, in the types of the schema of the agent or of the request', async () => {
  const models = [rehearse([{ reply: '{"day":"2031-02-03"}' }])];
  const schema = z.object({ day: z.string().transform((text) => new Date(text)), days: z.number().default(3) });
  const agent = defineAgent({ ...base, models, output: { format: 'json', schema } });
  const plain = defineAgent({ ...base, name: 'two', models, output: { format: 'markdown' } });
  await using cloister = await openCloister({ agents: [agent, plain], store: 'memory' });
  const { data } = await cloister.run(agent, 'Go.').outcome;
  expect(data).toEqual({ day: '2031-02-03' });
  expect(data?.day.slice(0, 4)).toBe('2031');
  expect(schema.parse(data)).toEqual({ day: new Date('2031-02-03'), days: 3 });
  expect((await cloister.run('two', 'Go.', { schema }).outcome).data).toEqual({ day: '2031-02-03' });
});

test('the input of an agent is checked against the JSON Schema of its schema', async () => {
  const models = [rehearse([{ reply: ({ goal }) => goal }])];
  const agent = defineAgent({ ...base, models, input: { format: 'json', schema: cities['zod']! } });
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  expect((await cloister.run('one', { city: 'Rome' }).outcome).output).toContain('Rome');
  expect(() => cloister.run('one', { city: 'R' })).toThrow(/city/u);
});

test.each<[string, Schema, RegExp]>([
  ['valibot alone cannot say it', v.object({ city: v.string() }), /toStandardJsonSchema\(\) of @valibot/u],
  ['a date is not JSON', z.object({ day: z.date() }), /JSON Schema: .*[Dd]ate/u],
])('a schema that cannot be written as JSON Schema is refused at once: %s', async (_, schema, expected) => {
  expect(() => defineAgent({ ...base, tools: [{ name: 'look', inputSchema: schema, execute: () => '' }] })).toThrow(
    expect.objectContaining({ code: 'agent_invalid', message: expect.stringMatching(expected) as string }),
  );
  expect(() => defineAgent({ ...base, output: { format: 'json', schema } })).toThrow(expected);
  expect(() => defineAgent({ ...base, input: { format: 'json', schema } })).toThrow(/input\.schema/u);
  await using cloister = await openCloister({
    agents: [defineAgent({ ...base, models: [rehearse([])] })],
    store: 'memory',
  });
  expect(() => cloister.run('one', 'Go.', { schema })).toThrow(
    expect.objectContaining({ code: 'options_invalid', message: expect.stringMatching(expected) as string }),
  );
});

test('a schema that is no object is refused before a request is sent', async () => {
  const model = rehearse([{ reply: '{}' }]);
  await using cloister = await openCloister({ agents: [defineAgent({ ...base, models: [model] })], store: 'memory' });
  for (const schema of [true, false, 'x', null])
    expect(() => cloister.run('one', 'Go.', { schema: schema as never })).toThrow(/schema: expected a JSON Schema/u);
  expect(() => defineAgent({ ...base, output: { format: 'json', schema: true as never } })).toThrow(/output\.schema/u);
  expect(model.requests).toEqual([]);
});
