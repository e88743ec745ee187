// What one person may do, what they are told when it is too much, and how fast Slack hears that a message was taken.
// invariants: stored-before-acknowledged, press-acknowledged-first, workers-by-lock
import { expect, test } from 'vitest';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackWorld } from './slack-world.ts';
import { slackTeam } from './slack-team.ts';

const answerCount = ({ slack }: SlackWorld, ts: string): number =>
  slack.thread('C1', ts).filter(({ isByApp, buttons }) => isByApp && buttons.some(({ text }) => text === 'Details'))
    .length;

const told = (world: SlackWorld, user = 'U1'): readonly string[] =>
  world.slack.ephemerals(user).map(({ text }) => text);

test('too many requests a minute are refused privately, with the time to wait', async () => {
  const world = openSlackWorld({ ...slackTeam(), people: { requestsPerMinute: 2 } });
  const process = await world.start();
  const messages = ['one', 'two', 'three'].map((text) => world.slack.mention('U1', 'C1', text));
  world.slack.mention('U2', 'C1', 'other');
  await world.time.pass(20_000);
  expect(messages.map(({ ts }) => answerCount(world, ts))).toEqual([1, 1, 0]);
  expect(told(world)).toEqual(['You have sent too many requests in a short time. Try again in 30.0 s.']);
  expect(told(world, 'U2')).toEqual([]);
  await process.stop();
});

test('another version of an answer is a request too', async () => {
  const world = openSlackWorld({ ...slackTeam(), people: { requestsPerMinute: 1 } });
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'Hello');
  await world.time.until(() => answerCount(world, ts) === 1);
  const answer = world.slack.thread('C1', ts).at(-1)!;
  world.slack.press('U1', answer, 'Retry');
  await world.time.until(() => told(world).length === 1);
  expect(told(world)[0]).toContain('You have sent too many requests in a short time. Try again in');
  await world.time.pass(60_000);
  world.slack.press('U1', answer, 'Retry');
  await world.time.until(() => answerCount(world, ts) === 2);
  await process.stop();
});

test('a used allowance and a full server are refused privately, with the time to wait', async () => {
  const world = openSlackWorld({
    ...slackTeam(),
    people: { budget: { tokens: 5_000 }, allowance: { tokens: 5_001, per: 'day' } },
    slots: { running: 1, runningPerAgent: 1, waiting: 0 },
  });
  const process = await world.start();
  const first = world.slack.mention('U1', 'C1', 'slow');
  await world.time.pass(2_000);
  world.slack.mention('U2', 'C1', 'while the other runs');
  await world.time.until(() => answerCount(world, first.ts) === 1);
  expect(told(world, 'U2')).toEqual(['Too much is going on right now. Try again in 2.0 s.']);
  world.slack.mention('U1', 'C1', 'again');
  await world.time.until(() => told(world).length === 1);
  expect(told(world)[0]).toMatch(/^You have used up what you may spend for now\. Try again in \d+h\d\dm\.$/u);
  await process.stop();
});

test('an agent that is gone and a person without access are refused privately', async () => {
  const world = openSlackWorld({ ...slackTeam(), config: { channels: { C1: { agent: 'gone' } } }, users: ['U1'] });
  const process = await world.start();
  world.slack.mention('U1', 'C1', 'hello');
  world.slack.mention('U7', 'C1', 'hello');
  await world.time.pass(10_000);
  expect(told(world)).toEqual(['The agent that should answer here is not available to you.']);
  expect(told(world, 'U7')).toEqual(['You may not use this app.']);
  await process.stop();
});

test('a run that fails says why, and the thread can be used again', async () => {
  const world = openSlackWorld(slackTeam());
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'fail');
  await world.time.until(() => answerCount(world, ts) === 1);
  expect(world.said('C1', ts)[0]).toContain('There is no answer.');
  expect(world.slack.thread('C1', ts)[1]!.cards[0]).toMatchObject({ status: 'error' });
  world.slack.say('U1', 'C1', 'and now', { thread: ts });
  await world.time.until(() => answerCount(world, ts) === 2);
  await process.stop();
});

test('a message is acknowledged at once, however busy the server and slow Slack are', async () => {
  const world = openSlackWorld({
    ...slackTeam(),
    slots: { running: 1, runningPerAgent: 1, waiting: 1_000, waitingPerCaller: 1_000 },
    latencyMs: () => 900,
  });
  const process = await world.start();
  world.slack.mention('U2', 'C1', 'forever');
  await world.time.pass(3_000);
  const messages = [];
  for (let nth = 0; nth < 200; nth++) {
    messages.push(world.slack.mention('U1', 'C1', `hello ${nth}`));
    await world.time.pass(50);
  }
  await world.time.pass(5_000);
  const times = messages.flatMap(({ sent }) => sent.map(({ attempts }) => attempts[0]!.acknowledgedMs ?? Infinity));
  const [p99 = Infinity] = times.toSorted((one, other) => other - one).slice(Math.floor(times.length / 100));
  expect(p99).toBeLessThanOrEqual(500);
  expect(messages.every(({ sent }) => sent.every(({ attempts }) => attempts.length === 1))).toBe(true);
  // So is a press, before anything is looked up in Slack.
  const target = world.slack.call('chat.postMessage', {
    channel: 'C1',
    text: 'x',
    blocks: [
      {
        type: 'actions',
        elements: [
          { type: 'button', action_id: 'cloister_json', value: 'v', text: { type: 'plain_text', text: 'JSON' } },
        ],
      },
    ],
  });
  const press = world.slack.press('U1', { channel: 'C1', ts: target['ts'] as string }, 'JSON');
  await world.time.pass(5_000);
  expect(press.attempts[0]!.acknowledgedMs).toBeLessThanOrEqual(500);
  process.kill();
});

test('a thread gets at most one piece of text a second', async () => {
  const world = openSlackWorld(slackTeam());
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'slow');
  await world.time.until(() => answerCount(world, ts) === 1);
  const times = world.slack.log
    .filter(({ method }) => method === 'chat.startStream' || method === 'chat.appendStream')
    .map(({ at }) => at);
  expect(times.length).toBeGreaterThan(2);
  for (const [nth, at] of times.slice(1).entries()) expect(at - times[nth]!).toBeGreaterThanOrEqual(1_000);
  await process.stop();
});

test('of two processes with the same app, one answers each message, and the other takes over what it leaves', async () => {
  const team = slackTeam();
  const world = openSlackWorld(team);
  const { slack, time } = world;
  const [one, other] = [await world.start(), await world.start()];
  const messages = Array.from({ length: 12 }, (_, nth) =>
    slack.mention(nth % 2 === 0 ? 'U1' : 'U2', 'C1', `hello ${nth}`),
  );
  for (const { ts } of messages) slack.say('U1', 'C1', 'more', { thread: ts });
  await time.pass(700);
  one.kill();
  await time.until(
    () => messages.every(({ ts }, nth) => answerCount(world, ts) === (nth % 2 === 0 ? 2 : 1)),
    'all answers',
  );
  await time.pass(30_000);
  for (const [nth, { ts }] of messages.entries()) {
    const text = world.said('C1', ts).join(' ').replaceAll(/\s+/gu, ' ').trim();
    expect(text).toBe(`Answer to hello ${nth}${nth % 2 === 0 ? ' Answer to more' : ''}`);
  }
  expect((await time.finish(other.service.runs(person('U1'), { most: 99 }))).runs).toHaveLength(12);
  expect((await time.finish(other.service.runs(person('U2'), { most: 99 }))).runs).toHaveLength(6);
  expect(world.disk.state.signals).toEqual([]);
  await other.stop();
});
