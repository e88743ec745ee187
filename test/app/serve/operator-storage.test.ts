// What operators do over REST with the recorded runs of all callers, and that for anybody else there is no such thing.
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';
import { postRequest } from './local-requests.ts';

const serve = async () => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  const models = [rehearse([{ reply: 'Yes.' }]).model];
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models });
  const cloister = await openCloister({ workspace, agents: [agent] });
  const more: Readonly<Record<string, object>> = {
    ops: { operator: true },
    board: { operator: true, may: ['watch'] },
    eye: { may: ['watch'] },
  };
  const names = ['ann', 'bob', 'eye', ...Object.keys(more)];
  const tokens = [...new Set(names)].map((name) => ({ name, sha256: hashToken(name), ...more[name] }));
  const server = await openServer(cloister, { tokens, port: 0 });
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  const send = (as: string, method: string, path: string): Promise<Response> =>
    server.fetch(
      new Request(`http://127.0.0.1${path}`, { method, headers: { authorization: `Bearer ${as}`, host: '127.0.0.1' } }),
    );
  const start = async (as: string, conversation?: string): Promise<string> => {
    const body = { input: 'Go.', ...(conversation === undefined ? {} : { conversation }) };
    return ((await (await server.fetch(postRequest('/v1/lead', as, body))).json()) as { run: string }).run;
  };
  const json = async (response: Promise<Response>): Promise<any> => (await response).json();
  return { cloister, workspace, send, start, json };
};

// invariant: storage-of-operators
test('for anybody but operators these routes are not there, whatever run, caller or conversation is named', async () => {
  const { send, start } = await serve();
  const [own, other] = [await start('ann'), await start('bob')];
  const words = async (response: Promise<Response>): Promise<string> => {
    const { status } = await response;
    const { error } = (await (await response).json()) as { error: Record<string, unknown> };
    return JSON.stringify([status, { ...error, request: null, id: null }]);
  };
  const routes = (run: string, caller: string) =>
    [
      ['GET', `/v1/runs/${run}/export`],
      ['POST', `/v1/runs/${run}/archive`],
      ['POST', `/v1/runs/${run}/restore`],
      ['DELETE', `/v1/callers/${caller}`],
      ['DELETE', `/v1/callers/${caller}/conversations/lead/trip`],
    ] as const;
  for (const as of ['ann', 'eye'])
    for (const [run, caller] of [
      [own, 'ann'],
      [other, 'bob'],
      ['nobody', 'nobody'],
    ] as const)
      for (const [method, path] of routes(run, caller))
        expect(await words(send(as, method, path))).toBe(await words(send(as, method, '/v1/nothing/here')));
  expect((await send('ops', 'GET', '/v1/runs')).status).toBe(200);
});

test('an operator downloads a run whole, and only one that may act changes anything', async () => {
  const { cloister, send, start, json } = await serve();
  const run = await start('ann');
  const file = await send('ops', 'GET', `/v1/runs/${run}/export`);
  expect([file.status, file.headers.get('content-disposition')]).toEqual([
    200,
    expect.stringContaining(`${run}.cloister.gz`),
  ]);
  const bytes = Buffer.from(await file.arrayBuffer());
  expect(bytes.equals(Buffer.from(await cloister.storage.export(run)))).toBe(true);
  expect((await send('board', 'GET', `/v1/runs/${run}/export`)).status).toBe(200);
  expect((await send('board', 'DELETE', '/v1/callers/ann')).status).toBe(403);
  expect((await send('ops', 'GET', '/v1/runs/nobody/export')).status).toBe(404);
  expect(await json(send('ops', 'POST', `/v1/runs/${run}/archive?why=old`))).toMatchObject({ deleted: [run] });
  expect(await cloister.storage.tombstone(run)).toMatchObject({
    by: 'ops',
    why: 'old',
    archive: { file: `${run}.cloister.gz` },
  });
  expect((await send('ann', 'GET', `/v1/runs/${run}`)).status).toBe(404);
  expect(await json(send('ops', 'POST', `/v1/runs/${run}/restore`))).toEqual({ restored: run });
  expect((await send('ann', 'GET', `/v1/runs/${run}`)).status).toBe(200);
});

test('an operator forgets a caller, or one of its conversations, archives too; other callers keep all they have', async () => {
  const { cloister, send, start, json } = await serve();
  const [trip, tour, alone] = [await start('ann', 'trip'), await start('ann', 'tour'), await start('ann')];
  const other = await start('bob', 'trip');
  await cloister.storage.archive([alone]);
  const path = '/v1/callers/ann/conversations/lead/trip';
  expect(await json(send('ops', 'DELETE', `${path}?dryRun=true`))).toMatchObject({ deleted: [trip] });
  expect((await send('ann', 'GET', `/v1/runs/${trip}`)).status).toBe(200);
  expect(await json(send('ops', 'DELETE', path))).toMatchObject({ deleted: [trip] });
  const gone = await json(send('ops', 'DELETE', '/v1/callers/ann?why=asked'));
  expect(gone).toMatchObject({ archives: [`${alone}.cloister.gz`] });
  expect(gone.deleted.toSorted()).toEqual([tour, alone].toSorted());
  expect(await cloister.storage.tombstone(tour)).toMatchObject({ by: 'ops', why: 'asked' });
  expect((await cloister.runs()).map(({ run }) => run)).toEqual([other]);
  expect(await json(send('ops', 'DELETE', '/v1/callers/nobody'))).toMatchObject({ deleted: [], archives: [] });
});
