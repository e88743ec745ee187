// Calls of Slack's web API with its own SDK: what is certain, and what is not.
// invariants: slack-one-attempt, slack-certain-or-unknown
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as bolt from '@slack/bolt';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { identifyApp, loadBolt, openWebApi } from '#adapters/slack';
import type { SlackApi, SlackReply } from '#contracts';
import { FakeSlack, listenSlack } from '#testkit';
import type { SlackFault } from '#testkit';
import { replyOf } from '#testing/adapters/slack';

const openWire = async () => {
  const fake = new FakeSlack({ channels: ['C1'] });
  const wire = await listenSlack(fake);
  onTestFinished(() => wire.close());
  return { fake, wire, api: openWebApi(bolt, { token: wire.botToken, url: wire.url }) };
};

const faults: readonly SlackFault[] = [
  400,
  404,
  408,
  413,
  500,
  502,
  503,
  'network',
  'lost',
  { retryAfterMs: 2_000 },
  { retryAfterMs: 0 },
  { error: 'channel_not_found' },
  { error: 'internal_error' },
  { error: 'fatal_error' },
  { error: 'ratelimited' },
];

test('a call that is reported as done is done, one that is reported as refused or limited is not, and none is repeated', async () => {
  const { fake, api } = await openWire();
  await fc.assert(
    fc.asyncProperty(fc.option(fc.constantFrom(...faults)), fc.uuid(), async (fault, text) => {
      const end = fault === null ? () => undefined : fake.fail({ method: 'chat.postMessage', always: fault });
      const before = fake.log.length;
      const reply = await api.call('chat.postMessage', { channel: 'C1', text });
      end();
      const isThere = fake.messages('C1').some((message) => message.text === text);
      expect(fake.log.length).toBe(before + 1);
      if (reply.kind === 'ok') expect(isThere).toBe(true);
      else if (reply.kind !== 'unknown') expect(isThere).toBe(false);
      if (fault === null) expect(reply.kind).toBe('ok');
    }),
    { numRuns: 100 },
  );
});

test.for<[what: string, fault: SlackFault, reply: SlackReply]>([
  ['refuses', { error: 'channel_not_found' }, { kind: 'refused', error: 'channel_not_found' }],
  ['says that part of it may have happened', { error: 'internal_error' }, { kind: 'unknown' }],
  ['has a limit', { retryAfterMs: 7_000 }, { kind: 'limited', retryAfterMs: 7_000 }],
  ['has a limit and does not say for how long', { error: 'ratelimited' }, { kind: 'limited', retryAfterMs: 30_000 }],
  ['is behind a proxy that fails', 502, { kind: 'unknown' }],
  ['is behind a proxy that refuses', 413, { kind: 'refused', error: 'http_413' }],
  ['hangs up', 'lost', { kind: 'unknown' }],
])('Slack %s', async ([, fault, expected]) => {
  const { fake, api } = await openWire();
  fake.fail({ method: 'chat.postMessage', always: fault });
  expect(await api.call('chat.postMessage', { channel: 'C1', text: 'Hello.' })).toEqual(expected);
});

test('without a connection nothing was sent, so it can be tried again', async () => {
  const { wire, api } = await openWire();
  await wire.close();
  expect(await api.call('chat.postMessage', { channel: 'C1', text: 'Hello.' })).toMatchObject({ kind: 'limited' });
});

test('what does not come from Slack says nothing about a call', async () => {
  const pages = ['<html>502</html>', '{"ok":', 'null', '[]', '{"ok":false}', '{"ok":false,"error":"Not a code"}', ''];
  let page = '';
  let headers: Readonly<Record<string, string>> = {};
  let status = 200;
  const server = createServer((_, response) => response.writeHead(status, headers).end(page));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`;
  const api = openWebApi(bolt, { token: 'xoxb-1', url });
  for (page of pages) expect(await api.call('chat.postMessage', {})).toEqual({ kind: 'unknown' });
  status = 429;
  for (headers of [{}, { 'retry-after': 'soon' }])
    expect(await api.call('chat.postMessage', {})).toEqual({ kind: 'limited', retryAfterMs: 30_000 });
});

test('whatever is thrown, the reply is one of ours, and never says that nothing happened without a reason', () => {
  fc.assert(
    fc.property(fc.anything(), (error) => {
      const { kind } = replyOf(error);
      const code = (error as { code?: unknown } | null | undefined)?.code;
      expect(typeof code === 'string' && code.startsWith('slack_webapi') ? 'unknown' : kind).toBe('unknown');
    }),
  );
});

test('a method is never an address', async () => {
  const { fake, wire, api } = await openWire();
  const reply = await api.call(`${wire.url}chat.postMessage`, { channel: 'C1', text: 'Hello.' });
  expect(reply.kind).not.toBe('ok');
  expect(fake.messages('C1')).toEqual([]);
});

test('a file is put into its thread, or nothing of it is shown', async () => {
  const { fake, api } = await openWire();
  const thread = fake.say('U1', 'C1', 'Where is it?').ts;
  const file = { channel: 'C1', thread, name: 'run.json', text: '{"text":"Grüße 🦊"}' };
  expect(await api.upload(file)).toMatchObject({ kind: 'ok' });
  expect(fake.files).toMatchObject([{ text: file.text }]);
  for (const method of ['files.getUploadURLExternal', 'upload', 'files.completeUploadExternal'])
    for (const fault of [503, 'network'] as const) {
      const end = fake.fail({ method, always: fault });
      const shown = fake.thread('C1', thread).length;
      const reply = await api.upload(file);
      end();
      if (method === 'files.completeUploadExternal') expect(reply).toEqual({ kind: 'unknown' });
      expect(reply.kind === 'ok').toBe(fake.thread('C1', thread).length > shown);
    }
});

const apiWith = (reply: SlackReply): SlackApi => ({ call: async () => reply, upload: async () => reply });

const own = { ok: true, team_id: 'T1', team: 'Acme', user_id: 'U0', bot_id: 'B0' };

test('an app is identified by its token, its workspace and its scopes', async () => {
  const needed = { team: 'T1', scopes: ['chat:write', 'im:history'] };
  const { api } = await openWire();
  expect(await identifyApp(api, needed)).toMatchObject({ user: 'UAPP' });
  const metadata = (scopes: readonly string[]) => ({ ...own, response_metadata: { scopes: [...scopes] } });
  const told = identifyApp(apiWith({ kind: 'ok', body: metadata(['im:history', 'chat:write']) }), needed);
  expect(await told).toMatchObject({ teamName: 'Acme' });
  expect(await identifyApp(apiWith({ kind: 'unknown' }), needed)).toBeNull();
  const lacking = identifyApp(apiWith({ kind: 'ok', body: metadata(['chat:write']) }), needed);
  await expect(lacking).rejects.toThrow('lacks scopes: im:history. Paste the manifest');
  const foreign = identifyApp(apiWith({ kind: 'ok', body: { ...own, team_id: 'T2' } }), needed);
  await expect(foreign).rejects.toThrow('belongs to the workspace T2, but `slack.team` is T1');
});

test('wrong tokens are named', async () => {
  const { wire } = await openWire();
  const needed = { team: 'T1', scopes: [] };
  const wrong = openWebApi(bolt, { token: 'xoxb-wrong', url: wire.url });
  await expect(identifyApp(wrong, needed)).rejects.toThrow(
    'Slack refuses `slack.botToken`: invalid_auth. Copy the bot user',
  );
  const other = openWebApi(bolt, { token: wire.appToken, url: wire.url });
  await expect(identifyApp(other, needed)).rejects.toThrow('not_allowed_token_type. It is the other kind of token');
});

test('without the package, the command that installs it is named', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(loadBolt(() => Promise.reject(missing))).rejects.toMatchObject({
    code: 'slack_failed',
    message: expect.stringContaining('npm install @slack/bolt') as string,
  });
  await expect(loadBolt(() => Promise.reject(new Error('broken')))).rejects.toThrow('cannot be loaded: Error: broken');
  expect(typeof (await loadBolt()).SocketModeReceiver).toBe('function');
});
