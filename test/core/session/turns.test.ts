import { expect, test } from 'vitest';
import type { RunEvent } from 'cloister';
import { agent, always, ask, call, calls, callsIn, lastResults, lines, ofType, tool, world } from './driver.ts';

const waitFor = (clock: ReturnType<typeof world>['clock']) =>
  tool(
    'wait',
    ({ ms }: any) => new Promise((resolve) => clock.timer(Number(ms), () => resolve(`waited ${String(ms)}`))),
  );

test('an answer without calls completes the session with that text', async () => {
  const { outcome, requests, report } = await ask(agent('solo'), { says: [always('Forty-two.')] });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Forty-two.', failure: null, missing: [] });
  expect(requests).toHaveLength(1);
  expect(report).toMatchObject({ status: 'completed', goal: 'Find it', cells: [{ status: 'completed', turns: 1 }] });
});

test('each turn shows all replies and results before it, in order', async () => {
  const echo = tool('echo', ({ text }: any) => `heard ${String(text)}`);
  const { outcome, requests } = await ask(agent('solo', { tools: [echo] }), {
    says: lines({
      solo: [{ ...call('echo', { text: 'a' }), text: 'First.' }, call('echo', { text: 'b' }), 'Both heard.'],
    }),
  });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Both heard.', spent: { steps: 2 } });
  expect(requests.map(({ options }) => options.prompt.map(({ role }) => role))).toEqual([
    ['system', 'user'],
    ['system', 'user', 'assistant', 'tool'],
    ['system', 'user', 'assistant', 'tool', 'assistant', 'tool'],
  ]);
  expect(lastResults(requests).map(({ text }) => text)).toEqual(['heard a', 'heard b']);
});

test('results are shown in the order of the calls, whatever order they settle in', async () => {
  const { clock } = world();
  const { requests, events } = await ask(agent('solo', { tools: [waitFor(clock)] }), {
    clock,
    says: lines({
      solo: [calls(...[30, 10, 20].map((ms) => ({ tool: 'wait', args: { ms } }))), 'Done.'],
    }),
  });
  expect(lastResults(requests).map(({ text }) => text)).toEqual(['waited 30', 'waited 10', 'waited 20']);
  const { called, results } = callsIn(requests.at(-1)!.options.prompt);
  expect(results.map(({ id }) => id)).toEqual(called.map(({ id }) => id));
  expect(ofType(events, 'tool-end').map(({ op }) => op)).toEqual([2, 3, 1]);
});

test.for([
  { parallelToolCalls: undefined, most: 4, ms: 30 },
  { parallelToolCalls: 1, most: 1, ms: 90 },
  { parallelToolCalls: 3, most: 3, ms: 30 },
  { parallelToolCalls: 100, most: 9, ms: 10 },
])('of nine calls at most $most run in parallel with parallelToolCalls $parallelToolCalls', async (limit) => {
  const { clock } = world();
  let running = 0;
  let most = 0;
  const work = tool('work', async () => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => clock.timer(10, resolve));
    running--;
    return 'worked';
  });
  const limits = limit.parallelToolCalls === undefined ? {} : { parallelToolCalls: limit.parallelToolCalls };
  const { outcome, requests } = await ask(agent('solo', { tools: [work], limits }), {
    clock,
    says: lines({ solo: [calls(...Array.from({ length: 9 }, () => 'work')), 'Done.'] }),
  });
  expect(most).toBe(limit.most);
  expect(outcome.spent.ms).toBe(limit.ms);
  expect(lastResults(requests).map(({ text }) => text)).toEqual(Array.from({ length: 9 }, () => 'worked'));
});

test('with parallelToolCalls 0, every call has a result or the definition is rejected', async () => {
  let asked;
  try {
    asked = agent('solo', { tools: [tool('echo', () => 'heard')], limits: { parallelToolCalls: 0 } });
  } catch (error) {
    expect(error).toMatchObject({ code: 'agent_invalid' });
    return;
  }
  const { requests } = await ask(asked, { says: lines({ solo: [call('echo'), 'Done.'] }) });
  const { called, results } = callsIn(requests.at(-1)!.options.prompt);
  expect(results).toHaveLength(called.length);
});

test('text is streamed while the model replies, and is the same text as in the outcome', async () => {
  const { clock } = world();
  const seen: { readonly text: string; readonly at: number }[] = [];
  const { outcome, events } = await ask(agent('solo'), {
    clock,
    says: [always({ pieces: ['One', ', two', ', three.'], pieceDelayMs: 100 })],
    onEvent: (event) => {
      if (event.type === 'text-delta') seen.push({ text: event.text, at: clock.now() - 1_000_000 });
    },
  });
  expect(seen).toEqual([
    { text: 'One', at: 0 },
    { text: ', two', at: 100 },
    { text: ', three.', at: 200 },
  ]);
  expect(outcome.output).toBe('One, two, three.');
  expect(streamed(events)).toBe(outcome.output);
});

test('a new attempt resets the streamed text, so that what follows is the answer', async () => {
  const { outcome, events } = await ask(agent('solo'), {
    says: [
      { times: 1, reply: { pieces: ['Half', ' a', ' thought', ' that', ' breaks'], fault: 'cut' } },
      always({ reasoning: 'hm', pieces: ['A whole', ' thought.'] }),
    ],
  });
  expect(ofType(events, 'text-reset')).toHaveLength(2);
  expect(ofType(events, 'text-delta')[0]).toMatchObject({ text: 'Half', agent: 'solo' });
  expect(ofType(events, 'reasoning-delta').map(({ text }) => text)).toEqual(['hm']);
  expect(streamed(events)).toBe('A whole thought.');
  expect(outcome.output).toBe('A whole thought.');
});

test('a run without a listener takes the same path and is recorded in the same way', async () => {
  const run = (listen: boolean) =>
    ask(agent('solo', { tools: [tool('echo', () => 'heard')] }), {
      listen,
      says: lines({ solo: [{ fault: 500 }, call('echo'), { fault: 'cut', text: 'Oh no' }, 'Done.'] }),
    });
  const [withListener, withoutListener] = [await run(true), await run(false)];
  expect(withoutListener.report).toEqual(withListener.report);
  expect(withoutListener.requests.map(({ text }) => text)).toEqual(withListener.requests.map(({ text }) => text));
  expect(withoutListener.events).toEqual([]);
  const durable = withListener.events.filter((event) => 'id' in event);
  expect(durable).toEqual(withListener.report.events);
});

/** The text since the last reset. */
const streamed = (events: readonly RunEvent[]): string => {
  const reset = events.findLastIndex(({ type }) => type === 'text-reset');
  return ofType(events.slice(reset), 'text-delta')
    .map(({ text }) => text)
    .join('');
};
