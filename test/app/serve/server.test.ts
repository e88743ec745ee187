// The server as a program uses it.
import { defineAgent, openCloister, openServer, hashToken } from 'cloister';
import type { ServerLine } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { serveAgents } from '../../headends/http/driver.ts';
import { getRequest, postRequest } from './local-requests.ts';

const lead = () =>
  defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Hello.' }])] });

test('a request without a socket is identified by the host in its address', async () => {
  const { server, token } = await serveAgents({ agents: [lead()] });
  const ask = (host: string) =>
    server.fetch(new Request(`http://${host}/v1/lead?q=hi`, { headers: { authorization: `Bearer ${token}` } }));
  expect((await ask('localhost')).status).toBe(200);
  expect((await ask('evil.example')).status).toBe(403);
});

test('a server listens only once, and needs at least one token', async () => {
  const { server, cloister } = await serveAgents({ agents: [lead()] });
  await expect(server.listen()).rejects.toMatchObject({ code: 'options_invalid' });
  await expect(openServer(cloister, { tokens: [] })).rejects.toMatchObject({ code: 'options_invalid' });
});

test.for([
  [{ agent: ['lead'] }, 'agent: unknown option. Did you mean agents?'],
  [{ clients: { toools: true } }, 'clients.toools: unknown option. Did you mean tools?'],
  [{ limits: { bodyBytes: 1 } }, 'limits.bodyBytes: unknown option.'],
  [{ limits: { depthMax: 'deep' } }, 'limits.depthMax: expected a number, 0 or more; got "deep".'],
  [{ port: 99_999 }, 'port: expected a whole number from 0 to 65535; got 99999.'],
  [{ port: 80.5 }, 'port: expected a whole number from 0 to 65535; got 80.5.'],
  [{ slots: { running: NaN } }, 'slots.running: expected a number, 0 or more; got NaN.'],
] as const)('an unknown option, or one of the wrong type, opens no server: %j', async ([options, words]) => {
  const { cloister } = await serveAgents({ agents: [lead()] });
  const opened = openServer(cloister, options as Parameters<typeof openServer>[1]);
  await expect(opened).rejects.toMatchObject({ code: 'options_invalid', message: expect.stringContaining(words) });
});

const sha256 = 'a'.repeat(64);

test.for([
  [{ agent: ['lead'] }, 'tokens[0].agent: unknown option. Did you mean agents?'],
  [{ budget: { token: 1 } }, 'tokens[0].budget.token: unknown option. Did you mean tokens?'],
  [{ operator: 1 }, 'tokens[0].operator: expected true or false; got 1.'],
] as const)('a token with an unknown option, or one of the wrong type, opens no server: %j', async ([more, words]) => {
  const { cloister } = await serveAgents({ agents: [lead()] });
  const opened = openServer(cloister, { tokens: [{ name: 'ann', sha256, ...more }] as never });
  await expect(opened).rejects.toMatchObject({ code: 'tokens_invalid', message: expect.stringContaining(words) });
});

test('an address of another machine is reported as such, not as one in use', async () => {
  const cloister = await openCloister({ agents: [lead()], store: 'memory' });
  onTestFinished(() => cloister.close());
  // One of the addresses reserved for documentation.
  const server = await openServer(cloister, { host: '192.0.2.1', expose: true, port: 0 });
  await expect(server.listen()).rejects.toMatchObject({
    code: 'options_invalid',
    message: expect.stringContaining('host: 192.0.2.1 is not an address of this machine (EADDRNOTAVAIL).'),
  });
});

test('stopping ends streaming sessions', async () => {
  const cloister = await openCloister({ agents: [lead()], store: 'memory' });
  onTestFinished(() => cloister.close());
  const server = await openServer(cloister);
  const { ended } = await server.serveStdio({ input: new PassThrough(), output: new PassThrough() });
  await server.stop(0);
  expect(await ended).toBeUndefined();
});

test('a POST that needs no input needs no body', async () => {
  const { ask } = await serveAgents({ agents: [lead()] });
  const { run } = (await (await ask('/v1/lead', { json: { input: 'hi' } })).json()) as { run: string };
  expect((await ask(`/v1/runs/${run}/cancel`, { method: 'POST' })).status).toBe(409);
  expect((await ask('/v1/lead', { method: 'POST' })).status).toBe(400);
  expect((await ask('/v1/lead', { method: 'POST', body: 'input=hi' })).status).toBe(415);
});

test('reopening a stream by its last event starts no second run', async () => {
  const { ask, cloister } = await serveAgents({ agents: [lead()] });
  const headers = { accept: 'text/event-stream' };
  expect(await (await ask('/v1/lead?q=hi', { headers })).text()).toContain('event: outcome');
  const again = await ask('/v1/lead?q=hi', { headers: { ...headers, 'last-event-id': 'lead-1/0a' } });
  expect([again.status, (await cloister.runs()).length]).toEqual([400, 1]);
});

test('a run names its caller in lists and in its report; one without a caller names none', async () => {
  const { ask, cloister } = await serveAgents({ agents: [lead()] });
  const { run } = (await (await ask('/v1/lead?q=hi')).json()) as { run: string };
  const own = await cloister.run('lead', 'hi').outcome;
  const [summary] = await cloister.runs({ run });
  expect(summary!.caller).toMatch(/^token-/u);
  expect((await cloister.show(run)).caller).toBe(summary!.caller);
  expect((await cloister.show(own.run)).caller).toBeNull();
});

test('the log says why a request was refused or a run failed, and who was rate-limited; never who presented a wrong token', async () => {
  const lines: ServerLine[] = [];
  const tokens = [
    { name: 'ann', sha256: hashToken('clo_ann'), requestsPerMinute: 2 },
    { name: 'ben', sha256: hashToken('clo_ben'), budget: { tokens: 0 } },
    { name: 'old', sha256: hashToken('clo_old'), expiresAt: 1 },
  ];
  const { server } = await serveAgents({ agents: [lead()], tokens, log: (line) => lines.push(line) });
  const requests = [
    getRequest('/v1', 'clo_ann'),
    postRequest('/v1/lead', 'clo_ann', {}),
    getRequest('/v1', 'clo_ann'),
    getRequest('/v1', 'clo_nobody'),
    getRequest('/v1', 'clo_old'),
    postRequest('/v1/lead', 'clo_ben', { input: 'hi' }),
    postRequest('/v1/chat/completions', 'clo_ben', { model: 'lead', messages: [{ role: 'user', content: 'hi' }] }),
  ];
  for (const request of requests) await server.fetch(request);
  const logged = lines
    .filter((line) => line.type === 'request')
    .map(({ status, caller, code }) => [status, caller, code]);
  expect(logged).toEqual([
    [200, 'ann', null],
    [400, 'ann', 'request_invalid'],
    [429, 'ann', 'rate_exceeded'],
    [401, null, 'token_refused'],
    [401, null, 'token_refused'],
    [429, 'ben', 'budget_refused'],
    [429, 'ben', 'budget_refused'],
  ]);
  expect(lines.flatMap((line) => (line.type === 'run' ? [line.outcome.failure?.code] : []))).toEqual([
    'budget_refused',
    'budget_refused',
  ]);
});
