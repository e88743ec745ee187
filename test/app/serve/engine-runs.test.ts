// A server that hands its runs to workers: whoever asks it sees the same as if they worked in it.
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { StoreEngine } from '#adapters/engines';
import { sha256 } from '#base';
import { defineAgent, openCloister } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from '#testkit';
import { buildServer } from '../../../src/app/build-server.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';

const token = 'ann'.padEnd(40, 'x');
const soon = { timeout: 20_000, interval: 20 };

const agents = (): readonly Agent[] => [
  defineAgent({
    name: 'clerk',
    description: 'Works.',
    prompt: 'Work.',
    models: [rehearse([{ reply: 'Done.' }]).model],
  }),
  defineAgent({
    name: 'asker',
    description: 'Asks first.',
    prompt: 'Work.',
    models: [
      rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'note', args: {} }] } }, { reply: 'Sent.' }]).model,
    ],
    tools: [
      {
        name: 'note',
        description: 'Notes.',
        inputSchema: { type: 'object', properties: {} },
        approve: true,
        execute: () => 'Noted.',
      },
    ],
  }),
];

const openPair = async () => {
  const workspace = newTemporaryFolder();
  const [front, back] = [
    await openCloister({ workspace, agents: agents() }),
    await openCloister({ workspace, agents: agents() }),
  ];
  const engineOf = ({ driver }: Pick<typeof front, 'driver'>) => new StoreEngine({ driver, clock: systemClock });
  const driven: string[] = [];
  const startWorker = () =>
    engineOf(back).work({
      agents: ['clerk', 'asker'],
      slots: 8,
      drive: async (call) => {
        const end = await back.driver.drive(call, { restAfterMs: 20 });
        driven.push(end.end);
        return end;
      },
    });
  const tokens = [{ name: 'ann', sha256: sha256(token), budget: { tokens: 100_000 } }];
  const server = await buildServer(front, { tokens, port: 0 }, { engine: engineOf(front) });
  const { url } = await server.listen();
  const stops: (() => Promise<void>)[] = [];
  onTestFinished(async () => {
    await server.stop(0);
    for (const stop of stops) await stop();
    await front.close();
    await back.close();
    rmSync(workspace, { recursive: true, force: true });
  });
  const ask = async (path: string, json?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    return { status: response.status, body: (await response.json()) as any };
  };
  const work = async (): Promise<void> => void stops.push(await startWorker());
  return { front, ask, work, driven };
};

// invariant: engine-admits-here, engine-start-told
test('a request is answered by a run that a worker drives, once for each key', async () => {
  const { ask, work, driven, front } = await openPair();
  const asked = [1, 2].map(() => ask('/v1/clerk', { input: 'Go.' }, { 'idempotency-key': 'k1' }));
  await work();
  const answers = await Promise.all([...asked, ask('/v1/clerk', { input: 'Go.', conversation: 'c1' })]);
  expect(answers.map(({ status, body }) => [status, body.output])).toEqual([
    [200, 'Done.'],
    [200, 'Done.'],
    [200, 'Done.'],
  ]);
  expect(answers[0].body.run).toBe(answers[1]?.body.run);
  expect(await front.runs({ caller: 'ann' })).toHaveLength(2);
  await expect.poll(() => driven, soon).toEqual(['ended', 'ended']);
});

test('a question is answered through the server while its run rests, and a worker continues it', async () => {
  const { ask, work, driven, front } = await openPair();
  await work();
  const { run } = (await ask('/v1/asker', { input: 'Go.', wait: false })).body;
  await expect.poll(() => driven, soon).toEqual(['rests']);
  const [question] = (await ask('/v1/questions')).body.questions;
  const answered = await ask(`/v1/questions/${question.id}`, { allow: true, sha256: question.sha256 });
  expect(answered.status).toBe(202);
  await expect.poll(async () => (await front.runs({ run }))[0]?.status, soon).toBe('completed');
  expect((await front.audit(run)).problems).toEqual([]);
  expect((await ask(`/v1/runs/${run}`)).body.output).toBe('Sent.');
});
