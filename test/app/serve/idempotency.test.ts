// The same `Idempotency-Key` gives the same run and the same message: at once, later, after a crash, from another process.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '#base';
import { defineAgent, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal } from 'cloister/testkit';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';

const [ann, bob] = ['ann'.padEnd(40, 'x'), 'bob'.padEnd(40, 'x')];
const tokens = [
  { name: 'ann', sha256: sha256(ann) },
  { name: 'bob', sha256: sha256(bob) },
];

const serve = async (workspace: string, model: Rehearsal = rehearse([{ reply: { text: 'Yes.', delayMs: 20 } }])) => {
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: [model.model] });
  const cloister = await openCloister({ workspace, agents: [agent] });
  const server = await openServer(cloister, { tokens, port: 0, resumeInterrupted: false });
  const { url } = await server.listen();
  const close = async (): Promise<void> => {
    await server.stop(0);
    await cloister.close();
  };
  onTestFinished(close);
  const post = async (path: string, key: string | null, json: unknown, token = ann) => {
    const accept = path === '/mcp' ? { accept: 'application/json, text/event-stream' } : {};
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...accept };
    const body = JSON.stringify(json);
    const sent = { ...headers, ...(key === null ? {} : { 'idempotency-key': key }) };
    const response = await fetch(url + path, { method: 'POST', headers: sent, body });
    return { status: response.status, text: await response.text() };
  };
  return { cloister, model, post, close };
};

const runOf = (text: string): string => (JSON.parse(text) as { run: string }).run;

const workspaceFor = (): string => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  return workspace;
};

// invariant: same-key-same-run
// invariant: same-key-same-request
test('ten requests with one key at the same moment are one run with one answer', async () => {
  const { post, model, cloister } = await serve(workspaceFor());
  const replies = await Promise.all(Array.from({ length: 10 }, () => post('/v1/lead', 'k1', { input: 'Go.' })));
  expect(new Set(replies.map(({ status, text }) => `${status} ${runOf(text)}`)).size).toBe(1);
  expect([model.requests.length, (await cloister.runs()).length]).toEqual([1, 1]);
  const later = await post('/v1/lead', 'k1', { input: 'Go.' });
  expect(runOf(later.text)).toBe(runOf(replies[0]!.text));
  expect(JSON.parse(later.text)).toMatchObject({ status: 'completed', output: 'Yes.' });
  expect(model.requests).toHaveLength(1);
});

test('another request with the same key is refused; another caller’s key is another key', async () => {
  const { post, model } = await serve(workspaceFor());
  const first = await post('/v1/lead', 'k1', { input: 'Go.' });
  expect(await post('/v1/lead', 'k1', { input: 'Stop.' })).toMatchObject({
    status: 422,
    text: expect.stringContaining('key_reused'),
  });
  const other = await post('/v1/lead', 'k1', { input: 'Stop.' }, bob);
  expect([other.status, runOf(other.text) === runOf(first.text)]).toEqual([200, false]);
  expect(model.requests).toHaveLength(2);
  expect((await post('/v1/lead', 'a b', { input: 'Go.' })).status).toBe(400);
});

test('every protocol takes a key, also for a stream', async () => {
  const { post, model } = await serve(workspaceFor());
  const messages = [{ role: 'user', content: 'Go.' }];
  for (const [path, body] of [
    ['/v1/lead', { input: 'Go.' }],
    ['/v1/chat/completions', { model: 'lead', messages }],
    ['/v1/responses', { model: 'lead', input: 'Go.' }],
    ['/v1/messages', { model: 'lead', max_tokens: 10, messages }],
  ] as const) {
    const before = model.requests.length;
    const [one, two] = [await post(path, path, body), await post(path, path, { ...body, stream: true })];
    expect([path, one.status, two.status, model.requests.length - before]).toEqual([path, 200, 200, 1]);
    expect(two.text).toContain('Yes.');
  }
});

test('while another process runs it, a key gives the same receipt, and whoever waits or streams is given the answer', async () => {
  const workspace = workspaceFor();
  const [here, there] = [
    await serve(workspace, rehearse([{ reply: { text: 'Yes.', delayMs: 300 } }])),
    await serve(workspace),
  ];
  const body = { input: 'Go.', wait: false };
  const replies = [await here.post('/v1/lead', 'k1', body), await there.post('/v1/lead', 'k1', body)];
  expect(replies.map(({ status }) => status)).toEqual([202, 202]);
  expect(replies[1]!.text).toBe(replies[0]!.text);
  const [waited, streamed] = await Promise.all([
    there.post('/v1/lead', 'k1', { input: 'Go.' }),
    there.post('/v1/lead', 'k1', { input: 'Go.', stream: true }),
  ]);
  const own = await here.post('/v1/lead', 'k1', { input: 'Go.' });
  expect(waited).toEqual(own);
  expect(streamed.text).toContain('event: text-delta');
  expect(streamed.text).toContain('event: outcome');
  expect([here.model.requests.length, there.model.requests.length]).toEqual([1, 0]);
  expect(await there.post('/v1/lead', 'k1', { input: 'Stop.' })).toMatchObject({ status: 422 });
});

test('over MCP, a key comes with the call', async () => {
  const { post, model } = await serve(workspaceFor());
  const call = (prompt: string, _meta: object) =>
    post('/mcp', null, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'lead', arguments: { prompt }, _meta },
    });
  const replies = [await call('Go.', { 'cloister/key': 'k1' }), await call('Go.', { 'cloister/key': 'k1' })];
  const runs = replies.map(({ text }) => /"cloister\/run":"([^"]+)"/u.exec(text)?.[1]);
  expect(runs[0]).toBeDefined();
  expect([runs[1], model.requests.length]).toEqual([runs[0], 1]);
  expect((await call('Stop.', { 'cloister/key': 'k1' })).text).toContain('key_reused');
  expect((await call('Go.', { 'cloister/key': 'k 2' })).text).toContain('request_invalid');
});

test('what takes no key refuses one, so that nobody relies on it', async () => {
  const { post, cloister } = await serve(workspaceFor());
  const run = runOf((await post('/v1/lead', null, { input: 'Go.' })).text);
  const { id } = await cloister.checkpoints.create(run);
  const before = await cloister.runs();
  for (const [path, body] of [
    [`/v1/runs/${run}/fork`, { at: 'x' }],
    [`/v1/runs/${run}/retry`, {}],
    [`/v1/runs/${run}/agents`, { agent: 'lead' }],
    [`/v1/runs/${run}/checkpoints`, {}],
    [`/v1/checkpoints/${id}/restore`, {}],
    [`/v1/checkpoints/${id}/branch`, {}],
  ] as const)
    expect([path, (await post(path, 'k1', body)).text]).toEqual([path, expect.stringContaining('Idempotency-Key')]);
  expect([await cloister.runs(), (await cloister.checkpoints.list()).length]).toEqual([before, 1]);
});

test('after a crash and a restart, the same key finds the same run, and resumes it', async () => {
  const workspace = workspaceFor();
  const first = await serve(workspace);
  const run = runOf((await first.post('/v1/lead', 'k1', { input: 'Go.' })).text);
  await first.close();
  using database = new DatabaseSync(join(workspace, 'cloister.db'));
  database.exec(`DELETE FROM frames WHERE no > 0; UPDATE runs SET ended_at = NULL, status = NULL, spent = NULL,
    frames = 1, head = (SELECT hash FROM frames WHERE no = 0)`);
  database.close();
  const second = await serve(workspace);
  const again = await second.post('/v1/lead', 'k1', { input: 'Go.' });
  expect([runOf(again.text), JSON.parse(again.text)]).toMatchObject([run, { status: 'completed', output: 'Yes.' }]);
  expect(await second.cloister.runs()).toHaveLength(1);
  expect(await second.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
});

test('in a conversation, a request that is sent again is one turn', async () => {
  const { post, cloister } = await serve(workspaceFor());
  const body = { input: 'Go.', conversation: 'main' };
  const replies = await Promise.all([post('/v1/lead', 'k1', body), post('/v1/lead', 'k1', body)]);
  expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  const [summary] = await cloister.conversations.list();
  expect(summary?.turns).toBe(1);
});

// invariant: same-id-sent-once
test('a message that is sent again with its key arrives once', async () => {
  const { post, cloister } = await serve(workspaceFor());
  const run = runOf((await post('/v1/lead', null, { input: 'Go.', resident: true })).text);
  const path = `/v1/runs/${run}/messages`;
  const sent = await Promise.all(Array.from({ length: 5 }, () => post(path, 'm1', { text: 'Hello.' })));
  expect(new Set(sent.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(await post(path, 'm1', { text: 'Goodbye.' })).toMatchObject({ status: 422 });
  await post(path, 'm2', { text: 'Hello.', answer: true });
  const fromOutside = (await cloister.mail(run)).filter(({ agent_id: from }) => from === null);
  expect(fromOutside).toHaveLength(2);
});
