// A server that answers in Slack: Slack's own SDK against the fake Slack, over both transports.
// invariants: slack-signature-first, slack-replay-answered-once
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { Server, ServerLine, ServerOptions } from 'cloister';
import type { SlackConfig } from '#contracts';
import { FakeSlack, listenSlack, postSlackRequest, rehearse, signSlackRequest, virtualClock } from '#testkit';
import type { FakeSlackOptions, SlackHttpRequest, SlackServer } from '#testkit';

const botToken = 'xoxb-9f2Kq7Lw3Zt8Vb1Nc6Xe5Rm4';
const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Answer.' });

type Setup = {
  readonly transport?: 'socket' | 'HTTP';
  readonly slack?: Partial<SlackConfig>;
  readonly fake?: FakeSlackOptions;
  readonly server?: Partial<ServerOptions>;
  readonly answer?: string;
  readonly workspace?: string;
};

type OpenedServer = {
  readonly fake: FakeSlack;
  readonly wire: SlackServer;
  readonly server: Server;
  readonly url: string;
  readonly log: ServerLine[];
};

const configOf = (wire: SlackServer, transport: 'socket' | 'HTTP', more: Partial<SlackConfig> = {}): SlackConfig => ({
  botToken,
  ...(transport === 'socket' ? { appToken: wire.appToken } : { signingSecret: wire.signingSecret }),
  team: 'T1',
  apiUrl: wire.url,
  channels: { C1: { agent: 'lead' }, '*': 'refuse' },
  dm: { agent: 'lead' },
  ...more,
});

const openWithSlack = async ({ transport = 'socket', ...setup }: Setup = {}): Promise<OpenedServer> => {
  const fake = new FakeSlack(setup.fake);
  const wire = await listenSlack(fake, { botToken });
  onTestFinished(() => wire.close());
  const { model } = rehearse([{ reply: () => ({ text: setup.answer ?? 'All is well.' }) }]);
  const cloister = await openCloister({ agents: [lead], models: [model], store: 'memory' });
  const log: ServerLine[] = [];
  const server = await openServer(cloister, {
    port: 0,
    slack: configOf(wire, transport, setup.slack),
    log: (line) => void log.push(line),
    ...setup.server,
  });
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  const { url, slack } = await server.listen();
  expect(slack).toMatchObject({ transport: transport === 'socket' ? 'socket' : 'http' });
  if (transport === 'HTTP') {
    expect(await wire.verifyUrl(`${url}/slack/events`)).toBe(true);
    wire.postTo(`${url}/slack/events`);
  }
  return { fake, wire, server, url, log };
};

test.for(['socket', 'HTTP'] as const)('a mention is answered in its thread over %s', async (transport) => {
  const { fake } = await openWithSlack({ transport });
  const asked = fake.mention('U1', 'C1', 'how are you?');
  await expect.poll(() => fake.thread('C1', asked.ts).at(-1)?.text, patience).toContain('All is well.');
});

test.for(['socket', 'HTTP'] as const)(
  'a direct message, a slash command and buttons work over %s',
  async (transport) => {
    const { fake } = await openWithSlack({ transport, slack: { command: '/ask' } });
    const asked = fake.dm('U1', 'how are you?');
    await expect.poll(() => fake.thread(asked.channel, asked.ts).at(-1)?.text, patience).toContain('All is well.');
    await expect.poll(() => fake.thread(asked.channel, asked.ts).at(-1)?.buttons.length, patience).toBeGreaterThan(0);
    const { buttons, ...answer } = fake.thread(asked.channel, asked.ts).at(-1)!;
    const details = buttons.find(({ text }) => text === 'Details')!;
    const place = { channel: asked.channel, ts: answer.ts };
    expect(await fake.press('U1', place, details.actionId).acknowledged).toBeUndefined();
    await expect.poll(() => fake.views('U1').length, patience).toBe(1);
    const before = fake.messages('C1').length;
    expect(await fake.command('U1', 'C1', '/ask', 'and here?').acknowledged).not.toBe(false);
    await expect.poll(() => fake.messages('C1').length, patience).toBeGreaterThan(before);
  },
);

const patience = { timeout: 20_000 };

describe('a request over HTTP', () => {
  const openHttp = async () => {
    const opened = await openWithSlack({ transport: 'HTTP' });
    const { fake, wire, url } = opened;
    const asked = fake.mention('U1', 'C1', 'how are you?');
    await expect.poll(() => fake.thread('C1', asked.ts).at(-1)?.text, patience).toContain('All is well.');
    const [request] = wire.posted;
    const post = (change: Partial<typeof request> = {}) => postSlackRequest({ ...request!, ...change });
    const sign = (body: string, atMs: number, secret = wire.signingSecret) => ({
      'content-type': 'application/json',
      ...signSlackRequest(secret, body, atMs),
    });
    return { ...opened, asked, request: request!, post, sign, events: `${url}/slack/events` };
  };
  const refused = { status: 401 };

  test('that is forged, old, from the future or without a signature is refused, and nothing of it is read', async () => {
    const { request, post, sign, fake, log } = await openHttp();
    const { body } = request;
    const told = fake.log.length;
    const forgeries: readonly Partial<SlackHttpRequest>[] = [
      { headers: { 'content-type': 'application/json' } },
      { body: `${body} ` },
      { headers: { ...request.headers, 'x-slack-signature': `v0=${'0'.repeat(64)}` } },
      { headers: { ...request.headers, 'x-slack-signature': 'v0=' } },
      { headers: { ...request.headers, 'x-slack-signature': request.headers['x-slack-signature']!.toUpperCase() } },
      { headers: { ...request.headers, 'x-slack-signature': `v1${request.headers['x-slack-signature']!.slice(2)}` } },
      {
        headers: {
          ...request.headers,
          'x-slack-request-timestamp': `0${request.headers['x-slack-request-timestamp']}`,
        },
      },
      { headers: sign(body, Date.now() - 301_000) },
      { headers: sign(body, Date.now() + 302_000) },
      { headers: sign(body, Date.now(), 'another secret') },
      { headers: { ...sign(body, Date.now()), 'x-slack-request-timestamp': '1e9' } },
    ];
    for (const forgery of forgeries) expect(await post(forgery)).toMatchObject(refused);
    expect(fake.log.length).toBe(told);
    expect(log.filter((line) => line.type === 'request' && line.status === 401)).toHaveLength(forgeries.length);
  });

  test('that is replayed, or signed anew, is answered and does nothing again', async () => {
    const { asked, fake, post, request, sign } = await openHttp();
    const before = fake.thread('C1', asked.ts).length;
    for (let time = 0; time < 3; time++) expect(await post()).toMatchObject({ status: 200, body: '' });
    expect(await post({ headers: sign(request.body, Date.now() - 200_000) })).toMatchObject({ status: 200 });
    // Whatever comes after it has been worked on too.
    const next = fake.mention('U1', 'C1', 'and now?');
    await expect.poll(() => fake.thread('C1', next.ts).at(-1)?.text, patience).toContain('All is well.');
    expect(fake.thread('C1', asked.ts)).toHaveLength(before);
  });

  test('of another kind, of another workspace or not of Slack at all is harmless', async () => {
    const { events, sign, fake, url } = await openHttp();
    const told = fake.log.length;
    const send = (body: string, type = 'application/json') =>
      postSlackRequest({ url: events, body, headers: { ...sign(body, Date.now()), 'content-type': type } });
    expect(await send('{"type":"app_rate_limited","team_id":"T1"}')).toMatchObject({ status: 200, body: '' });
    const foreign = { type: 'event_callback', team_id: 'T2', event_id: 'Ev9', event: { type: 'app_mention' } };
    expect(await send(JSON.stringify(foreign))).toMatchObject({ status: 200 });
    const guest = {
      ...foreign,
      team_id: 'T1',
      event: { type: 'app_mention', user_team: 'T2', user: 'U7', channel: 'C1' },
    };
    expect(await send(JSON.stringify(guest))).toMatchObject({ status: 200 });
    expect((await send('[]')).status).toBe(400);
    expect((await send('payload=%7B', 'application/x-www-form-urlencoded')).status).toBe(400);
    expect((await send('x', 'text/plain')).status).toBe(415);
    expect((await fetch(`${url}/slack/events`)).status).toBe(401);
    expect(fake.log.length).toBe(told);
  });
});

describe('a server whose Slack', () => {
  const failing = async (slack: Partial<SlackConfig>, more: Partial<Setup> = {}): Promise<string> => {
    try {
      await openWithSlack({ slack, ...more });
      return 'It was opened.';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('names an agent that is not served, or is set up wrongly, does not start', async () => {
    expect(await failing({ channels: { C1: { agent: 'leed' } } })).toContain(
      'slack.channels.C1.agent: the agent "leed" is not served here. Served: lead.',
    );
    expect(await failing({ signingSecret: 'both' })).toContain('Omit it, or `appToken`');
    expect(await failing({ botToken: 'xoxb-wrong' })).toContain('Slack refuses `slack.botToken`: invalid_auth');
    expect(await failing({ appToken: 'xapp-wrong' })).toContain('Slack refuses `slack.appToken`: invalid_auth');
    expect(await failing({ team: 'T9' })).toContain('belongs to the workspace T1, but `slack.team` is T9');
    expect(await failing({ people: { allowance: { usd: 1, per: 'day' } } })).toContain(
      'Required with an allowance in usd',
    );
  });

  test('cannot be reached at first starts, says so, and connects later', async () => {
    const clock = virtualClock(Date.now());
    const { fake, log } = await openWithSlack({
      server: { clock },
      fake: { faults: [{ method: 'auth.test', at: { 1: 503 } }] },
    });
    expect(fake.log.map(({ method }) => method)).toEqual(['auth.test']);
    expect(log).toEqual([]);
    await clock.advance(10_000);
    await expect.poll(() => fake.log.map(({ method }) => method), patience).toContain('apps.connections.open');
  });
});
