import { APICallError } from '@ai-sdk/provider';
import { describe, expect, test, vi } from 'vitest';
import { rehearse, virtualClock } from '#testkit';
import type { ScriptedReply } from '#testkit';
import { askFor, deltasOf, failureOf, readParts, textOf } from './driver.ts';

const faulty = (reply: ScriptedReply) => rehearse([{ reply }]);

describe('a fault', () => {
  // invariant: rehearsal-real-errors
  test.each([
    [400, false],
    [401, false],
    [408, true],
    [429, true],
    [500, true],
    [503, true],
  ])('of status %i rejects as a provider does, retryable: %s', async (status, retryable) => {
    for (const ask of ['doStream', 'doGenerate'] as const) {
      const error = await failureOf(faulty({ fault: status })[ask](askFor()));
      expect(APICallError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ statusCode: status, isRetryable: retryable, responseHeaders: {} });
    }
  });

  test('sets both retry headers', async () => {
    const error = await failureOf(faulty({ fault: 429, retryAfterMs: 1500 }).doStream(askFor()));
    expect(error.responseHeaders).toEqual({ 'retry-after-ms': '1500', 'retry-after': '2' });
  });

  test('of the network has no status and is retryable', async () => {
    const error = await failureOf(faulty({ fault: 'network' }).doStream(askFor()));
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error.statusCode).toBeUndefined();
    expect(error.isRetryable).toBe(true);
  });

  test('with `times: 1` is followed by the next line', async () => {
    const model = rehearse([{ times: 1, reply: { fault: 500 } }, { reply: 'better' }]);
    await failureOf(model.doStream(askFor()));
    expect(await textOf(model, askFor())).toBe('better');
  });

  test('`cut` breaks the stream after some pieces, without a finish', async () => {
    const { parts, broke } = await readParts(faulty({ fault: 'cut', pieces: ['a', 'b', 'c', 'd'] }), askFor());
    expect(deltasOf(parts)).toEqual(['a', 'b']);
    expect(parts.at(-1)?.type).toBe('text-delta');
    expect(broke).toBeInstanceOf(TypeError);
    expect(await failureOf(faulty({ fault: 'cut', text: 'a b' }).doGenerate(askFor()))).toMatchObject({
      isRetryable: true,
    });
  });

  test('`cut` in a tool call leaves its input incomplete', async () => {
    const { parts } = await readParts(faulty({ fault: 'cut', calls: [{ tool: 't', args: { a: 'long' } }] }), askFor());
    expect(parts.map((part) => part.type)).toEqual([
      'stream-start',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-delta',
    ]);
  });

  test('`end` closes the stream without a finish or an error', async () => {
    const { parts, broke } = await readParts(faulty({ fault: 'end', pieces: ['a', 'b'] }), askFor());
    expect([deltasOf(parts), parts.at(-1)?.type, broke]).toEqual([['a'], 'text-delta', null]);
  });

  test('`error` is a part in the stream', async () => {
    const { parts } = await readParts(faulty({ fault: 'error', pieces: ['a', 'b'] }), askFor());
    expect(parts.slice(-2)).toMatchObject([{ type: 'error' }, { type: 'finish', finishReason: { unified: 'error' } }]);
    expect(await failureOf(faulty({ fault: 'error' }).doGenerate(askFor()))).toMatchObject({ statusCode: 529 });
  });

  test.each([{ calls: [{ tool: 'find', args: { a: [1] } }] }, { calls: [{ tool: 'find' }] }, {}])(
    '`malformed` makes calls whose input is not JSON',
    async (reply) => {
      const { parts } = await readParts(faulty({ fault: 'malformed', ...reply }), askFor({ tools: ['find'] }));
      const call = parts.find((part) => part.type === 'tool-call');
      expect(call?.toolName).toBe('find');
      expect(() => JSON.parse(call?.input ?? '{}')).toThrow(SyntaxError);
      expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls' } });
    },
  );

  test('`empty` finishes without content', async () => {
    const { parts } = await readParts(faulty({ fault: 'empty', text: 'not said' }), askFor());
    expect(parts.map((part) => part.type)).toEqual(['stream-start', 'finish']);
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'stop' }, usage: { outputTokens: { total: 0 } } });
  });
});

describe('an abort', () => {
  const reason = new Error('enough');

  test('before the request rejects with its reason and uses up no line', async () => {
    const model = faulty({ text: 'a' });
    const error = await failureOf(model.doStream({ ...askFor(), abortSignal: AbortSignal.abort(reason) }));
    expect([error, model.unused().length]).toEqual([reason, 1]);
  });

  // invariant: stream-abort-ends-all
  test.each<[string, ScriptedReply, 'doStream' | 'doGenerate']>([
    ['a time-out', { fault: 'timeout' }, 'doStream'],
    ['a time-out, whole', { fault: 'timeout' }, 'doGenerate'],
    ['the delay of a status', { fault: 500, delayMs: 100 }, 'doStream'],
    ['the delay of a whole answer', { text: 'a', delayMs: 100 }, 'doGenerate'],
  ])('during %s rejects with its reason', async (_, reply, ask) => {
    const clock = virtualClock();
    const abort = new AbortController();
    const remove = vi.spyOn(abort.signal, 'removeEventListener');
    const model = rehearse([{ reply }], { clock });
    const failure = failureOf(model[ask]({ ...askFor(), abortSignal: abort.signal }));
    await clock.advance(50);
    abort.abort(reason);
    expect(await failure).toBe(reason);
    expect([clock.waiting, remove.mock.calls.length]).toEqual([0, 1]);
  });

  test.each<[string, ScriptedReply]>([
    ['before the first piece', { pieces: ['a', 'b'], delayMs: 100 }],
    ['between pieces', { pieces: ['a', 'b'], pieceDelayMs: 100 }],
  ])('%s breaks the stream with its reason', async (_, reply) => {
    const clock = virtualClock();
    const abort = new AbortController();
    const reading = readParts(rehearse([{ reply }], { clock }), { ...askFor(), abortSignal: abort.signal });
    await clock.advance(50);
    abort.abort(reason);
    const { parts, broke } = await reading;
    expect([broke, clock.waiting, parts[0]?.type]).toEqual([reason, 0, 'stream-start']);
    expect(deltasOf(parts)).not.toContain('b');
  });

  test.each([0, 100])('right after the request rejects with its reason, delay %i', async (delayMs) => {
    const clock = virtualClock();
    const abort = new AbortController();
    const answer = rehearse([{ reply: { text: 'a', delayMs } }], { clock }).doGenerate({
      ...askFor(),
      abortSignal: abort.signal,
    });
    abort.abort(reason);
    expect(await failureOf(answer)).toBe(reason);
    expect(clock.waiting).toBe(0);
  });

  test('between two reads breaks a stream without delays', async () => {
    const abort = new AbortController();
    const { stream } = await faulty({ text: 'a b c' }).doStream({ ...askFor(), abortSignal: abort.signal });
    const reader = stream.getReader();
    await reader.read();
    abort.abort(reason);
    expect(await failureOf(reader.read())).toBe(reason);
  });
});

describe('delays', () => {
  test('apply before the first piece and between pieces, by the given clock', async () => {
    const clock = virtualClock(1000);
    const model = rehearse([{ reply: { pieces: ['a', 'b', 'c'], delayMs: 50, pieceDelayMs: 10 } }], { clock });
    const { stream } = await model.doStream(askFor());
    const seen: [string, number][] = [];
    const reading = (async () => {
      for await (const part of stream) if (part.type === 'text-delta') seen.push([part.delta, clock.now()]);
    })();
    await clock.runAll();
    await reading;
    expect(seen).toEqual([
      ['a', 1050],
      ['b', 1060],
      ['c', 1070],
    ]);
    const whole = model.doGenerate(askFor());
    await clock.runAll();
    await whole;
    expect(clock.now()).toBe(1140);
  });

  // invariant: stream-no-idle-timer
  test('are not set on the clock unless requested', async () => {
    const timer = vi.fn<() => () => void>();
    const model = rehearse([{ reply: { text: 'a b', calls: [{ tool: 't' }] } }], { clock: { timer } });
    await readParts(model, askFor());
    await model.doGenerate(askFor());
    expect(timer).not.toHaveBeenCalled();
  });

  test('use real time by default', async () => {
    expect(await textOf(faulty({ text: 'a', delayMs: 1 }), askFor())).toBe('a');
  });

  test('are cancelled when the reader stops', async () => {
    const clock = virtualClock();
    const { stream } = await rehearse([{ reply: { text: 'a', delayMs: 100 } }], { clock }).doStream(askFor());
    const reader = stream.getReader();
    await reader.read();
    const next = reader.read();
    await clock.advance(10);
    expect(clock.waiting).toBe(1);
    await reader.cancel();
    expect([clock.waiting, (await next).done]).toEqual([0, true]);
  });
});
