import { expect, test } from 'vitest';
import { parseStrictJson } from '#base';
import type { ServedSocket } from '#contracts';
import { fakeService, mcpApp } from './driver.ts';
import { call, initialize, request } from './messages.ts';

/** A socket whose client takes a text when the test says so. */
const open = async (fake = fakeService()) => {
  const { sockets } = await mcpApp(fake);
  const sent: { readonly text: string; readonly taken: () => void }[] = [];
  const seen = { closed: false };
  let hear: (text: string) => void = () => undefined;
  let leave: () => void = () => undefined;
  const socket: ServedSocket = {
    send: (text) => new Promise((taken) => sent.push({ text, taken })),
    close: () => {
      seen.closed = true;
      leave();
    },
    onMessage: (listener) => (hear = (text) => listener(parseStrictJson(text, 64))),
    onClose: (listener) => (leave = listener),
  };
  sockets[0]!.open(socket, { name: 'me' });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    fake,
    sent,
    seen,
    turn,
    hear: (message: unknown): void => hear(typeof message === 'string' ? message : JSON.stringify(message)),
    take: async (): Promise<any> => {
      while (sent.length === 0) await turn();
      const { text, taken } = sent.shift()!;
      taken();
      return JSON.parse(text);
    },
  };
};

test('the next text is sent only when the last one has been taken, whether it is an answer or a refusal', async () => {
  const { hear, sent, take, turn, seen } = await open(fakeService({ names: ['long'] }));
  hear(initialize());
  for (let id = 1; id <= 10; id++) hear(call(id, 'long'));
  hear('no JSON');
  const told = [];
  for (let text = 0; text < 12; text++) {
    await turn();
    expect(sent.length).toBeLessThanOrEqual(1);
    const { id, error } = await take();
    told.push(error?.code ?? id);
  }
  expect(new Set(told)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -32_700]));
  expect(seen.closed).toBe(false);
});

test('a client that does not read its refusals is disconnected, and its calls are cancelled', async () => {
  const fake = fakeService();
  const { hear, seen, sent, turn } = await open(fake);
  hear(initialize());
  hear(call(1, 'hang'));
  await fake.counts.waitFor('begin me');
  for (let time = 0; time < 64; time++) hear('no JSON');
  await turn();
  expect([seen.closed, sent.length]).toEqual([false, 1]);
  hear('no JSON');
  await fake.counts.waitFor('cancel me');
  expect([seen.closed, sent.length]).toEqual([true, 1]);
});

// invariant: mcp-requests-bounded
test('a client that does not read may have a bounded number of unanswered requests; further ones are refused', async () => {
  const { hear, take } = await open();
  for (let id = 0; id < 70; id++) hear(request(id, 'ping'));
  const told = [];
  for (let text = 0; text < 70; text++) told.push(await take());
  expect(told.filter(({ result }) => result !== undefined)).toHaveLength(64);
  expect(told.flatMap(({ id, error }) => (error === undefined ? [] : [id]))).toEqual([64, 65, 66, 67, 68, 69]);
});
