// Any body becomes a request or a clear refusal.
import { httpStatus } from '#headends/shared';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { Json } from '#base';
import { testRuns } from '../../test-seed.ts';
import { call, me, run, serve } from './driver.ts';

/** Close enough to valid bodies to reach every branch. */
const words = fc.constantFrom<Json>(
  'user',
  'assistant',
  'system',
  'developer',
  'tool',
  'text',
  'input_text',
  'output_text',
  'refusal',
  'image_url',
  'message',
  'item_reference',
  'reasoning',
  'function_call',
  'function_call_output',
  'json_schema',
  'json_object',
  'none',
  'auto',
  '',
  `resp_${run}`,
  `msg_${run}`,
  `rs_${run}_0`,
  'resp_',
  'guide',
  '__proto__',
  'constructor',
  null,
  true,
  false,
  0,
  1,
  2,
  -1,
  1e308,
);
const part = fc.record({ type: words, text: words, refusal: words }, { requiredKeys: [] });
const goodPart = fc.record({ type: fc.constantFrom('text', 'input_text', 'output_text'), text: fc.string() });
const content = fc.oneof(fc.string(), words, fc.array(part, { maxLength: 3 }), fc.array(goodPart, { maxLength: 3 }));
const anyMessage = fc.record(
  {
    role: words,
    type: words,
    content,
    id: words,
    call_id: words,
    tool_call_id: words,
    output: content,
    tool_calls: fc.oneof(words, fc.constant([])),
    audio: words,
  },
  { requiredKeys: [] },
);
const goodMessage = fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content });
const goodLast = fc.record({ role: fc.constant('user'), content: fc.string() });
const goodDialog = fc
  .tuple(fc.array(goodMessage, { maxLength: 3 }), goodLast)
  .map(([before, last]) => [...before, last]);
const dialog = fc.oneof(fc.array(fc.oneof(anyMessage, words), { maxLength: 4 }), goodDialog, fc.string());
const format = fc.record(
  { type: words, json_schema: fc.oneof(words, fc.record({ schema: fc.jsonValue() })), schema: fc.jsonValue() },
  { requiredKeys: [] },
);
const optional = {
  stream: words,
  stream_options: fc.oneof(words, fc.record({ include_usage: words })),
  response_format: fc.oneof(words, format),
  text: fc.oneof(words, fc.record({ format: fc.oneof(words, format) })),
  previous_response_id: words,
  instructions: words,
  tools: fc.oneof(words, fc.constant([]), fc.jsonValue()),
  tool_choice: words,
  n: words,
  logprobs: words,
  stop: fc.jsonValue(),
  metadata: fc.jsonValue(),
  temperature: fc.jsonValue(),
};
const near = fc.record(
  { model: fc.oneof(fc.constant('guide'), words), messages: dialog, input: dialog, ...optional },
  { requiredKeys: ['model', 'messages', 'input'] },
);
const good = fc.record({ model: fc.constant('guide'), messages: goodDialog, input: goodDialog });
const anyBody = fc.oneof(
  { weight: 1, arbitrary: fc.jsonValue() },
  { weight: 2, arbitrary: fc.record({ model: words, messages: dialog, input: dialog }) },
  { weight: 4, arbitrary: near },
  { weight: 2, arbitrary: good },
) as fc.Arbitrary<Json>;

const clients = [
  { system: false, tools: false, activity: false, compat: false },
  { system: true, tools: false, activity: false },
  { system: true, tools: true, activity: false },
];

test.each(['POST /v1/chat/completions', 'POST /v1/responses'])(
  '%s starts a run or answers with a client error for any body',
  async (what) => {
    const seen = { begun: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(anyBody, fc.constantFrom(...clients), async (body, rules) => {
        const said = { [run]: [{ by: 'person', text: 'q' } as const, { by: 'agent', text: 'a' } as const] };
        const served = serve({ clients: rules, dialogs: said });
        try {
          await call(served, what, { body });
        } catch (error) {
          if (!(error instanceof CloisterError)) throw error;
          expect(Math.floor(httpStatus(error.code) / 100)).toBe(4);
          expect(error.failure.detail ?? 'run_unknown').not.toBe('');
          expect(served.started).toEqual([]);
          seen.refused++;
          return;
        }
        seen.begun++;
        const [asked] = served.started;
        expect(served.started).toHaveLength(1);
        expect(typeof asked?.agent).toBe('string');
        expect(typeof asked?.input).toBe('string');
        // A client that may not add context has added none.
        if (!rules.system) expect(asked).not.toHaveProperty('context');
        for (const { by, text } of asked?.history ?? []) {
          expect(['person', 'agent']).toContain(by);
          expect(text.trim()).not.toBe('');
        }
        expect(asked?.budget).toBeUndefined();
        if (asked?.schema !== undefined) expect(asked.schema).toBeTypeOf('object');
      }),
      { numRuns: testRuns(8_000) },
    );
    expect(seen.begun).toBeGreaterThan(300);
    expect(seen.refused).toBeGreaterThan(300);
  },
);

test('an id that was never issued is unknown, whatever it looks like', () =>
  fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string({ minLength: 1 }),
        fc.string().map((rest) => `resp_${rest}`),
        fc.constantFrom(run, `rest_${run}`, `msg_${run}`),
      ),
      async (id) => {
        const served = serve({ dialogs: { [run]: [] } });
        fc.pre(id !== `resp_${run}`);
        await expect(call(served, `GET /v1/responses/${encodeURIComponent(id)}`)).rejects.toMatchObject({
          code: 'run_unknown',
        });
        const body = { model: 'guide', input: 'Hi', previous_response_id: id };
        await expect(call(served, 'POST /v1/responses', { body })).rejects.toMatchObject({ code: 'run_unknown' });
      },
    ),
    { numRuns: testRuns(300) },
  ));

// invariant: earlier-responses-own-only
test('another caller’s responses are unknown', async () => {
  const served = serve({ dialogs: { [run]: [{ by: 'agent', text: 'mine' }] } });
  const body = { model: 'guide', input: [{ type: 'item_reference', id: `msg_${run}` }] };
  expect(me.name).not.toBe('other');
  for (const asking of [
    { as: 'other', body },
    { as: 'other', body: { model: 'guide', input: 'Hi', previous_response_id: `resp_${run}` } },
  ])
    await expect(call(served, 'POST /v1/responses', asking)).rejects.toMatchObject({ code: 'run_unknown' });
  await expect(call(served, `GET /v1/responses/resp_${run}`, { as: 'other' })).rejects.toMatchObject({
    code: 'run_unknown',
  });
  await expect(call(served, 'GET /v1/models/guide', { as: 'other' })).rejects.toMatchObject({ code: 'agent_unknown' });
});
