// Two servers of one workspace: what a caller asks of its run through the one reaches the run in the other.
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import { sha256 } from '#base';
import type { RunId } from '#base';
import { defineAgent, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';
import { workspaceToCrash } from './crashed-workspace.ts';
import { gatedAgent } from './gated-agent.ts';

const [ann, bob, eye, op] = ['ann', 'bob', 'eye', 'op'].map((name) => name.padEnd(40, 'x')) as [
  string,
  string,
  string,
  string,
];
const tokens = [
  { name: 'ann', sha256: sha256(ann) },
  { name: 'bob', sha256: sha256(bob) },
  { name: 'ann', sha256: sha256(eye), may: ['watch'] as const },
  { name: 'op', sha256: sha256(op), operator: true },
];

const serve = async (workspace: string, agents = [gatedAgent('lead').agent], resumeInterrupted = false) => {
  const cloister = await openCloister({ workspace, agents });
  const server = await openServer(cloister, { tokens, port: 0, resumeInterrupted });
  const { url } = await server.listen();
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  const post = async (path: string, json: unknown = {}, { token = ann, key = '', method = 'POST' } = {}) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...(key === '' ? {} : { 'idempotency-key': key }),
    };
    const body = method === 'POST' ? { body: JSON.stringify(json) } : {};
    const response = await fetch(url + path, { method, headers, ...body });
    return {
      status: response.status,
      body: (await response.json()) as { run: RunId; message?: string; error?: unknown },
    };
  };
  return { cloister, post };
};

const openPair = async (resident: boolean) => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  const { agent, gate } = gatedAgent('lead');
  const [here, there] = [await serve(workspace, [agent]), await serve(workspace, [agent])];
  const { run } = (await here.post('/v1/lead', { input: 'Go.', wait: false, ...(resident ? { resident } : {}) })).body;
  const store = await openSqliteStore(workspace);
  onTestFinished(() => store.close());
  return { here, there, gate, run, store };
};

const whenEnded = async (
  cloister: Awaited<ReturnType<typeof serve>>['cloister'],
  run: string,
): Promise<string | null> => {
  for (;;) {
    const [summary] = await cloister.runs({ run });
    if (summary?.state === 'ended') return summary.status;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

test('a run is cancelled through another server of the workspace, and only by its caller', async () => {
  const { here, there, gate, run, store } = await openPair(false);
  await gate.arrived(1);
  const path = `/v1/runs/${run}/cancel`;
  expect(await there.post(path, {}, { token: bob })).toMatchObject({ status: 404 });
  expect(await there.post(path, {}, { token: eye })).toMatchObject({ status: 403 });
  expect(await store.signals()).toEqual([]);
  expect(await there.post(path)).toMatchObject({ status: 202, body: { run, agent: 'lead' } });
  expect(await whenEnded(here.cloister, run)).toBe('cancelled');
  expect(await there.post(path)).toMatchObject({ status: 409 });
  // Its owner removes it once the log has what it led to.
  await expect.poll(() => store.signals()).toEqual([]);
});

test('messages through another server arrive once, with the id that was told, and so does an answer', async () => {
  const { here, there, gate, run } = await openPair(true);
  gate.open();
  const path = `/v1/runs/${run}/messages`;
  const first = await there.post(path, { text: 'Hello.' });
  const [second, again] = [
    await there.post(path, { text: 'Hi.' }, { key: 'k1' }),
    await here.post(path, { text: 'Hi.' }, { key: 'k1' }),
  ];
  expect([first.status, second.status, again.status]).toEqual([202, 202, 202]);
  expect(again.body.message).toBe(second.body.message);
  expect(await there.post(path, { text: 'Other.' }, { key: 'k1' })).toMatchObject({ status: 422 });
  expect(await there.post(path, { text: 'Hello?', answer: true })).toMatchObject({
    status: 200,
    body: { status: 'completed', output: 'Done: Go.' },
  });
  expect(await there.post(`/v1/runs/${run}/agents`, { agent: 'lead' })).toMatchObject({ status: 409 });
  expect(await there.post(`/v1/runs/${run}/finish`)).toMatchObject({ status: 202 });
  expect(await whenEnded(here.cloister, run)).toBe('completed');
  const sent = (await here.cloister.mail(run)).filter(({ agent_id: from }) => from === null);
  expect(sent).toHaveLength(3);
  expect(sent.map(({ id }) => id)).toEqual(expect.arrayContaining([first.body.message, second.body.message]));
});

// invariant: asked-to-end-ends
test.for([
  ['of a caller', 'ann', ann],
  ['of the command line, by the operator', undefined, op],
] as const)('an interrupted run %s is cancelled, also where none is resumed by itself', async ([, caller, token]) => {
  const { workspace, agents, run, crash } = await workspaceToCrash(caller);
  crash();
  const { cloister, post } = await serve(workspace, agents);
  expect(await post(`/v1/runs/${run}/cancel`, {}, { token })).toMatchObject({ status: 202 });
  expect(await whenEnded(cloister, run)).toBe('cancelled');
});

test('who cancels an interrupted run that cannot continue is told so, and that it can be deleted', async () => {
  const { workspace, agents, run, crash } = await workspaceToCrash('ann');
  crash();
  const models = [rehearse([{ reply: 'Done.' }]).model];
  const other = defineAgent({ name: 'lead', description: 'Waits.', prompt: 'Wait no more.', models });
  const changed = await serve(workspace, [other]);
  const refused = await changed.post(`/v1/runs/${run}/cancel`);
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'cell_ended' } } });
  expect(JSON.stringify(refused.body)).toContain(`DELETE /v1/runs/${run}?force=true`);
  expect(await changed.cloister.runs({ run })).toMatchObject([{ state: 'interrupted' }]);
  // What was asked is stored: whoever can continue the run ends it.
  const unchanged = await serve(workspace, agents, true);
  expect(await whenEnded(unchanged.cloister, run)).toBe('cancelled');
});

test('a server that resumes interrupted runs resumes one at once when something is asked of it', async () => {
  const { workspace, agents, run, crash } = await workspaceToCrash('ann');
  const { cloister, post } = await serve(workspace, agents, true);
  crash();
  expect(await post(`/v1/runs/${run}/messages`, { text: 'Hello.' })).toMatchObject({ status: 202 });
  expect(await whenEnded(cloister, run)).toBe('completed');
});
