// Deliveries over Socket Mode, with Slack's own SDK.
// invariants: slack-acknowledge-after-storing, slack-socket-comes-back
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as bolt from '@slack/bolt';
import { expect, onTestFinished, test } from 'vitest';
import { SlackSocket } from '#adapters/slack';
import type { Clock, SlackDelivery, SlackReceiver } from '#contracts';
import { FakeSlack, listenSlack, virtualClock } from '#testkit';
import { compileCache } from '../../compile-cache.ts';

/** A second of waiting takes a millisecond. */
const fastClock: Clock = {
  now: Date.now,
  timer: (ms, due) => {
    const timer = setTimeout(due, ms / 1_000);
    return () => clearTimeout(timer);
  },
};

const openSocket = async (receive: SlackReceiver, { clock = fastClock, team = 'T1' } = {}) => {
  // Its time stands still: nothing is sent again because this machine is slow.
  const fakeClock = virtualClock(Date.now());
  const fake = new FakeSlack({ channels: ['C1'], clock: fakeClock });
  const wire = await listenSlack(fake);
  const log: string[] = [];
  const socket = new SlackSocket(bolt, {
    appToken: wire.appToken,
    url: wire.url,
    team,
    clock,
    receive,
    log: (text) => void log.push(text),
  });
  onTestFinished(async () => {
    await socket.stop();
    await wire.close();
  });
  return { fake, wire, socket, log, fakeClock };
};

const collect = () => {
  const got: SlackDelivery[] = [];
  const receive: SlackReceiver = async (delivery) => {
    got.push(delivery);
    return undefined;
  };
  return { got, receive };
};

test('each kind of delivery arrives once, in our form', async () => {
  const { got, receive } = collect();
  const { fake, socket } = await openSocket(receive);
  await socket.start();
  const { ts } = fake.mention('U1', 'C1', 'Hello.');
  fake.command('U1', 'C1', '/ask', 'what?');
  fake.shortcut('U1', 'ask', { channel: 'C1', ts });
  await expect.poll(() => got.length).toBe(4);
  expect(got.map(({ type }) => type).toSorted()).toEqual(['command', 'event', 'event', 'shortcut']);
  const [event] = got.filter((one) => one.type === 'event');
  expect(event).toMatchObject({ team: 'T1', retry: 0, event: { user: 'U1', channel: 'C1' } });
  expect(new Set(got.map(({ id }) => id)).size).toBe(4);
});

test('a delivery is acknowledged when it is stored and not before, and sent again if it could not be', async () => {
  const stored = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const got: SlackDelivery[] = [];
  const { fake, socket, fakeClock, log } = await openSocket(async (delivery) => {
    got.push(delivery);
    return stored[got.length - 1]!.promise;
  });
  await socket.start();
  const sent = fake.dm('U1', 'Hello.').sent[0]!;
  await expect.poll(() => got.length).toBe(1);
  expect(sent.attempts[0]?.acknowledgedMs).toBeUndefined();
  stored[0]!.reject(new Error('The disk is full.'));
  await expect.poll(() => log.length).toBe(1);
  // Slack waits for three seconds, then sends it again.
  await fakeClock.advance(3_000);
  await expect.poll(() => got.length).toBe(2);
  expect(got[1]).toMatchObject({ id: got[0]!.id, retry: 1 });
  expect(sent.attempts.map(({ acknowledgedMs }) => acknowledgedMs)).toEqual([undefined, undefined]);
  stored[1]!.resolve(undefined);
  await expect.poll(() => sent.attempts[1]?.acknowledgedMs).toBeDefined();
});

test('the answer to a dialog is the acknowledgement', async () => {
  const answer = { response_action: 'errors', errors: { count: 'A number, please.' } };
  const { fake, socket } = await openSocket(async () => answer);
  await socket.start();
  const sent = fake.command('U1', 'C1', '/ask', '');
  expect(await sent.acknowledged).toEqual(answer);
});

test.for(['asked to connect again', 'cut'])(
  'a socket that is %s comes back, and what is sent then arrives',
  async (how) => {
    const { got, receive } = collect();
    const { fake, wire, socket } = await openSocket(receive);
    await socket.start();
    const opened = (): number => fake.log.filter(({ method }) => method === 'apps.connections.open').length;
    for (let time = 1; time <= 3; time++) {
      if (how === 'cut') wire.cut();
      else wire.disconnect();
      await expect.poll(opened, { timeout: 10_000 }).toBeGreaterThan(time);
      await expect.poll(() => [socket.isConnected, wire.sockets], { timeout: 10_000 }).toEqual([true, 1]);
    }
    fake.dm('U1', 'Still there?');
    await expect.poll(() => got.length, { timeout: 5_000 }).toBe(1);
  },
);

test('while Slack is away it is tried again and again, and is told once', async () => {
  const { receive, got } = collect();
  const { fake, wire, socket, log } = await openSocket(receive);
  await socket.start();
  const end = fake.fail({ method: 'apps.connections.open', always: 'network' });
  const refused = (): number => fake.log.filter(({ fault }) => fault !== undefined).length;
  wire.cut();
  await expect.poll(refused, { timeout: 10_000 }).toBeGreaterThan(5);
  expect(log).toEqual(['The connection to Slack is lost; trying again.']);
  end();
  await expect.poll(() => socket.isConnected, { timeout: 10_000 }).toBe(true);
  fake.dm('U1', 'Back?');
  await expect.poll(() => got.length, { timeout: 5_000 }).toBe(1);
});

test('a wrong app-level token is refused at once, with what to do', async () => {
  const { wire } = await openSocket(collect().receive);
  const open = (appToken: string): Promise<void> =>
    new SlackSocket(bolt, {
      appToken,
      url: wire.url,
      team: 'T1',
      clock: fastClock,
      receive: collect().receive,
      log: () => undefined,
    }).start();
  await expect(open('xapp-wrong')).rejects.toThrow('Slack refuses `slack.appToken`: invalid_auth. Create an app-level');
  await expect(open(wire.botToken)).rejects.toThrow('It is the other kind of token');
});

test('deliveries of other workspaces are acknowledged and dropped', async () => {
  const { got, receive } = collect();
  const { fake, socket } = await openSocket(receive, { team: 'T2' });
  await socket.start();
  const sent = [...fake.mention('U1', 'C1', 'Hello.').sent, fake.command('U1', 'C1', '/ask', 'what?')];
  for (const { acknowledged } of sent) expect(await acknowledged).not.toBe(false);
  expect(got).toEqual([]);
});

test('after it was stopped nothing keeps the process alive', async () => {
  const { wire } = await openSocket(collect().receive);
  const script = fileURLToPath(new URL('socket-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--conditions=cloister-source', script, wire.url, wire.appToken], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: compileCache(),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  child.stdout.on('data', (text: Buffer) => (printed += text.toString()));
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(printed).toBe('connected\nstopped\n');
}, 60_000);
