// A process may die at any moment: nothing is done twice, and no answer is lost.
// invariants: request-one-run, request-until-shown, turn-shown-whole, posted-once
import { expect, test } from 'vitest';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackProcess, SlackWorld } from './slack-world.ts';
import { slackTeam } from './slack-team.ts';

const details = (message: { readonly buttons: readonly { readonly text: string }[] }): boolean =>
  message.buttons.some(({ text }) => text === 'Details');

const appMessages = ({ slack }: SlackWorld, ts: string) => slack.thread('C1', ts).filter(({ isByApp }) => isByApp);

const runsOf = async ({ time }: SlackWorld, process: SlackProcess) =>
  (await time.finish(process.service.runs(person('U1'), { most: 50 }))).runs;

type Scene = {
  /** Whatever people do; it ends when everything is answered. */
  readonly act: (world: SlackWorld) => Promise<string>;
  /** What the thread then shows, in order. */
  readonly shows: readonly string[];
  readonly runs: number;
};

const until = (world: SlackWorld, ts: string, count: number): Promise<void> =>
  world.time.until(() => appMessages(world, ts).filter(details).length === count, `${count} answers`);

const scenes: Readonly<Record<string, Scene>> = {
  'a mention and a reply': {
    act: async (world) => {
      const { ts } = world.slack.mention('U1', 'C1', 'help me');
      await until(world, ts, 1);
      world.slack.say('U1', 'C1', 'Next', { thread: ts });
      await until(world, ts, 2);
      return ts;
    },
    shows: ['Answer to help me after | Helped.', 'Answer to Next'],
    runs: 2,
  },
  'a slash command': {
    act: async (world) => {
      // Slack sends a command once, and tells the person if nobody takes it.
      for (let tries = 0; tries < 3; tries++) {
        const { acknowledged } = world.slack.command('U1', 'C1', '/ask', 'By command');
        if ((await world.time.finish(acknowledged)) !== false) break;
        // Nobody repeats a command whose thread appears after all.
        await world.time.pass(20_000);
        if (world.slack.messages('C1').some(({ isByApp }) => isByApp)) break;
      }
      await world.time.until(() => world.slack.messages('C1').some(({ isByApp }) => isByApp));
      const { ts } = world.slack.messages('C1').find(({ isByApp }) => isByApp)!;
      await until(world, ts, 1);
      expect(world.slack.messages('C1').filter(({ isByApp }) => isByApp)).toHaveLength(1);
      return ts;
    },
    shows: ['Answer to By command'],
    runs: 1,
  },
  'a question and its answer': {
    act: async (world) => {
      const { ts } = world.slack.mention('U1', 'C1', 'send it');
      const card = () => appMessages(world, ts).find(({ buttons }) => buttons.some(({ text }) => text === 'Allow'));
      await world.time.until(() => card() !== undefined);
      // As a person would, whenever the card is still open.
      for (let tries = 0; appMessages(world, ts).filter(details).length === 0 && tries < 50; tries++) {
        const open = card();
        if (open !== undefined) world.slack.press('U1', open, 'Allow');
        await world.time.pass(20_000);
      }
      await until(world, ts, 1);
      return ts;
    },
    // What became of a call that was in flight is unknown to whoever resumes the run, which then says so.
    shows: ['Answer to send it after'],
    runs: 1,
  },
  'a second version': {
    act: async (world) => {
      const { ts } = world.slack.mention('U1', 'C1', 'Hello');
      await until(world, ts, 1);
      // A press is not repeated by Slack, but by the person.
      for (let tries = 0; appMessages(world, ts).filter(details).length < 2 && tries < 20; tries++) {
        world.slack.press('U1', appMessages(world, ts).find(details)!, 'Retry');
        await world.time.pass(60_000);
      }
      await until(world, ts, 2);
      return ts;
    },
    shows: ['Answer to Hello', 'Answer to Hello'],
    runs: 2,
  },
};

/** `at`: calls of the web API, or commits of the store. */
type Moment = { readonly at: 'call' | 'commit'; readonly nth: number; readonly when: 'before' | 'after' };

type Counts = { readonly call: number; readonly commit: number };

/** Plays a scene, kills the process at a moment and starts another one. Returns how many moments there were. */
const play = async ({ act, shows, runs }: Scene, moment: Moment | null): Promise<Counts> => {
  const team = slackTeam();
  const world = openSlackWorld(team);
  let process = await world.start();
  const counts = { call: 0, commit: 0 };
  let restarted = Promise.resolve();
  const crash = (): void => {
    const { kill } = process;
    kill();
    restarted = (async () => {
      process = await world.start();
    })();
  };
  const isDue = (at: Moment['at']): boolean => ++counts[at] === moment?.nth && moment.at === at;
  world.onCall = () => {
    if (!isDue('call')) return;
    if (moment!.when === 'before') crash();
    // The call has its effect, and nobody hears of it.
    else void world.time.timer(30, crash);
  };
  world.onCommit = (replace) => {
    if (!isDue('commit')) return replace();
    if (moment!.when === 'after') replace();
    crash();
    if (moment!.when === 'before') throw new Error('The process is gone.');
  };
  const ts = await act(world);
  await restarted;
  await world.time.pass(30_000);
  // An answer may go on in the next message, between two words.
  const text = world.said('C1', ts).join(' ').replaceAll(/\s+/gu, ' ');
  for (const shown of new Set(shows))
    expect(text.split(shown).length - 1, `“${shown}” in ${text}`).toBe(shows.filter((one) => one === shown).length);
  expect(appMessages(world, ts).filter(details)).toHaveLength(shows.length);
  expect(appMessages(world, ts).filter(({ isStreaming }) => isStreaming)).toEqual([]);
  expect(await runsOf(world, process)).toHaveLength(runs);
  expect(team.sent.length).toBeLessThanOrEqual(1);
  expect(world.disk.state.signals).toEqual([]);
  expect(world.slack.session('C1', ts)?.status).toBe('active');
  const { logged } = process;
  [world.onCall, world.onCommit] = [() => undefined, (replace) => replace()];
  await process.stop();
  expect(logged).toEqual([]);
  return counts;
};

const cases = Object.keys(scenes).flatMap((name) => (['call', 'commit'] as const).map((at) => [at, name] as const));

test.for(cases)('a crash at any %s: %s', { timeout: 600_000 }, async ([at, name]) => {
  const scene = scenes[name]!;
  const { [at]: count } = await play(scene, null);
  expect(count).toBeGreaterThan(3);
  for (let nth = 1; nth <= count; nth++)
    for (const when of ['before', 'after'] as const)
      await play(scene, { at, nth, when }).catch((error: unknown) => {
        throw new Error(`${when} ${at} ${nth}`, { cause: error });
      });
});
