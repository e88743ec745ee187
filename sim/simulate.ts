// One seed: the world, the people, the end, and what the judges say.
import { Caretaker } from './caretaker.ts';
import { damageDisk } from './damage-disk.ts';
import type { Counts } from './faults.ts';
import { gatherHistory } from './gather-history.ts';
import type { History } from './history.ts';
import { hear, judges } from './judges/index.ts';
import type { Problem } from './judges/index.ts';
import { repeatDeliveries } from './mail-faults.ts';
import { Random } from './random.ts';
import { guardGlobals } from './real-globals.ts';
import type { Guard } from './real-globals.ts';
import { catchRejections } from './rejections.ts';
import { World } from './world.ts';
import { planSeed } from './workload.ts';

export type SeedOptions = {
  /** Handed in when many seeds run: it is slow to set up. */
  readonly guard?: Guard;
  /** Rejections must be looked at before the next event, as in a real process. Slower. */
  readonly strict?: boolean;
  /** How many lines of the trace the report has; default: some when it failed. */
  readonly lines?: number;
  /** Hand out what the judges saw. */
  readonly keepHistory?: boolean;
};

export type SeedReport = {
  readonly seed: number;
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** Over all that happened: frames, effects, requests, times. */
  readonly trace: string;
  readonly last: readonly string[];
  readonly figures: Counts;
  readonly faults: Counts;
  readonly checks: Counts;
  readonly history?: History;
};

/** More than this in one stretch is taken for endless. */
const eventsMax = 5_000;

/** In every so many seeds a record is damaged at the end. */
const damagedEvery = 10;

export const runSeed = async (seed: number, options: SeedOptions = {}): Promise<SeedReport> => {
  const guard = options.guard ?? guardGlobals();
  const rejections = catchRejections();
  try {
    guard.enter();
    const report = await simulate(seed, options, guard, rejections);
    return report;
  } finally {
    guard.leave();
    rejections.stop();
    if (options.guard === undefined) guard.remove();
  }
};

type Rejections = ReturnType<typeof catchRejections>;

const simulate = async (
  seed: number,
  { strict = false, lines, keepHistory = false }: SeedOptions,
  guard: Guard,
  rejections: Rejections,
): Promise<SeedReport> => {
  const random = new Random(`seed ${seed}`);
  const world = new World(seed, planSeed(random.fork('plan')), random, strict);
  const caretaker = new Caretaker(world);
  const { scheduler, faults } = world;
  const { by, events } = await runAll(world, caretaker);
  guard.leave();
  await rejections.told();
  guard.enter();
  world.uncaught.push(...rejections.seen, ...guard.touched().map((name) => `${name} was called`));
  const gathered = await gatherHistory(world, caretaker.agents, { by, events, unfinished: caretaker.unfinished() });
  const history = { ...gathered, damage: seed % damagedEvery === 0 ? damageDisk(world) : null };
  const { problems, checks } = hear(judges, history);
  return {
    seed,
    ok: problems.length === 0,
    problems,
    trace: world.trace.hash(),
    last: world.trace.last(lines ?? (problems.length === 0 ? 0 : 60)),
    figures: {
      events: scheduler.events,
      runs: history.runs.length,
      'runs that never began': history.runs.filter(({ frames }) => frames.length === 0).length,
      cells: history.queues.cellsMost,
      frames: history.runs.reduce((sum, { frames }) => sum + frames.length, 0),
      'model calls': history.modelCalls.length,
      'tool calls': history.toolCalls.length,
      processes: history.lives.length,
      ...ends(history),
      cancels: history.followings.filter(({ cancelledAt }) => cancelledAt !== null).length,
    },
    faults: faults.counts,
    checks,
    ...(keepHistory ? { history } : {}),
  };
};

/** First in a rough world, then in a kind one: how that went, and in how many events. */
const runAll = async (world: World, caretaker: Caretaker): Promise<Pick<History['ended'], 'by' | 'events'>> => {
  const { scheduler, faults } = world;
  const once = repeatDeliveries(world);
  try {
    caretaker.begin();
    const rough = await scheduler.run(() => caretaker.done || !faults.on, eventsMax);
    faults.stop();
    const before = scheduler.events;
    const by = rough === 'endless' ? rough : await toTheEnd(world, caretaker);
    return { by, events: scheduler.events - before };
  } finally {
    once();
  }
};

/** All runs end, all processes are closed, and what is still under way in the world comes to nothing. */
const toTheEnd = async (world: World, caretaker: Caretaker): Promise<'done' | 'idle' | 'endless'> => {
  const { scheduler } = world;
  const runs = await scheduler.run(() => caretaker.done, eventsMax);
  if (runs !== 'done') return runs;
  let closed = false;
  const closing = caretaker.close().then(
    () => (closed = true),
    (error: unknown) => void world.uncaught.push(`closing failed: ${String(error)}`),
  );
  const close = await scheduler.run(() => closed, eventsMax);
  if (close !== 'done') return close;
  await closing;
  const rest = await scheduler.run(() => false, eventsMax);
  return rest === 'idle' ? 'done' : rest;
};

/** How the cells ended. */
const ends = ({ runs }: History): Counts => {
  const counts: Counts = {};
  for (const { frames } of runs)
    for (const { record } of frames) {
      const outcome =
        record.type === 'close' ? record.outcome : record.type === 'settle' ? record.ended?.outcome : undefined;
      if (outcome === undefined) continue;
      const how = `cells ${outcome.status}`;
      counts[how] = (counts[how] ?? 0) + 1;
    }
  return counts;
};
