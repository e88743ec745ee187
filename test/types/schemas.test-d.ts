// Types that users rely on. Nothing here runs: `npm run types` compiles it, and an unused `@ts-expect-error` is an error.
import { type } from 'arktype';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from 'cloister';
import type { Cloister, Json, JsonObject, ToolDefinition } from 'cloister';

declare const cloister: Cloister;
declare const anySchema: JsonObject;

const named = { name: 'one', description: 'One.' };
const agent = { ...named, prompt: 'Work.' };

// The arguments of a tool.
const city = z.object({ city: z.string(), days: z.number().default(3) });
const tools: readonly ToolDefinition[] = [
  defineTool({
    ...named,
    inputSchema: city,
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>();
      // @ts-expect-error There is no such argument.
      return `${args.city} ${args.country}`;
    },
  }),
  defineTool({
    ...named,
    inputSchema: z.toJSONSchema(city),
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>();
      return args.city;
    },
  }),
  defineTool({
    ...named,
    inputSchema: z.object({ day: z.string().transform((text) => new Date(text)) }),
    execute: ({ day }, { signal, key }) => {
      expectTypeOf(day).toEqualTypeOf<Date>();
      return { day: day.getTime(), key, aborted: signal.aborted };
    },
  }),
  defineTool({
    ...named,
    inputSchema: toStandardJsonSchema(v.object({ city: v.string(), tags: v.optional(v.array(v.string())) })),
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ city: string; tags?: string[] | undefined }>();
      return args.city;
    },
  }),
  defineTool({
    ...named,
    inputSchema: type({ city: 'string', 'days?': 'number' }),
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ city: string; days?: number }>();
      return args.city;
    },
  }),
  defineTool({
    name: 'json',
    inputSchema: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['c', 'f'] },
        days: { type: 'array', items: { type: 'integer' } },
        place: { type: ['string', 'null'] },
        more: { anyOf: [{ type: 'boolean' }, { const: 'auto' }] },
      },
      required: ['city', 'place'],
    },
    execute: async (args) => {
      expectTypeOf(args).toEqualTypeOf<{
        readonly city: string;
        readonly place: string | null;
        readonly unit?: 'c' | 'f';
        readonly days?: readonly number[];
        readonly more?: boolean | 'auto';
      }>();
      return { type: 'json', value: args.city };
    },
  }),
  defineTool({
    ...named,
    inputSchema: anySchema,
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<JsonObject>();
      return null;
    },
  }),
  // @ts-expect-error A function is no result.
  defineTool({ ...named, inputSchema: city, execute: () => () => 'x' }),
  // @ts-expect-error `schema` is none of its options.
  defineTool({ ...named, inputSchema: city, schema: city, execute: () => '' }),
];

// Schemas in tools that are written without `defineTool`.
defineAgent({
  ...agent,
  tools: [
    ...tools,
    { name: 'zod', inputSchema: city, execute: () => 'x' },
    { name: 'zod_json', inputSchema: z.toJSONSchema(city), execute: (args) => ({ city: args['city'] ?? null }) },
    { ...named, inputSchema: { type: 'object' }, execute: () => 'x' },
  ],
});
// @ts-expect-error `true` is no schema of arguments.
defineAgent({ ...agent, tools: [{ ...named, inputSchema: true, execute: () => 'x' }] });

// The answer of an agent.
const order = z.object({ id: z.number(), tags: z.array(z.string()) });
const typed = defineAgent({ ...agent, output: { format: 'json', schema: order } });
const { data } = await cloister.run(typed, 'Go.').outcome;
expectTypeOf(data).toEqualTypeOf<{ id: number; tags: string[] } | null>();
// @ts-expect-error There may be no answer.
data.id.toFixed();
data?.id.toFixed();
// @ts-expect-error It has no such field.
String(data?.price);

const arktyped = defineAgent({ ...agent, output: { format: 'json', schema: type({ id: 'number' }) } });
expectTypeOf<Awaited<ReturnType<typeof runArktyped>>['data']>().toEqualTypeOf<{ id: number } | null>();
const runArktyped = () => cloister.run(arktyped, 'Go.').outcome;

const plain = defineAgent({
  ...agent,
  output: { format: 'json', schema: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] } },
});
expectTypeOf<Awaited<ReturnType<typeof runPlain>>['data']>().toEqualTypeOf<{ readonly id: number } | null>();
const runPlain = () => cloister.run(plain, 'Go.').outcome;

const untyped = defineAgent(agent);
expectTypeOf<Awaited<ReturnType<typeof runUntyped>>['data']>().toEqualTypeOf<Json>();
const runUntyped = () => cloister.run(untyped, 'Go.').outcome;

// The schema of a request comes before that of the agent. An agent that is only named has no types.
const asked = await cloister.run(typed, 'Go.', { schema: z.object({ other: z.boolean() }) }).outcome;
expectTypeOf(asked.data).toEqualTypeOf<{ other: boolean } | null>();
const byName = await cloister.run('one', 'Go.', { schema: z.object({ other: z.boolean() }) }).outcome;
expectTypeOf(byName.data).toEqualTypeOf<{ other: boolean } | null>();
const bare = await cloister.run('one', { any: 'object' }, { budget: { tokens: 5 } }).outcome;
expectTypeOf(bare.data).toEqualTypeOf<Json>();
const turn = await (await cloister.runTurn('one', 'Go.', { schema: order })).outcome;
expectTypeOf(turn.data).toEqualTypeOf<{ id: number; tags: string[] } | null>();
// @ts-expect-error `true` accepts anything, so there is nothing to ask for.
cloister.run('one', 'Go.', { schema: true });

// The input of an agent.
const asks = defineAgent({ ...agent, input: { format: 'json', schema: city } });
cloister.run(asks, { city: 'Rome' });
cloister.run(asks, '{"city":"Rome"}');
// @ts-expect-error The city is missing.
cloister.run(asks, { days: 3 });
// @ts-expect-error An agent has no such option.
defineAgent({ ...agent, outputs: { format: 'json', schema: order } });

// Typed agents are agents like others.
defineAgent({ ...agent, agents: [typed, plain, asks, untyped], spawns: { agents: [typed] } });
