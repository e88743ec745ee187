// A run whose client has tools, with a scripted session.
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { RunEvent, RunOutcome, RunSession, ToolDefinition } from '#contracts';
import { ClientTools } from '../../../src/app/serve/client-tools.ts';
import { turn } from './client-driver.ts';

const me = { name: 'me' };
const schema = { description: 'd', inputSchema: { type: 'object' } };
const options = { answerOnly: false, activity: false };

const open = () => {
  const tools = new ClientTools(1_000);
  const client = tools.open(me, [
    { name: 'one', ...schema },
    { name: 'two', ...schema },
  ]);
  const ended = Promise.withResolvers<RunOutcome>();
  const happened: string[] = [];
  const session = {
    outcome: ended.promise,
    cancel: () => void happened.push('cancel'),
    // As if each operation up to the hundredth had begun.
    [Symbol.asyncIterator]: async function* () {
      yield { type: 'tool-start', cell: 'root', op: 100 } as RunEvent;
      await ended.promise;
    },
  } as unknown as RunSession;
  client.attach(session);
  const around = { onDisconnect: () => void happened.push('gone'), onWait: () => void happened.push('waits') };
  const first = new AbortController();
  const part = client.serveRequest(options, around, first.signal);
  const call = ({ execute }: ToolDefinition, op: number): Promise<unknown> =>
    Promise.resolve(execute({ op }, { signal: new AbortController().signal, key: `root/${op}` }));
  return { tools, client, part, call, ended, happened, around, first };
};

/** Whether the answer has arrived by now. */
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false;
  void promise.then(() => (settled = true));
  for (let count = 0; count < 5; count++) await turn();
  return settled;
};

// invariant: request-answered-when-client-is-asked
test('a request is answered once all started calls wait for the client, not before', async () => {
  const { tools, client, part, call } = open();
  const [one, two] = client.definitions as [ToolDefinition, ToolDefinition];
  for (const { outside } of [one, two, two]) outside!.called();
  const pause = part.pause();
  const results = [call(one, 1), call(two, 2)];
  expect(await isSettled(pause)).toBe(false);
  results.push(call(two, 3));
  const { calls } = (await pause)!;
  expect(calls.map(({ name, args }) => [name, args])).toEqual([
    ['one', { op: 1 }],
    ['two', { op: 2 }],
    ['two', { op: 3 }],
  ]);
  const delivered = calls.map(({ id }, index) => ({ call: id, text: `result ${index}`, failed: index === 1 }));
  expect(tools.findRun(me, delivered)).toBe(client);
  tools.deliver(me, delivered);
  expect(await Promise.allSettled(results)).toMatchObject([
    { value: 'result 0' },
    { reason: { code: 'tool_failed', failure: { detail: 'result 1' } } },
    { value: 'result 2' },
  ]);
});

test('when a run is over, however it ended, it waits for no results', async () => {
  const { tools, client, part, call, ended } = open();
  const [one] = client.definitions as [ToolDefinition];
  one.outside!.called();
  void call(one, 1);
  const [waiting] = (await part.pause())!.calls;
  expect(tools.awaits(me, [waiting!.id])).toBe(true);
  ended.reject(new CloisterError('store_failed'));
  await turn();
  expect(tools.awaits(me, [waiting!.id])).toBe(false);
  expect(() => tools.deliver(me, [{ call: waiting!.id, text: '', failed: false }])).toThrow(
    expect.objectContaining({ code: 'request_invalid' }),
  );
});

test('a request whose run ends has no calls, and a run that was stopped before it began has nothing to end', async () => {
  const { tools, part, ended, happened } = open();
  tools.stop();
  expect(happened).toEqual([]);
  ended.resolve({ output: 'Done.', spent: { inputTokens: 3 } } as RunOutcome);
  expect(await part.pause()).toBeNull();
  tools.open(me, [{ name: 'one', ...schema }]);
  expect(() => tools.stop()).not.toThrow();
});

test('a disconnected client is noticed until its next request arrives or the run is over', async () => {
  const { tools, client, part, call, happened, around, first, ended } = open();
  const [one] = client.definitions as [ToolDefinition];
  one.outside!.called();
  void call(one, 1);
  const { calls } = (await part.pause())!;
  expect([client.isWaiting, happened]).toEqual([true, ['waits']]);
  first.abort();
  expect(happened).toEqual(['waits', 'gone']);

  tools.deliver(me, [{ call: calls[0]!.id, text: '', failed: false }]);
  const [second, third] = [new AbortController(), new AbortController()];
  client.serveRequest(options, around, second.signal);
  client.serveRequest(options, around, third.signal);
  second.abort();
  expect([client.isWaiting, happened.length]).toEqual([false, 2]);
  ended.resolve({ output: 'Done.', spent: {} } as RunOutcome);
  await turn();
  third.abort();
  expect(happened).toHaveLength(2);
});
