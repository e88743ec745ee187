// One queue for all calls of a process: channels do not hold each other up, and nothing unsafe is repeated.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { virtualClock } from '#testkit';
import { CallQueue } from '#testing/headends/slack';
import type { QueuedCall, SlackReply } from '#testing/headends/slack';
import { testRuns } from '../../test-seed.ts';

const ok: SlackReply = { kind: 'ok', body: {} };
const limited = (retryAfterMs: number): SlackReply => ({ kind: 'limited', retryAfterMs });
const refused = (error: string): SlackReply => ({ kind: 'refused', error });
const unknown: SlackReply = { kind: 'unknown' };

/** `replies`: of each call in turn, then `ok`; by name of the call. Each takes `latencyMs`. */
const open = (replies: Readonly<Record<string, readonly SlackReply[]>> = {}, latencyMs = 100) => {
  const clock = virtualClock();
  const left = new Map(Object.entries(replies).map(([name, list]) => [name, [...list]]));
  const sent: string[] = [];
  const inFlight = new Map<string, number>();
  let together = 0;
  const queue = new CallQueue({
    clock,
    api: {
      async call(method, args) {
        const { name, lane } = args as { readonly name: string; readonly lane: string };
        sent.push(`${clock.now()} ${name}`);
        inFlight.set(lane, (inFlight.get(lane) ?? 0) + 1);
        together = Math.max(together, ...inFlight.values());
        await new Promise<void>((resolve) => void clock.timer(latencyMs, resolve));
        inFlight.set(lane, inFlight.get(lane)! - 1);
        return left.get(name)?.shift() ?? left.get(method)?.shift() ?? ok;
      },
      upload: () => Promise.resolve(ok),
    },
  });
  const call = (name: string, more: Partial<QueuedCall> = {}): Promise<SlackReply> => {
    const lane = more.lane ?? 'C1';
    return queue.call({
      method: 'chat.update',
      priority: 'text',
      isRepeatable: true,
      ...more,
      lane,
      args: { name, lane },
    });
  };
  return { clock, queue, call, sent, together: () => together };
};

// invariant: lane-one-call
test('a channel has one call in flight, and presses of people go first', async () => {
  const { clock, call, sent } = open();
  for (const name of ['a', 'b', 'c']) void call(name);
  void call('stop', { priority: 'press' });
  void call('other', { lane: 'C2' });
  await clock.runAll();
  expect(sent).toEqual(['0 a', '0 other', '100 stop', '200 b', '300 c']);
});

// invariant: limit-own-lane
test('a call that was limited pauses its channel and no other; presses still go first afterwards', async () => {
  const { clock, call, sent } = open({ a: [limited(30_000)] });
  const a = call('a');
  void call('b');
  await clock.advance(1_000);
  void call('other', { lane: 'C2' });
  void call('stop', { priority: 'press' });
  await clock.runAll();
  expect(await a).toEqual(ok);
  expect(sent).toEqual(['0 a', '1000 other', '30100 stop', '30200 a', '30300 b']);
});

test('a method that is limited in two channels is paused in all of them, and other methods are not', async () => {
  const { clock, call, sent } = open({ a: [limited(30_000)], b: [limited(60_000)] });
  void call('a', { lane: 'C1' });
  void call('b', { lane: 'C2' });
  await clock.advance(200);
  void call('c', { lane: 'C3' });
  void call('d', { lane: 'C3', method: 'chat.postMessage' });
  await clock.runAll();
  expect(sent.toSorted()).toEqual(['0 a', '0 b', '200 d', '60100 a', '60100 b', '60100 c']);
});

test.each<[string, SlackReply, boolean, SlackReply, number]>([
  ['limited', limited(0), false, ok, 2],
  ['temporarily unavailable', refused('service_unavailable'), false, ok, 2],
  ['truncated', refused('request_timeout'), false, ok, 2],
  ['refused for good', refused('channel_not_found'), true, refused('channel_not_found'), 1],
  ['without answer, repeatable', unknown, true, ok, 2],
  ['without answer, not repeatable', unknown, false, unknown, 1],
  ['an internal error, repeatable', refused('internal_error'), true, ok, 2],
  ['an internal error, not repeatable: it may have happened', refused('fatal_error'), false, unknown, 1],
])('a call that was %s', async (_, reply, isRepeatable, result, attempts) => {
  const { clock, call, sent } = open({ a: [reply] });
  const a = call('a', { isRepeatable });
  await clock.runAll();
  expect(await a).toEqual(result);
  expect(sent).toHaveLength(attempts);
});

test('retries back off, let other calls pass, and end with the patience of the caller', async () => {
  const { clock, call, sent } = open({ a: Array.from({ length: 50 }, () => unknown) }, 0);
  const a = call('a', { patienceMs: 60_000 });
  await clock.advance(500);
  void call('b');
  await clock.runAll();
  expect(await a).toEqual(unknown);
  expect(sent).toEqual(['0 a', '500 b', '1000 a', '3000 a', '7000 a', '15000 a', '31000 a']);
});

test('an outage of five minutes loses no call', async () => {
  const { clock, queue, call } = open({
    'chat.update': Array.from({ length: 200 }, () => refused('service_unavailable')),
  });
  const calls = Array.from({ length: 20 }, (_, index) => call(`n${index}`, { lane: `C${index % 3}` }));
  await clock.runAll();
  expect(new Set((await Promise.all(calls)).map(({ kind }) => kind))).toEqual(new Set(['ok']));
  queue.close();
  expect(clock.waiting).toBe(0);
});

test('a queue that was closed sends nothing more', async () => {
  const { clock, queue, call, sent } = open();
  const [first, second] = [call('a'), call('b')];
  queue.close();
  expect(await second).toMatchObject({ kind: 'limited' });
  await clock.runAll();
  expect(await first).toEqual(ok);
  expect(await call('c')).toMatchObject({ kind: 'limited' });
  expect(sent).toEqual(['0 a']);
});

// invariants: lane-one-call, repeat-only-safe
test('every call ends, one at a time in its channel, and an unsafe one is not repeated after it may have happened', async () => {
  const reply = fc.constantFrom(
    ok,
    limited(0),
    limited(5_000),
    refused('service_unavailable'),
    refused('internal_error'),
    unknown,
  );
  const one = fc.record({
    lane: fc.constantFrom('C1', 'C2', 'C3'),
    method: fc.constantFrom('chat.update', 'chat.postMessage'),
    priority: fc.constantFrom('press' as const, 'text' as const),
    isRepeatable: fc.boolean(),
    replies: fc.array(reply, { maxLength: 4 }),
    afterMs: fc.nat(3_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(one, { maxLength: 12 }), async (calls) => {
      const { clock, call, sent, together } = open(
        Object.fromEntries(calls.map(({ replies }, index) => [`n${index}`, replies])),
      );
      const results: Promise<SlackReply>[] = [];
      for (const [index, { replies: _, afterMs, ...more }] of calls.entries()) {
        await clock.advance(afterMs);
        results.push(call(`n${index}`, more));
      }
      await clock.runAll();
      expect(together()).toBeLessThanOrEqual(1);
      for (const [index, result] of (await Promise.all(results)).entries()) {
        const { replies, isRepeatable } = calls[index]!;
        const attempts = sent.filter((line) => line.endsWith(` n${index}`)).length;
        const unsafe = replies.findIndex(
          (given) => given.kind === 'unknown' || (given.kind === 'refused' && given.error === 'internal_error'),
        );
        const first = replies.findIndex(({ kind }) => kind === 'ok');
        const isCut = !isRepeatable && unsafe >= 0 && (first < 0 || unsafe < first);
        expect([attempts, result.kind]).toEqual(
          isCut ? [unsafe + 1, 'unknown'] : [(first < 0 ? replies.length : first) + 1, 'ok'],
        );
      }
    }),
    { numRuns: testRuns(1_500) },
  );
});
