// Any body of a client with tools is a request, tool results, or a clear refusal, and the same in every protocol.
import { httpStatus } from '#headends/shared';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, CallResult, ClientRules } from '#contracts';
import { testRuns } from '../../test-seed.ts';
import { parseMessagesRequest } from '../../../src/headends/anthropic/parse-message.ts';
import { parseChat } from '../../../src/headends/openai/parse-chat.ts';
import { parseResponse } from '../../../src/headends/openai/parse-response.ts';

const rules: ClientRules = { system: true, tools: true, activity: false, compat: false };

type Turn =
  | { readonly by: 'person' | 'agent'; readonly text: string; readonly calls: readonly string[] }
  | { readonly call: string; readonly text: string };
type Dialog = { readonly turns: readonly Turn[]; readonly tools: readonly string[]; readonly none: boolean };
type Parsed = Pick<AgentRequest, 'tools'> & {
  readonly userTexts: readonly string[];
  readonly results: readonly CallResult[];
};

const schema = { type: 'object', properties: { x: { type: 'string' } } } as const;
const isResult = (turn: Turn): turn is Extract<Turn, { call: string }> => 'call' in turn;

const chatMessage = (turn: Turn): Json => {
  if (isResult(turn)) return { role: 'tool', tool_call_id: turn.call, content: turn.text };
  if (turn.by === 'person') return { role: 'user', content: turn.text };
  const tool_calls = turn.calls.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }));
  return {
    role: 'assistant',
    content: turn.text === '' ? null : turn.text,
    ...(tool_calls.length === 0 ? {} : { tool_calls }),
  };
};

const responseItems = (turn: Turn): readonly Json[] => {
  if (isResult(turn)) return [{ type: 'function_call_output', call_id: turn.call, output: turn.text }];
  if (turn.by === 'person') return [{ role: 'user', content: turn.text }];
  const said: Json[] = turn.text === '' && turn.calls.length > 0 ? [] : [{ role: 'assistant', content: turn.text }];
  return [...said, ...turn.calls.map((id) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' }))];
};

const anthropicMessage = (turn: Turn): Json => {
  if (isResult(turn))
    return { role: 'user', content: [{ type: 'tool_result', tool_use_id: turn.call, content: turn.text }] };
  if (turn.by === 'person') return { role: 'user', content: [{ type: 'text', text: turn.text }] };
  const uses = turn.calls.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} }));
  return { role: 'assistant', content: [{ type: 'text', text: turn.text }, ...uses] };
};

type Protocol = { body(dialog: Dialog): JsonObject; parse(body: Json): Parsed };

const protocols: Readonly<Record<string, Protocol>> = {
  chat: {
    body: ({ turns, tools, none }) => ({
      model: 'guide',
      messages: turns.map(chatMessage),
      tools: tools.map((name) => ({ type: 'function', function: { name, parameters: schema } })),
      ...(none ? { tool_choice: 'none' } : {}),
    }),
    parse: (body) => {
      const { request, results, userTexts } = parseChat(body, rules);
      return { ...request, results, userTexts };
    },
  },
  responses: {
    body: ({ turns, tools, none }) => ({
      model: 'guide',
      input: turns.flatMap(responseItems),
      tools: tools.map((name) => ({ type: 'function', name, parameters: schema })),
      ...(none ? { tool_choice: 'none' } : {}),
    }),
    parse: (body) => {
      const { request, results, userTexts } = parseResponse(body, rules);
      return { ...request, results, userTexts };
    },
  },
  anthropic: {
    body: ({ turns, tools, none }) => ({
      model: 'guide',
      max_tokens: 9,
      messages: turns.map(anthropicMessage),
      tools: tools.map((name) => ({ name, input_schema: schema })),
      ...(none ? { tool_choice: { type: 'none' } } : {}),
    }),
    parse: (body) => {
      const { request, results, userTexts } = parseMessagesRequest(body, rules);
      return { ...request, results, userTexts };
    },
  },
};

const words = fc.stringMatching(/^[a-z]{1,5}$/u);
const id = fc.stringMatching(/^call_[a-f0-9]{1,3}$/u);
const anyTurn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ by: fc.constant('person' as const), text: words, calls: fc.constant([]) }),
  fc.record({
    by: fc.constant('agent' as const),
    text: fc.oneof(words, fc.constant('')),
    calls: fc.array(id, { maxLength: 2 }),
  }),
  fc.record({ call: id, text: fc.oneof(words, fc.constant('')) }),
);
const anyDialog: fc.Arbitrary<Dialog> = fc.record({
  turns: fc.array(anyTurn, { minLength: 1, maxLength: 6 }).filter((turns) => {
    const last = turns.at(-1)!;
    return isResult(last) || last.by === 'person';
  }),
  tools: fc.uniqueArray(words, { maxLength: 3 }),
  none: fc.boolean(),
});

test('all protocols find the same unanswered results and the same new input', () => {
  const seen = { results: 0, asked: 0, both: 0 };
  fc.assert(
    fc.property(anyDialog, (dialog) => {
      const { turns, tools, none } = dialog;
      const open = turns.slice(turns.findLastIndex((turn) => !isResult(turn) && turn.by === 'agent') + 1);
      const results = open.filter(isResult).map(({ call, text }) => ({ call, text, failed: false }));
      const isAsked = open.length > results.length;
      for (const [name, { body, parse }] of Object.entries(protocols)) {
        const parsed = parse(body(dialog));
        expect([name, parsed.results, parsed.userTexts.length > 0]).toEqual([name, results, isAsked]);
        const offered = none ? [] : tools;
        expect((parsed.tools ?? []).map((tool) => tool.name)).toEqual(offered);
      }
      seen[results.length === 0 ? 'asked' : isAsked ? 'both' : 'results']++;
    }),
    { numRuns: testRuns(2_000) },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
});

/** A body with one value anywhere in it replaced. */
const corrupt = (value: Json, place: number, by: Json): { readonly value: Json; readonly left: number } => {
  if (place === 0) return { value: by, left: -1 };
  if (typeof value !== 'object' || value === null) return { value, left: place - 1 };
  let left = place - 1;
  const entries = Object.entries(value).map(([key, inner]): [string, Json] => {
    if (left < 0) return [key, inner as Json];
    const made = corrupt(inner as Json, left, by);
    left = made.left;
    return [key, made.value];
  });
  return { value: Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries), left };
};

test.each(Object.entries(protocols))('%s: any malformed body is a client error', (_name, protocol) => {
  const seen = { taken: 0, refused: 0 };
  const unfit = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom<Json>('tool', 'function', '__proto__', null, []),
  );
  fc.assert(
    fc.property(anyDialog, fc.nat({ max: 60 }), unfit as fc.Arbitrary<Json>, (dialog, place, by) => {
      try {
        const { results, tools = [] } = protocol.parse(corrupt(protocol.body(dialog), place, by).value);
        for (const { call, text } of results) expect([typeof call, typeof text]).toEqual(['string', 'string']);
        for (const { inputSchema } of tools) expect(inputSchema).toMatchObject({ type: 'object' });
        seen.taken++;
      } catch (error) {
        if (!(error instanceof CloisterError)) throw error;
        expect(Math.floor(httpStatus(error.code) / 100)).toBe(4);
        seen.refused++;
      }
    }),
    { numRuns: testRuns(5_000) },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(250);
});
