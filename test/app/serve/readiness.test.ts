// `/ready`: whether the server can take work. `/health` says only that the process answers.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '#base';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { ServerOptions } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { ReadinessCheck } from '#app/serve';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';

const [boss, ann] = ['boss'.padEnd(40, 'x'), 'ann'.padEnd(40, 'x')];
const tokens = [
  { name: 'boss', sha256: sha256(boss), operator: true },
  { name: 'ann', sha256: sha256(ann) },
];

const serve = async (options: ServerOptions = {}) => {
  const workspace = newTemporaryFolder();
  const held = Promise.withResolvers<string>();
  const model = rehearse([{ reply: { calls: [{ tool: 'hold', args: {} }] } }, { reply: 'Done.' }]);
  const hold = { name: 'hold', description: 'Waits.', inputSchema: { type: 'object' }, execute: () => held.promise };
  const agent = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    models: [model.model],
    tools: [hold],
  });
  const cloister = await openCloister({ workspace, agents: [agent] });
  const server = await openServer(cloister, { tokens, port: 0, ...options });
  const { url } = await server.listen();
  onTestFinished(async () => {
    held.resolve('');
    await server.stop(0);
    await cloister.close();
  });
  const look = async (path: string, token?: string) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(url + path, { headers });
    return [response.status, await response.json()];
  };
  const start = (): Promise<Response> =>
    fetch(`${url}/v1/lead`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'Go.', wait: false }),
    });
  return { workspace, cloister, server, look, start };
};

test('a server that can take work is ready, and a token changes nothing about it', async () => {
  const { look } = await serve();
  expect(await look('/ready')).toEqual([200, { status: 'ready' }]);
  expect(await look('/ready', ann)).toEqual([200, { status: 'ready' }]);
  expect(await look('/ready', boss)).toEqual([200, { status: 'ready', problems: [] }]);
});

test('a workspace that takes no writes is not ready; only the operator is told why, and the process is healthy', async () => {
  const { workspace, cloister, look } = await serve();
  await cloister.checkWritable();
  for (const name of ['cloister.db', 'cloister.db-wal', 'cloister.db-shm']) rmSync(join(workspace, name));
  for (const token of [undefined, ann]) expect(await look('/ready', token)).toEqual([503, { status: 'not ready' }]);
  expect(await look('/ready', boss)).toEqual([
    503,
    { status: 'not ready', problems: [expect.stringMatching(/^The workspace cannot be written to/u)] },
  ]);
  expect((await look('/health'))[0]).toBe(200);
});

test('a full queue is not ready, and a server that stops is not', async () => {
  const { look, start, server } = await serve({ slots: { running: 1, waiting: 0 } });
  expect((await start()).status).toBe(202);
  expect(await look('/ready', boss)).toEqual([
    503,
    { status: 'not ready', problems: ['the queue of requests is full'] },
  ]);
  void server.stop(1_000);
  expect(await look('/ready', boss)).toEqual([503, { status: 'not ready', problems: ['the server is stopping'] }]);
});

const checkWith = (checkWritable: () => Promise<void>) => {
  const clock = virtualClock();
  let looks = 0;
  const readiness = new ReadinessCheck({
    cloister: {
      checkWritable: () => {
        looks++;
        return checkWritable();
      },
    },
    slots: { isFull: false },
    clock,
  });
  return { clock, readiness, looks: () => looks };
};

test('however often it is asked, it looks once a second', async () => {
  const { clock, readiness, looks } = checkWith(async () => undefined);
  const asked = Array.from({ length: 100 }, () => readiness.problems());
  await clock.advance(50);
  expect(new Set((await Promise.all(asked)).flat()).size).toBe(0);
  expect(looks()).toBe(1);
  await clock.advance(1_000);
  void readiness.problems();
  expect(looks()).toBe(2);
});

test('after something has gone wrong it looks at once', async () => {
  const { readiness, looks } = checkWith(async () => undefined);
  void readiness.problems();
  void readiness.recheck();
  expect(looks()).toBe(2);
});

test('a store that does not answer counts as not ready after two seconds', async () => {
  const { clock, readiness } = checkWith(() => new Promise(() => undefined));
  const problems = readiness.problems();
  await clock.advance(2_000);
  expect(await problems).toEqual(['the workspace took no write within 2 s']);
});

test('what keeps it from taking work is told once, and when it is over, without being asked again', async () => {
  let isFull = true;
  const clock = virtualClock();
  const told: (readonly string[])[] = [];
  const readiness = new ReadinessCheck({
    cloister: {
      checkWritable: async () => {
        if (isFull) throw new Error('The disk is full.');
      },
    },
    slots: { isFull: false },
    clock,
    changed: (problems) => told.push(problems),
  });
  void readiness.problems();
  await clock.advance(20_000);
  expect(told).toEqual([['The disk is full.']]);
  expect(readiness.known).toEqual(['The disk is full.']);
  isFull = false;
  await clock.advance(6_000);
  expect(told).toEqual([['The disk is full.'], []]);
  expect(clock.waiting).toBe(0);
});
