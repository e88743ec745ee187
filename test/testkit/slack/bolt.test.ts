// Slack's own SDK, unchanged, as an app of the fake Slack over both of its transports.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { App, HTTPReceiver, LogLevel, SocketModeReceiver } from '@slack/bolt';
import type { Receiver } from '@slack/bolt';
import { WebClient } from '@slack/web-api';
import { expect, test } from 'vitest';
import { FakeSlack, listenSlack, postSlackRequest, signSlackRequest, virtualClock } from '#testkit';
import type { SlackSent, SlackServer } from '#testkit';
import type { JsonObject } from '#base';

const quiet = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => LogLevel.ERROR,
  setName() {},
};

/** Nothing is sent again and no trigger expires because a computer is slow. */
const stillClock = () => virtualClock(Date.now());

type AppUnderTest = {
  readonly slack: FakeSlack;
  readonly server: SlackServer;
  /** Event ids with their number of the retry. */
  readonly heard: [string, unknown, unknown][];
  /** Where requests are posted to; empty over a socket. */
  readonly url: string;
};

const modal = {
  type: 'modal' as const,
  callback_id: 'order',
  title: { type: 'plain_text' as const, text: 'Order' },
  submit: { type: 'plain_text' as const, text: 'Go' },
  blocks: [
    {
      type: 'input' as const,
      block_id: 'count',
      label: { type: 'plain_text' as const, text: 'How many?' },
      element: { type: 'plain_text_input' as const, action_id: 'value' },
    },
  ],
};

const orderButton = {
  type: 'actions' as const,
  elements: [
    { type: 'button' as const, action_id: 'order', value: 'tea', text: { type: 'plain_text' as const, text: 'Order' } },
  ],
};

const buildApp = (server: SlackServer, receiver: Receiver, heard: AppUnderTest['heard']): App => {
  const app = new App({
    token: server.botToken,
    receiver,
    logger: quiet,
    clientOptions: { slackApiUrl: server.url, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true },
  });
  app.event('app_mention', async ({ event, say, body, context }) => {
    heard.push([body.event_id, context.retryNum, context.retryReason]);
    await say({ thread_ts: event.ts, text: `Hello <@${event.user}>`, blocks: [orderButton] });
  });
  app.action('order', async ({ ack, body, client }) => {
    await ack();
    await client.views.open({ trigger_id: (body as { trigger_id: string }).trigger_id, view: modal });
  });
  app.view('order', async ({ ack, view }) => {
    const count = view.state.values['count']?.['value']?.value;
    if (Number(count) > 0) await ack();
    else await ack({ response_action: 'errors', errors: { count: 'A number, please.' } });
  });
  app.command('/tea', async ({ ack, command, respond }) => {
    await ack('At once.');
    await respond(`${command.text} for <@${command.user_id}>`);
  });
  app.shortcut('about', async ({ ack, shortcut, client }) => {
    await ack();
    await client.chat.postEphemeral({
      channel: shortcut.type === 'message_action' ? shortcut.channel.id : '',
      user: shortcut.user.id,
      text: 'Noted.',
    });
  });
  return app;
};

/** `reconnectMs`: how soon the SDK opens a new socket; after that time without a pong it also drops the one it has. */
const withApp = async (
  transport: 'socket' | 'HTTP',
  use: (app: AppUnderTest) => Promise<void>,
  reconnectMs = 3_600_000,
): Promise<void> => {
  const slack = new FakeSlack({ clock: stillClock() });
  await using server = await listenSlack(slack);
  const heard: AppUnderTest['heard'] = [];
  const options = { logger: quiet, installerOptions: { clientOptions: { slackApiUrl: server.url } } };
  const receiver =
    transport === 'socket'
      ? new SocketModeReceiver({ appToken: server.appToken, clientPingTimeout: reconnectMs, ...options })
      : new HTTPReceiver({ signingSecret: server.signingSecret, ...options });
  const app = buildApp(server, receiver, heard);
  const started = (await app.start({ port: 0, host: '127.0.0.1' })) as Server;
  const url = transport === 'socket' ? '' : `http://127.0.0.1:${(started.address() as AddressInfo).port}/slack/events`;
  try {
    if (url !== '') {
      expect(await server.verifyUrl(url)).toBe(true);
      server.postTo(url);
    }
    await use({ slack, server, heard, url });
  } finally {
    await app.stop();
  }
};

test.each(['socket', 'HTTP'] as const)('a mention, a button, a dialog, a command and a shortcut over %s', (transport) =>
  withApp(transport, async ({ slack, heard }) => {
    const asked = slack.mention('U1', 'C1', 'tea?');
    await expect.poll(() => slack.thread('C1', asked.ts)).toHaveLength(2);
    const answer = slack.thread('C1', asked.ts)[1]!;
    expect(answer).toMatchObject({ isByApp: true, buttons: [{ actionId: 'order', value: 'tea' }] });

    expect(await slack.press('U1', answer, 'order').acknowledged).toBeUndefined();
    await expect.poll(() => slack.views('U1')).toHaveLength(1);
    const [view] = slack.views('U1');
    const refused = await slack.submit('U1', view!.id, { count: 'many' }).acknowledged;
    expect(refused).toMatchObject({ response_action: 'errors' });
    expect(slack.views('U1')).toMatchObject([{ errors: { count: 'A number, please.' } }]);
    await slack.submit('U1', view!.id, { count: '2' }).acknowledged;
    expect(slack.views('U1')).toEqual([]);

    expect(await slack.command('U1', 'C1', '/tea', 'green').acknowledged).toEqual({ text: 'At once.' });
    // One comes over the socket, one over HTTP.
    await expect
      .poll(() =>
        slack
          .ephemerals('U1')
          .map(({ text }) => text)
          .sort(),
      )
      .toEqual(['At once.', 'green for <@U1>']);
    await slack.shortcut('U1', 'about', asked).acknowledged;
    await expect.poll(() => slack.ephemerals('U1').at(-1)?.text).toBe('Noted.');

    // Bolt does not drop what it has seen.
    const [sent] = asked.sent;
    slack.sendAgain(sent!);
    await expect.poll(() => heard).toHaveLength(2);
    const reason = transport === 'socket' ? 'timeout' : 'http_timeout';
    expect(heard).toEqual([
      [sent!.payload['event_id'], transport === 'socket' ? 0 : undefined, transport === 'socket' ? '' : undefined],
      [sent!.payload['event_id'], 1, reason],
    ]);
  }),
);

test('an app that is told to disconnect, or is cut off, opens a new socket and gets what it missed', () =>
  withApp(
    'socket',
    async ({ slack, server, heard }) => {
      const opened = () => slack.log.filter(({ method }) => method === 'apps.connections.open').length;
      for (const end of ['disconnect', 'cut'] as const) {
        await expect.poll(() => server.sockets).toBe(1);
        const before = opened();
        server[end]();
        await expect.poll(opened).toBeGreaterThan(before);
        const [sent] = slack.mention('U1', 'C1', 'still there?').sent;
        await expect.poll(() => hearAgain(slack, sent!, heard)).toContain(sent!.payload['event_id']);
      }
    },
    100,
  ));

/** Slack tries again until it is acknowledged: the socket may be gone at any time. */
const hearAgain = (slack: FakeSlack, sent: SlackSent, heard: AppUnderTest['heard']): string[] => {
  slack.sendAgain(sent);
  return heard.map(([id]) => id);
};

test('bolt accepts only requests that are signed and of the last five minutes', () =>
  withApp('HTTP', async ({ slack, server, heard, url }) => {
    await slack.mention('U1', 'C1', 'hi').sent[0]?.acknowledged;
    const [request] = server.posted;
    const statusOf = async (body: string, headers: object): Promise<number> =>
      (await postSlackRequest({ url, body, headers: { ...request!.headers, ...headers } })).status;
    const { body } = request!;
    const sign = (secret: string, ageMs: number): object => signSlackRequest(secret, body, Date.now() - ageMs);
    expect(await statusOf(body, {})).toBe(200);
    expect(await statusOf(body, sign(server.signingSecret, 0))).toBe(200);
    expect(await statusOf(body, sign(server.signingSecret, 301_000))).toBe(401);
    expect(await statusOf(body, sign('guessed', 0))).toBe(401);
    expect(await statusOf(body.replace('hi', 'ho'), {})).toBe(401);
    await expect.poll(() => heard).toHaveLength(3);
  }));

test('the web client streams, uploads and pages, and sees limits, refusals, cuts and silence as those', async () => {
  const slack = new FakeSlack({ clock: stillClock() });
  await using server = await listenSlack(slack);
  const options = {
    slackApiUrl: server.url,
    logger: quiet,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
  };
  const client = new WebClient(server.botToken, options);
  const { ts: thread } = slack.dm('U1', 'Hi');
  const place = { channel: 'D1', thread_ts: thread };
  const { ts = '' } = await client.chat.startStream({
    ...place,
    task_display_mode: 'timeline',
    chunks: [{ type: 'markdown_text', text: 'a & ä' }],
  });
  await client.chat.appendStream({
    channel: 'D1',
    ts,
    chunks: [{ type: 'task_update', id: 't', title: 'T', status: 'complete' }],
  });
  await client.chat.stopStream({ channel: 'D1', ts, blocks: [orderButton], session_status: 'active' });
  expect(slack.message({ channel: 'D1', ts })).toMatchObject({
    text: 'a & ä',
    cards: [{ id: 't' }],
    isStreaming: false,
  });
  await client.filesUploadV2({ channel_id: 'D1', thread_ts: thread, filename: 'a.json', content: '{"ä":1}' });
  expect(slack.files).toMatchObject([{ name: 'a.json', text: '{"ä":1}', thread, isComplete: true }]);
  const replies: JsonObject[] = [];
  for await (const page of client.paginate('conversations.replies', { channel: 'D1', ts: thread, limit: 1 }))
    replies.push(...(page as unknown as { messages: JsonObject[] }).messages);
  expect(replies.map((one) => one['text'])).toEqual(['Hi', 'a &amp; ä', '']);

  const post = (by = client) => by.apiCall('chat.postMessage', { channel: 'D1', text: 'x' });
  slack.fail({
    method: 'chat.postMessage',
    at: { 1: { retryAfterMs: 1500 }, 2: { error: 'is_archived' }, 3: 'network', 4: 'lost', 5: 503, 6: 'hang' },
  });
  await expect(post()).rejects.toMatchObject({ code: 'slack_webapi_rate_limited_error', retryAfter: 2 });
  await expect(post()).rejects.toMatchObject({ data: { error: 'is_archived' } });
  await expect(post()).rejects.toMatchObject({ code: 'slack_webapi_request_error' });
  await expect(post()).rejects.toMatchObject({ code: 'slack_webapi_request_error' });
  await expect(post()).rejects.toMatchObject({ code: 'slack_webapi_http_error', statusCode: 503 });
  const impatient = new WebClient(server.botToken, { ...options, timeout: 100 });
  await expect(post(impatient)).rejects.toMatchObject({ code: 'slack_webapi_request_error' });
  expect(slack.messages('D1').filter(({ isByApp }) => isByApp)).toHaveLength(1);
  await expect(new WebClient('xoxb-other', options).auth.test()).rejects.toMatchObject({
    data: { error: 'invalid_auth' },
  });
});
