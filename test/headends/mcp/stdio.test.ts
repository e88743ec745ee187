import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { serveMcpStdio } from '#headends/mcp';
import { fakeService } from './driver.ts';
import type { FakeService } from './driver.ts';
import { call, initialize, request } from './messages.ts';

const me = { name: 'me' };

const serve = async (fake: FakeService = fakeService(), output = new PassThrough()) => {
  const input = new PassThrough();
  const served = await serveMcpStdio(fake.serving, me, { input, output });
  const write = (...messages: readonly unknown[]): void => {
    for (const message of messages) input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  };
  return { input, output, write, fake, ...served };
};

/** All messages of the server, once it has ended. */
const readMessages = async ({ output, ended }: Awaited<ReturnType<typeof serve>>): Promise<any[]> => {
  await ended;
  output.end();
  return (await text(output))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
};

test('requests sent right before the end of the input are answered', async () => {
  const server = await serve();
  server.write(initialize(), { jsonrpc: '2.0', method: 'notifications/initialized' }, request(1, 'tools/list'));
  server.input.end();
  expect(await readMessages(server)).toMatchObject([
    { id: 0, result: { serverInfo: { name: 'cloister', version: '0' } } },
    { id: 1, result: { tools: expect.any(Array) } },
  ]);
});

test('the end of the input cancels running calls', async () => {
  const server = await serve();
  server.write(initialize(), call(1, 'hang'));
  await server.fake.counts.waitFor('begin me');
  server.input.end();
  expect(await readMessages(server)).toMatchObject([{ id: 0 }]);
  await server.fake.counts.waitFor('cancel me');
});

test('closing it cancels running calls and destroys its input', async () => {
  const server = await serve();
  server.write(initialize(), call(1, 'hang'));
  await server.fake.counts.waitFor('begin me');
  await server.close();
  await server.ended;
  await server.fake.counts.waitFor('cancel me');
  expect(server.input.destroyed).toBe(true);
});

test.each(['destroy', 'error'])('it ends when its output is gone: %s', async (how) => {
  const server = await serve();
  server.write(initialize(), call(1, 'hang'));
  await server.fake.counts.waitFor('begin me');
  server.output.destroy(how === 'error' ? new Error('EPIPE') : undefined);
  await server.ended;
  expect(await server.fake.counts.waitFor('cancel me')).toBe(1);
});

test.each([
  ['no JSON', '{', 'Not valid JSON.'],
  ['a key twice', '{"id":1,"id":2}', 'Duplicate key "id".'],
  ['too deep', `${'['.repeat(70)}${']'.repeat(70)}`, 'Nested deeper than 64 levels.'],
  ['too long', `"${'x'.repeat(4 * 1024 * 1024)}"`, 'The line is longer than 4194304 bytes.'],
])('a line that is %s is refused, and the next one is served', async (_what, line, message) => {
  const server = await serve();
  server.write(line, '', ' ', request(1, 'ping'));
  server.input.end();
  expect(await readMessages(server)).toMatchObject([
    { id: null, error: { code: -32_700, message } },
    { id: 1, result: {} },
  ]);
});

test('a line that is not UTF-8 is refused, and the next one is served', async () => {
  const server = await serve();
  server.input.write(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]));
  server.write(request(1, 'ping'));
  server.input.end();
  expect(await readMessages(server)).toMatchObject([
    { error: { message: 'The line is not valid UTF-8.' } },
    { id: 1, result: {} },
  ]);
});

test('a message may arrive in chunks, split anywhere', async () => {
  const server = await serve();
  for (const byte of Buffer.from(`${JSON.stringify(request('ä€', 'ping'))}\r\n`))
    server.input.write(Buffer.from([byte]));
  server.input.end();
  expect(await readMessages(server)).toMatchObject([{ id: 'ä€', result: {} }]);
});

// invariant: stdio-reads-after-refusals
test('a client that does not read is not read from, and loses nothing', async () => {
  const output = new PassThrough({ highWaterMark: 64 });
  const server = await serve(fakeService(), output);
  const full = 2_000;
  let asked = 0;
  // It stops reading when neither answers nor refusals are taken.
  while (asked < full * 100 && server.input.writableLength < 100_000) {
    server.write(request(asked++, 'ping'));
    if (asked % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(asked).toBeLessThan(full * 100);
  const lines = text(output);
  server.input.end();
  await server.ended;
  output.end();
  const ids = new Set((await lines).split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).id])));
  expect(ids.size).toBe(asked);
});
