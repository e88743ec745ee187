import { expect, test } from 'vitest';
import { rehearse } from '#testkit';
import type { ScriptedFault, ScriptLine, ScriptedReply } from '#testkit';
import { agent, always, ask, call, lines, ofType, tool, world } from './driver.ts';

type Reply = string | ScriptedReply;

/** Two models in order of preference, each with its own script and price. */
const askTwo = async (
  first: readonly ScriptLine[],
  second: readonly ScriptLine[],
  options: Parameters<typeof agent>[1] = {},
) => {
  const { clock } = world();
  const [one, two] = [
    rehearse({ lines: first, modelId: 'first', price: { input: 1, output: 2 } }, { clock }),
    rehearse({ lines: second, modelId: 'second', price: { input: 10, output: 20 } }, { clock }),
  ];
  const asked = await ask(agent('solo', options), { clock, models: [one.model, two.model] });
  return { ...asked, one, two };
};

const askOne = (replies: readonly Reply[], options: Parameters<typeof agent>[1] = {}) =>
  ask(agent('solo', options), { says: [...lines({ solo: replies }), always('Done.')] });

test.for<[title: string, reply: ScriptedReply, waitedMs: number, code: string]>([
  ['429 with a retry-after waits that long', { fault: 429, retryAfterMs: 7_000 }, 7_000, 'model_rate'],
  ['429 without one waits half a second', { fault: 429 }, 500, 'model_rate'],
  ['503 with a retry-after waits that long', { fault: 503, retryAfterMs: 2_000 }, 2_000, 'model_server'],
  ['500', { fault: 500 }, 500, 'model_server'],
  ['no connection', { fault: 'network' }, 500, 'model_network'],
  ['a timeout', { fault: 'timeout' }, 120_500, 'model_timeout'],
  ['a stream cut in the middle', { fault: 'cut', text: 'Half a' }, 500, 'model_cut'],
  ['a stream that ends without a finish', { fault: 'end', text: 'Half a' }, 500, 'model_cut'],
  ['an error in the middle of a stream', { fault: 'error', text: 'Half a' }, 500, 'model_server'],
  ['an empty reply', { fault: 'empty' }, 500, 'model_empty'],
])('%s is retried', async ([, reply, waitedMs, code]) => {
  const { outcome, events, requests } = await askOne([reply]);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(requests).toHaveLength(2);
  expect(requests[1]!.text).toBe(requests[0]!.text);
  const [failed, answered] = ofType(events, 'model-end');
  // An empty reply arrived without an error; the problem shows in the attempt that follows.
  if (code !== 'model_empty') expect(failed).toMatchObject({ ok: false, error: { code } });
  expect(answered).toMatchObject({ ok: true, error: null });
  expect(outcome.spent.ms).toBe(waitedMs);
});

test('the backoff within one turn grows: half a second, one, two', async () => {
  const { events, outcome } = await askOne([{ fault: 500 }, { fault: 500 }, { fault: 500 }], {
    limits: { maxRetries: 3 },
  });
  expect(ofType(events, 'wait-start').map(({ ms }) => ms)).toEqual([500, 1_000, 2_000]);
  expect(outcome).toMatchObject({ status: 'completed', spent: { ms: 3_500 } });
});

test.for([0, 1, 2, 5])('a model is tried once and then retried maxRetries (%i) times', async (maxRetries) => {
  const { outcome, requests } = await ask(agent('solo', { limits: { maxRetries } }), {
    says: [always({ fault: 500 })],
  });
  expect(requests).toHaveLength(maxRetries + 1);
  expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'model_server' } });
});

test('retries count per turn, not per session', async () => {
  const turn = [{ fault: 500 }, { fault: 500 }] as const;
  const { outcome } = await askOne([...turn, call('echo'), ...turn, call('echo'), ...turn, 'Done at last.'], {
    tools: [tool('echo', () => 'heard')],
  });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done at last.' });
});

test.for<[fault: ScriptedFault, tries: number]>([
  [429, 3],
  [500, 3],
  ['timeout', 3],
  ['cut', 3],
  ['empty', 3],
  [400, 1],
  [401, 1],
  [403, 1],
  [404, 1],
])('after %s the next model answers, at its own price', async ([fault, tries]) => {
  const { outcome, report, events, one, two } = await askTwo(
    [always({ fault, text: 'Half a' })],
    [always({ text: 'I can.', usage: { input: 1_000, output: 100 } })],
  );
  expect(outcome).toMatchObject({ status: 'completed', output: 'I can.' });
  expect([one.requests.length, two.requests.length]).toEqual([tries, 1]);
  expect(report.cells[0]!.models).toContain('rehearsal/second');
  expect(ofType(events, 'model-end').at(-1)).toMatchObject({
    model: 'rehearsal/second',
    ok: true,
    inputTokens: 1_000,
    outputTokens: 100,
    usd: 0.012,
  });
});

test('each turn starts with the first model again', async () => {
  const { outcome, one, two } = await askTwo(
    lines({ solo: [{ fault: 400 }, 'Back again.'] }),
    lines({ solo: [call('echo')] }),
    { tools: [tool('echo', () => 'heard')] },
  );
  expect(outcome).toMatchObject({ status: 'completed', output: 'Back again.' });
  expect([one.requests.length, two.requests.length]).toEqual([2, 1]);
});

test.for<[title: string, usage: ScriptedReply['usage']]>([
  ['reported its usage', { input: 100, output: 10 }],
  ['did not report its usage', 'none'],
])('reasoning of a model that %s is not shown to another model', async ([, usage]) => {
  const { outcome, one, two } = await askTwo(
    lines({
      solo: [
        { reasoning: 'A secret thought.', text: 'Looking.', calls: [{ tool: 'echo' }], usage: usage! },
        { reasoning: 'Another one.', calls: [{ tool: 'echo' }], usage: usage! },
        { fault: 401 },
      ],
    }),
    [always('I go on.')],
    { tools: [tool('echo', () => 'heard')] },
  );
  expect(outcome).toMatchObject({ status: 'completed', output: 'I go on.' });
  expect(JSON.stringify(one.requests.at(-1)!.prompt)).toContain('A secret thought.');
  const shown = JSON.stringify(two.requests[0]!.prompt);
  expect(shown).not.toContain('A secret thought.');
  expect(shown).not.toContain('Another one.');
  expect(shown).toContain('Looking.');
});

test('when every model fails the session fails with the last failure, of class model', async () => {
  const { outcome, one, two, report } = await askTwo([always({ fault: 500 })], [always({ fault: 400 })]);
  expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'model_request' } });
  expect([one.requests.length, two.requests.length]).toEqual([3, 1]);
  expect(report.events.at(-1)).toMatchObject({ type: 'session-end', status: 'failed', error: { class: 'model' } });
});

test('the text written before a failure is kept as partial output, and reported as no answer', async () => {
  const { outcome, report } = await askOne(
    [{ ...call('echo'), text: 'I have begun.' }, { fault: 400 }, { fault: 400 }],
    {
      tools: [tool('echo', () => 'heard')],
      limits: { maxRetries: 0 },
    },
  );
  expect(outcome).toMatchObject({ status: 'failed', output: 'I have begun.', failure: { code: 'model_request' } });
  expect(report.output).toBe('');
});

test('an answer withheld by the provider is not an answer', async () => {
  const { outcome, one, two } = await askTwo([always({ text: 'I ca', finish: 'content-filter' })], [always('I can.')]);
  expect(outcome).toMatchObject({ status: 'completed', output: 'I can.' });
  expect([one.requests.length, two.requests.length]).toEqual([1, 1]);
});
