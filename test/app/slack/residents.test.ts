// A thread of a long-lived agent: one run, to which replies are sent, and whose messages appear once each.
// invariants: resident-stays, resident-said-once
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Clock } from '#contracts';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackProcess, SlackWorld } from './slack-world.ts';

/** Answers what it is told. With `later`, it starts a scout whose result it tells unasked. */
const clerk = (clock: Clock): readonly Agent[] => {
  const model = rehearse(
    [
      { when: { agent: 'scout' }, reply: { text: 'Scouted.', delayMs: 30_000 } },
      {
        reply: ({ lastText, tools, messages }) => {
          if (lastText.includes('Scouted.')) return { text: 'News: the scout is back.', delayMs: 200 };
          if (
            lastText.includes('later') &&
            !JSON.stringify(messages).includes('sub_agent_id') &&
            tools.includes('spawn_agent')
          )
            return {
              calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout', initial_message: 'Look.' } }],
              delayMs: 200,
            };
          const [word = '?'] = /word-\d+/u.exec(lastText) ?? [];
          return { text: `Noted ${word}.`, delayMs: 300 };
        },
      },
    ],
    { clock, keepRequests: false },
  );
  const common = { description: 'Works.', prompt: 'Work.', models: [model], limits: { maxRetries: 0 } };
  const scout = defineAgent({ ...common, name: 'scout' });
  return [defineAgent({ ...common, name: 'lead', tools: ['spawn_agent'], spawns: { agents: [scout] } })];
};

const config = { channels: { C1: { agent: 'lead', resident: true } } } as const;

const shows = (world: SlackWorld, ts: string, text: string): Promise<void> =>
  world.time.until(() => world.said('C1', ts).some((one) => one.includes(text)), text);

const runsOf = async ({ time }: SlackWorld, { service }: SlackProcess) =>
  (await time.finish(service.runs(person('U1'), { most: 9 }))).runs;

const times = (world: SlackWorld, ts: string, text: string): number =>
  world.said('C1', ts).join('\n').split(text).length - 1;

test('replies are messages to one run, and what it says unasked appears in its thread', async () => {
  const world = openSlackWorld({ agents: clerk, config });
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'word-1');
  await shows(world, ts, 'Noted word-1.');
  world.slack.say('U1', 'C1', 'word-2 later', { thread: ts });
  await shows(world, ts, 'News: the scout is back.');
  world.slack.say('U1', 'C1', 'word-3', { thread: ts });
  await shows(world, ts, 'Noted word-3.');
  await world.time.pass(30_000);
  expect(await runsOf(world, process)).toHaveLength(1);
  for (const text of ['Noted word-1.', 'Noted word-3.', 'News']) expect(times(world, ts, text), text).toBe(1);
  world.slack.say('U1', 'C1', 'stop', { thread: ts });
  await world.time.until(() => world.disk.state.signals.length === 0, 'the end of the run');
  expect((await runsOf(world, process)).map(({ status }) => status)).toEqual(['cancelled']);
  // The next message begins another one.
  world.slack.say('U1', 'C1', 'word-4', { thread: ts });
  await shows(world, ts, 'Noted word-4.');
  expect(await runsOf(world, process)).toHaveLength(2);
  expect(process.logged).toEqual([]);
  await process.stop();
});

test('what a long-lived agent says appears once, at whatever call the process dies', { timeout: 600_000 }, async () => {
  const play = async (nth: number | null): Promise<number> => {
    const world = openSlackWorld({ agents: clerk, config });
    let process = await world.start();
    let calls = 0;
    let restarted = Promise.resolve();
    world.onCall = () => {
      if (++calls !== nth) return;
      process.kill();
      restarted = (async () => {
        process = await world.start();
      })();
    };
    const { ts } = world.slack.mention('U1', 'C1', 'word-1');
    await shows(world, ts, 'Noted word-1.');
    world.slack.say('U1', 'C1', 'word-2', { thread: ts });
    await shows(world, ts, 'Noted word-2.');
    await world.time.pass(60_000);
    await restarted;
    for (const text of ['Noted word-1.', 'Noted word-2.']) expect(times(world, ts, text), `${nth}: ${text}`).toBe(1);
    expect(await runsOf(world, process)).toHaveLength(1);
    world.onCall = () => undefined;
    process.kill();
    return calls;
  };
  const calls = await play(null);
  for (let nth = 1; nth <= calls; nth++) await play(nth);
});

test('a long-lived agent whose thread takes no more messages goes on, and costs nothing meanwhile', async () => {
  const world = openSlackWorld({ agents: clerk, config });
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'word-1');
  await shows(world, ts, 'Noted word-1.');
  const end = world.slack.fail({ method: 'chat.*', always: { error: 'is_archived' } });
  world.slack.say('U1', 'C1', 'word-2', { thread: ts });
  await world.time.pass(60_000);
  const calls = world.slack.log.length;
  await world.time.pass(3_600_000);
  expect(world.slack.log.length).toBe(calls);
  expect(process.logged).toEqual([expect.stringContaining('is not shown: Slack does not let this app write')]);
  end();
  world.slack.say('U1', 'C1', 'word-3', { thread: ts });
  await shows(world, ts, 'Noted word-3.');
  expect(await runsOf(world, process)).toHaveLength(1);
  await process.stop();
});

test('a long-lived agent that waits for a slot is stopped before it begins', async () => {
  const world = openSlackWorld({ agents: clerk, config, slots: { running: 1, runningPerAgent: 1 } });
  const process = await world.start();
  world.slack.mention('U2', 'C1', 'word-1');
  await world.time.pass(100);
  const { ts } = world.slack.mention('U1', 'C1', 'word-2');
  await world.time.pass(100);
  world.slack.say('U1', 'C1', 'stop', { thread: ts });
  await world.time.pass(20_000);
  expect(world.slack.ephemerals('U1').map(({ text }) => text)).toEqual(['Stopped before it began.']);
  expect(await runsOf(world, process)).toEqual([]);
  await process.stop();
});
