// Callers delete their own runs over REST, and learn nothing of the runs and deletions of others.
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '#base';
import { defineAgent, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';

const names = ['ann', 'bob', 'ops', 'eye', 'cap'] as const;
const secretOf = (name: string): string => name.padEnd(40, 'x');

/** Its runs count for a month. */
const cap = { allowance: { tokens: 100_000, per: 'month' }, budget: { tokens: 5_000 } };

const serve = async () => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  const model = rehearse([{ reply: 'Yes.' }]);
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: [model.model] });
  const cloister = await openCloister({ workspace, agents: [agent] });
  const more = { ops: { operator: true }, eye: { may: ['watch'] }, cap } as Readonly<Record<string, object>>;
  const tokens = names.map((name) => ({ name, sha256: sha256(secretOf(name)), ...more[name] }));
  const server = await openServer(cloister, { tokens, port: 0, resumeInterrupted: false });
  const { url } = await server.listen();
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  const send = async (as: string, method: string, path: string, json?: unknown, headers: object = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secretOf(as)}`, 'content-type': 'application/json', ...headers },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const body: any = await response.json();
    return { status: response.status, body };
  };
  const start = async (as: string, json: object, headers?: object): Promise<string> =>
    (await send(as, 'POST', '/v1/lead', json, headers)).body.run;
  return { cloister, model, send, start };
};

// invariants: deletion-by-caller, deletion-of-caller
test('a caller deletes its own run; one of another caller, and one that was deleted, are unknown in the same words', async () => {
  const { send, start, cloister } = await serve();
  const [own, other] = [await start('ann', { input: 'One.' }), await start('bob', { input: 'Two.' })];
  const unknown = await send('ann', 'DELETE', '/v1/runs/nobody');
  expect(unknown.status).toBe(404);
  const words = ({ status, body }: typeof unknown) => [status, { ...body.error, request: null, id: null }];
  expect(words(await send('ann', 'DELETE', `/v1/runs/${other}`))).toEqual(words(unknown));
  expect(await send('ann', 'DELETE', `/v1/runs/${own}?why=mine`)).toEqual({ status: 200, body: { deleted: [own] } });
  for (const [as, method] of [
    ['ann', 'DELETE'],
    ['ann', 'GET'],
    ['bob', 'GET'],
    ['ops', 'GET'],
  ] as const)
    expect(words(await send(as, method, `/v1/runs/${own}`))).toEqual(words(unknown));
  expect(await cloister.storage.tombstone(own)).toMatchObject({ by: 'ann', why: 'mine' });
  expect((await send('bob', 'GET', '/v1/runs')).body.runs).toHaveLength(1);
  expect((await send('ops', 'DELETE', `/v1/runs/${other}`)).body).toEqual({ deleted: [other] });
  expect(await cloister.storage.tombstone(other)).toMatchObject({ by: 'ops' });
});

// invariants: deletion-keeps-allowance
test('what counts for an allowance cannot be deleted by its caller, forced or not', async () => {
  const { send, start } = await serve();
  const run = await start('cap', { input: 'One.' });
  for (const query of ['', '?force=true', '?withLater=true'])
    expect(await send('cap', 'DELETE', `/v1/runs/${run}${query}`)).toMatchObject({
      status: 409,
      body: { error: { code: 'run_kept', message: expect.stringContaining('allowance') } },
    });
  expect((await send('cap', 'GET', `/v1/runs/${run}`)).status).toBe(200);
  expect(await send('ops', 'DELETE', `/v1/runs/${run}`)).toEqual({ status: 200, body: { deleted: [run] } });
});

test('a token that may only watch deletes nothing', async () => {
  const { send, start } = await serve();
  const run = await start('ann', { input: 'One.' });
  expect(await send('eye', 'DELETE', `/v1/runs/${run}`)).toMatchObject({ status: 403 });
});

test('the key of a run that was deleted does not run it again, and is another caller’s to use', async () => {
  const { send, start, model } = await serve();
  const key = { 'idempotency-key': 'k1' };
  const run = await start('ann', { input: 'Go.' }, key);
  await send('ann', 'DELETE', `/v1/runs/${run}`);
  for (const input of ['Go.', 'Something else.'])
    expect(await send('ann', 'POST', '/v1/lead', { input }, key)).toMatchObject({
      status: 422,
      body: { error: { code: 'key_reused', message: expect.stringContaining('was deleted') } },
    });
  expect(model.requests).toHaveLength(1);
  expect((await send('bob', 'POST', '/v1/lead', { input: 'Go.' }, key)).status).toBe(200);
});

test('copies of a caller stop a deletion, those that others have made are not named', async () => {
  const { cloister, send, start } = await serve();
  const first = await start('ann', { input: 'One.', conversation: 'trip' });
  const second = await start('ann', { input: 'Two.', conversation: 'trip' });
  const [root] = (await cloister.show(second)).cells;
  const fork = await cloister.fork(second, { at: root!.cell });
  await fork.outcome;
  expect(await send('ann', 'DELETE', `/v1/runs/${first}`)).toMatchObject({
    status: 409,
    body: { error: { code: 'run_kept', message: expect.stringContaining(second) } },
  });
  // The operator's fork is not the caller's.
  expect((await send('ann', 'DELETE', `/v1/runs/${first}?withLater=true`)).body.deleted.toSorted()).toEqual(
    [first, second].toSorted(),
  );
  expect((await cloister.runs()).map(({ run }) => run)).toEqual([fork.run]);
});
