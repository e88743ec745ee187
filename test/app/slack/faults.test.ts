// Whole processes under random faults: calls that are refused, limited, lost or slow, outages of many minutes, deliveries that come
// again, processes that die and start again. What people asked is answered whole, once, in its thread.
// invariants: request-one-run, request-until-shown, turn-shown-whole, posted-once, delivered-once
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SlackFault, SlackSent } from '#testkit';
import { testRuns } from '../../test-seed.ts';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackProcess, SlackWorld } from './slack-world.ts';
import { slackTeam } from './slack-team.ts';

type Act =
  | { readonly do: 'mention'; readonly user: string; readonly channel: string; readonly how: string }
  | { readonly do: 'reply'; readonly to: number; readonly how: string }
  | { readonly do: 'again'; readonly which: number }
  | { readonly do: 'allow' }
  | { readonly do: 'die' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'outage'; readonly ms: number; readonly fault: SlackFault; readonly channel: string | null };

const how = fc.constantFrom('Hello', 'Hello', 'slow', 'help', 'send');
const channel = fc.constantFrom('C1', 'C2');

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('mention' as const), user: fc.constantFrom('U1', 'U2'), channel, how }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reply' as const), to: fc.nat(9), how }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('again' as const), which: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.constant({ do: 'allow' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'die' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(0, 300, 1_200, 4_000, 20_000, 400_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('outage' as const),
      ms: fc.constantFrom(2_000, 20_000, 120_000, 1_500_000),
      fault: fc.constantFrom<SlackFault>('network', 'hang', 'lost', 'lost in silence', 503, { retryAfterMs: 30_000 }),
      channel: fc.option(channel),
    }),
  },
);

const schedule = fc.record({
  acts: fc.array(act, { minLength: 3, maxLength: 14, size: 'max' }),
  seed: fc.nat(),
  percent: fc.constantFrom(0, 5, 15, 30),
});

type Asked = { readonly channel: string; readonly thread: string; readonly user: string; readonly goal: string };

const answerOf = (goal: string): string => {
  if (goal.startsWith('slow')) return `One. Two. Three. Four of ${goal}.`;
  if (goal.startsWith('help')) return `Answer to ${goal} after | Helped.`;
  return `Answer to ${goal}`;
};

const shownIn = (world: SlackWorld, { channel: where, thread }: Asked): string =>
  world.said(where, thread).join(' ').replaceAll(/\s+/gu, ' ');

const isAnswered = (world: SlackWorld, asked: Asked): boolean => shownIn(world, asked).includes(answerOf(asked.goal));

/** As a person would: the newest card that waits, in each thread. */
const allowAll = ({ slack }: SlackWorld, threads: readonly Asked[]): void => {
  for (const { channel: where, thread, user } of threads) {
    const open = slack.thread(where, thread).findLast(({ buttons }) => buttons.some(({ text }) => text === 'Allow'));
    if (open !== undefined) slack.press(user, open, 'Allow');
  }
};

const checkSchedule = async (given: {
  readonly acts: readonly Act[];
  readonly seed: number;
  readonly percent: number;
}): Promise<void> => {
  const team = slackTeam();
  const world = openSlackWorld({
    ...team,
    config: { channels: { C1: { agent: 'lead' }, C2: { agent: 'lead' } } },
    slack: { channels: ['C1', 'C2'] },
  });
  const { slack, time } = world;
  let process: SlackProcess = await world.start();
  const kinds: readonly SlackFault[] = [
    'network',
    'hang',
    'lost',
    'lost in silence',
    'close stream',
    503,
    { slowMs: 4_000 },
    { retryAfterMs: 5_000 },
  ];
  const ends = given.percent === 0 ? [] : [slack.fail({ seed: given.seed, percent: given.percent, kinds: [...kinds] })];
  const asked: Asked[] = [];
  const threads: Asked[] = [];
  const sent: SlackSent[] = [];
  for (const one of given.acts)
    switch (one.do) {
      case 'mention': {
        const goal = `${one.how} q${asked.length}x`;
        const message = slack.mention(one.user, one.channel, goal);
        sent.push(...message.sent);
        const request = { channel: one.channel, thread: message.ts, user: one.user, goal };
        asked.push(request);
        threads.push(request);
        break;
      }
      case 'reply': {
        const thread = threads[one.to % Math.max(1, threads.length)];
        if (thread === undefined) break;
        const goal = `${one.how} q${asked.length}x`;
        sent.push(...slack.say(thread.user, thread.channel, goal, { thread: thread.thread }).sent);
        asked.push({ ...thread, goal });
        break;
      }
      case 'again': {
        const again = sent[one.which % Math.max(1, sent.length)];
        if (again !== undefined) slack.sendAgain(again);
        break;
      }
      case 'allow':
        allowAll(world, threads);
        break;
      case 'die': {
        process.kill();
        process = await world.start();
        break;
      }
      case 'wait':
        await time.pass(one.ms);
        break;
      case 'outage':
        slack.fail({
          fromMs: time.now(),
          untilMs: time.now() + one.ms,
          always: one.fault,
          ...(one.channel === null ? {} : { channel: one.channel }),
        });
        break;
    }
  // Faults end, and people allow what is asked.
  await time.pass(1_600_000);
  for (const end of ends) end();
  for (let tries = 0; tries < 40 && !asked.every((one) => isAnswered(world, one)); tries++) {
    allowAll(world, threads);
    await time.pass(60_000);
  }
  await time.until(() => world.disk.state.signals.length === 0, 'an empty inbox');
  await time.pass(60_000);
  for (const one of asked) {
    const shown = shownIn(world, one);
    expect(shown.split(answerOf(one.goal)).length - 1, `“${answerOf(one.goal)}” in “${shown}”`).toBe(1);
    for (const other of asked.filter(({ thread }) => thread !== one.thread)) expect(shown).not.toContain(other.goal);
  }
  for (const { channel: where, thread } of threads) {
    expect(slack.thread(where, thread).filter(({ isStreaming }) => isStreaming)).toEqual([]);
    expect(slack.session(where, thread)?.status).toBe('active');
    const mine = asked.filter((one) => one.thread === thread);
    const ended = slack.thread(where, thread).filter(({ buttons }) => buttons.some(({ text }) => text === 'Details'));
    expect(ended, JSON.stringify(mine)).toHaveLength(mine.length);
  }
  for (const user of ['U1', 'U2']) {
    const { runs } = await time.finish(process.service.runs(person(user), { most: 99 }));
    expect(runs).toHaveLength(asked.filter((one) => one.user === user).length);
  }
  expect(team.sent.length).toBeLessThanOrEqual(asked.filter(({ goal }) => goal.startsWith('send')).length);
  process.kill();
};

test(
  'whatever fails, everything that people asked is answered whole, once, in its thread',
  { timeout: 900_000 },
  async () => {
    const property = fc.asyncProperty(schedule, checkSchedule);
    expect(await fc.assert(property, { numRuns: testRuns(150) })).toBeUndefined();
  },
);
