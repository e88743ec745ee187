// A run whose client has tools, with a scripted session.
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { questionId } from '#contracts';
import type { RunEvent, RunOutcome, RunSession, WaitingCall } from '#contracts';
import { ClientRun } from '../../../src/app/serve/client-run.ts';
import { turn } from './client-driver.ts';

const run = 'r' as RunSession['run'];
const options = { answerOnly: false, activity: false };
const call = (frame: number): WaitingCall => ({ id: questionId(run, frame), name: 'one', args: { frame }, sha256: '' });
const asked = (frame: number): RunEvent =>
  ({ type: 'question', why: 'client', cell: 'root', question: questionId(run, frame) }) as RunEvent;
const spent = (inputTokens: number): RunEvent =>
  ({
    type: 'model-end',
    cell: 'root',
    inputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
  }) as RunEvent;

/** `push` adds an event; `waiting`: the calls that wait now. */
const open = () => {
  const ended = Promise.withResolvers<RunOutcome>();
  const events: RunEvent[] = [];
  const state = { waiting: [] as readonly WaitingCall[], isOver: false };
  let wake = (): void => undefined;
  const finish = (): void => {
    state.isOver = true;
    wake();
  };
  ended.promise.then(finish, finish);
  const session = {
    run,
    outcome: ended.promise,
    clientCalls: async () => state.waiting,
    [Symbol.asyncIterator]: () => ({
      next: async (): Promise<IteratorResult<RunEvent>> => {
        while (events.length === 0 && !state.isOver) await new Promise<void>((resolve) => (wake = resolve));
        const value = events.shift();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
      return: async (): Promise<IteratorResult<RunEvent>> => (finish(), { done: true, value: undefined }),
    }),
  } as unknown as RunSession;
  const push = (...more: readonly RunEvent[]): void => {
    events.push(...more);
    wake();
  };
  const client = new ClientRun(session);
  const left: string[] = [];
  const serve = (name: string, given: { after?: number; oneCall?: boolean } = {}, signal?: AbortSignal) =>
    client.serveRequest(
      options,
      {
        oneCall: false,
        after: -1,
        waiting: state.waiting,
        end: ended.promise,
        onDisconnect: () => void left.push(name),
        ...given,
      },
      signal,
    );
  return { client, serve, push, ended, state, left };
};

const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false;
  void promise.then(() => (settled = true));
  for (let count = 0; count < 5; count++) await turn();
  return settled;
};

const ids = (pause: { readonly calls: readonly { readonly id: string }[] } | null): readonly string[] | null =>
  pause === null ? null : pause.calls.map(({ id }) => id);

// invariant: request-answered-when-client-is-asked
test('a request is answered with all calls that wait, once the events before them were read', async () => {
  const { client, serve, push, state } = open();
  const pause = serve('first').pause();
  push(spent(7));
  expect(await isSettled(pause)).toBe(false);
  state.waiting = [call(3), call(4)];
  push(asked(3));
  expect([await isSettled(pause), client.isAnswering]).toEqual([false, true]);
  push(asked(4));
  expect(ids(await pause)).toEqual([call(3).id, call(4).id]);
  expect([(await pause)!.spent.inputTokens, client.isAnswering]).toEqual([7, false]);
  // One result came: the other call is what the client is asked for next, at once.
  state.waiting = [call(4)];
  expect(ids(await serve('second', { after: 3 }).pause())).toEqual([call(4).id]);
});

test('a client that takes one call at a time gets one, also with later requests', async () => {
  const { serve, push, state } = open();
  state.waiting = [call(3), call(4)];
  push(asked(3), asked(4));
  expect(ids(await serve('first', { oneCall: true }).pause())).toEqual([call(3).id]);
  expect(ids(await serve('second').pause())).toEqual([call(3).id]);
});

test('what another process has reported is no part of an answer', async () => {
  const { serve, push, state, ended } = open();
  push(spent(5), asked(3), spent(6));
  const part = serve('first', { after: 3 });
  const pause = part.pause();
  state.waiting = [call(9)];
  push(asked(9));
  expect((await pause)!.spent.inputTokens).toBe(6);
  state.waiting = [];
  const last = serve('second', { after: 9 });
  ended.resolve({ output: 'Done.', spent: { inputTokens: 20 } } as RunOutcome);
  expect([await last.pause(), (await last.outcome).spent.inputTokens]).toEqual([null, 9]);
});

test('a request whose run cannot be recorded, or is left to be resumed, ends with that', async () => {
  const { client, serve, ended } = open();
  const part = serve('first');
  const pause = part.pause();
  ended.reject(new CloisterError('store_failed'));
  await expect(pause).rejects.toMatchObject({ code: 'store_failed' });
  await expect(part.outcome).rejects.toMatchObject({ code: 'store_failed' });
  expect(client.isAnswering).toBe(false);
});

// invariant: disconnect-ends-run
test('a disconnected client is noticed until its next request arrives or the run is over', async () => {
  const { serve, push, state, ended, left } = open();
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  state.waiting = [call(3)];
  push(asked(3));
  await serve('first', {}, first.signal).pause();
  first.abort();
  expect(left).toEqual(['first']);
  serve('second', { after: 3 }, second.signal);
  serve('third', { after: 3 }, third.signal);
  second.abort();
  expect(left).toEqual(['first']);
  ended.resolve({ output: 'Done.', spent: {} } as RunOutcome);
  await turn();
  third.abort();
  expect(left).toEqual(['first']);
});
