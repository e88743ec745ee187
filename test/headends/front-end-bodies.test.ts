// Any body of a front end becomes a request or a clear refusal.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { Json } from '#base';
import { httpStatus } from '#headends/shared';
import { parseRunInput } from '../../src/headends/ag-ui/parse-run-input.ts';
import { parseChatRequest } from '../../src/headends/ui-stream/parse-chat-request.ts';
import { testRuns } from '../test-seed.ts';

/** Close enough to valid bodies to reach every branch. */
const words = fc.constantFrom<Json>(
  'user',
  'assistant',
  'system',
  'tool',
  'reasoning',
  'text',
  'file',
  'image',
  'data',
  'url',
  'dynamic-tool',
  'tool-x',
  'approval-responded',
  'output-available',
  'output-error',
  'resolved',
  'cancelled',
  'regenerate-message',
  'submit-message',
  'q-0123456789ab-3',
  'q-0123456789ab-3.7',
  'call-lead-1',
  'data:image/png;base64,AA==',
  '__proto__',
  '',
  null,
  true,
  0,
  -1,
);
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Json> =>
  fc.record(model, { requiredKeys: [] }) as unknown as fc.Arbitrary<Json>;
const any = fc.oneof(
  words,
  fc.string(),
  fc.json().map((text) => JSON.parse(text) as Json),
);
const part = record({
  type: words,
  text: any,
  url: any,
  source: fc.oneof(any, record({ type: words, value: any, mimeType: any })),
  state: words,
  toolCallId: words,
  toolName: any,
  input: any,
  output: any,
  errorText: any,
  approval: fc.oneof(any, record({ id: words, approved: words, reason: any })),
});
const parts = fc.oneof(any, fc.array(fc.oneof(part, any), { maxLength: 3 }));
const message = record({
  id: words,
  role: words,
  content: parts,
  parts,
  toolCallId: words,
  toolCalls: fc.oneof(
    any,
    fc.array(record({ id: words, function: record({ name: any, arguments: any }) }), { maxLength: 2 }),
  ),
  subagentRunId: words,
  error: any,
});
const body = fc.oneof(
  any,
  record({
    id: words,
    threadId: words,
    runId: words,
    trigger: words,
    messageId: words,
    resumable: words,
    messages: fc.oneof(any, fc.array(fc.oneof(message, any), { maxLength: 4 })),
    tools: fc.oneof(any, fc.array(record({ name: any, description: any, parameters: any }), { maxLength: 2 })),
    context: fc.oneof(any, fc.array(record({ description: any, value: any }), { maxLength: 2 })),
    resume: fc.oneof(any, fc.array(record({ interruptId: words, status: words, payload: any }), { maxLength: 2 })),
  }),
);

/** Null if it parses, or is refused as the client's mistake. */
const defectOf = (parse: () => unknown): unknown => {
  try {
    parse();
    return null;
  } catch (error) {
    return error instanceof CloisterError && httpStatus(error.code) === 400 ? null : error;
  }
};

test('any body becomes a request or a clear refusal', () => {
  fc.assert(
    fc.property(body, fc.boolean(), (json, allows) => {
      const rules = { system: allows, tools: allows, activity: false, compat: false };
      const question = { why: 'tool' } as Parameters<ReturnType<typeof parseRunInput>['answers'][number]['read']>[0];
      const runInput = (): void => {
        const { answers, newRequest } = parseRunInput(json, 'lead', rules);
        for (const { read } of answers) read(question);
        newRequest();
      };
      expect(defectOf(runInput)).toBeNull();
      expect(defectOf(() => parseChatRequest(json, 'lead', rules).newRequest())).toBeNull();
    }),
    { numRuns: testRuns(6_000) },
  );
});
