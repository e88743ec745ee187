// Runs one seed to its end and lets the judges check the history.
import { Supervisor } from './supervisor.ts';
import { damageDisk } from './damage-disk.ts';
import type { Counts } from './faults.ts';
import { gatherHistory } from './gather-history.ts';
import type { History } from './history.ts';
import { judges, runJudges } from './judges/index.ts';
import type { Problem } from './judges/index.ts';
import { repeatDeliveries } from './mail-faults.ts';
import { Random } from './random.ts';
import { guardGlobals } from './real-globals.ts';
import type { Guard } from './real-globals.ts';
import { catchRejections } from './rejections.ts';
import { World } from './world.ts';
import { planSeed } from './workload.ts';

export type SeedOptions = {
  /** Pass one guard to many seeds, because installing it is slow. */
  readonly guard?: Guard;
  /** Rejections must be handled before the next event, as in a real process. Slower. */
  readonly strict?: boolean;
  /** The number of trace lines in the report; by default some, if the seed failed. */
  readonly lines?: number;
  /** Include the history in the report. */
  readonly keepHistory?: boolean;
};

export type SeedReport = {
  readonly seed: number;
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** A hash of everything that happened: frames, effects, requests, times. */
  readonly trace: string;
  readonly last: readonly string[];
  readonly figures: Counts;
  readonly faults: Counts;
  readonly checks: Counts;
  readonly history?: History;
};

/** More events than this in one phase are treated as an endless loop. Answers through another process look a hundred times each. */
const eventsMax = 15_000;

/** In every nth seed, a record is damaged at the end. */
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
  const supervisor = new Supervisor(world);
  const { scheduler, faults } = world;
  const { by, events } = await runAll(world, supervisor);
  guard.leave();
  await rejections.flushed();
  guard.enter();
  world.uncaught.push(...rejections.seen, ...guard.touched().map((name) => `${name} was called`));
  const gathered = await gatherHistory(world, supervisor.agents, { by, events, unfinished: supervisor.unfinished() });
  const history = { ...gathered, damage: seed % damagedEvery === 0 ? damageDisk(world) : null };
  const { problems, checks } = runJudges(judges, history);
  return {
    seed,
    ok: problems.length === 0,
    problems,
    trace: world.trace.hash(),
    last: world.trace.last(lines ?? (problems.length === 0 ? 0 : 60)),
    figures: {
      events: scheduler.events,
      runs: history.runs.length,
      'runs that never started': history.runs.filter(({ frames }) => frames.length === 0).length,
      cells: history.queues.cellsPeak,
      frames: history.runs.reduce((sum, { frames }) => sum + frames.length, 0),
      'model calls': history.modelCalls.length,
      'tool calls': history.toolCalls.length,
      processes: history.processes.length,
      ...countOutcomes(history),
      ...countWaits(history),
      cancels: history.sessions.filter(({ cancelledAt }) => cancelledAt !== null).length,
    },
    faults: faults.counts,
    checks,
    ...(keepHistory ? { history } : {}),
  };
};

/** Runs first with faults, then without. Returns how the second phase ended, and after how many events. */
const runAll = async (world: World, supervisor: Supervisor): Promise<Pick<History['ended'], 'by' | 'events'>> => {
  const { scheduler, faults } = world;
  const stopRepeating = repeatDeliveries(world);
  try {
    supervisor.start();
    const rough = await scheduler.run(() => supervisor.done || !faults.on, eventsMax);
    faults.stop();
    const before = scheduler.events;
    const by = rough === 'endless' ? rough : await runToEnd(world, supervisor);
    return { by, events: scheduler.events - before };
  } finally {
    stopRepeating();
  }
};

/** Waits until all runs end, closes all processes, and lets the remaining events happen. */
const runToEnd = async (world: World, supervisor: Supervisor): Promise<'done' | 'idle' | 'endless'> => {
  const { scheduler } = world;
  const runs = await scheduler.run(() => supervisor.done, eventsMax);
  if (runs !== 'done') return runs;
  let closed = false;
  const closing = supervisor.close().then(
    () => (closed = true),
    (error: unknown) => void world.uncaught.push(`closing failed: ${String(error)}`),
  );
  const close = await scheduler.run(() => closed, eventsMax);
  if (close !== 'done') return close;
  await closing;
  const rest = await scheduler.run(() => false, eventsMax);
  return rest === 'idle' ? 'done' : rest;
};

/** Counts the steps that waited for their hold, and those that were stopped meanwhile. */
const countWaits = ({ runs }: History): Counts => {
  const counts = { 'waits for a hold': 0, 'stopped while waiting for a hold': 0 };
  for (const { frames } of runs) {
    const waiting = new Set<string>();
    for (const { cell, record } of frames) {
      if (!('op' in record)) continue;
      const key = `${cell}/${record.op}`;
      const isStopped = record.type === 'settle' && record.failure?.code !== 'budget_refused';
      if (isStopped && waiting.has(key)) counts['stopped while waiting for a hold']++;
      if (record.type === 'begin' && record.waits === true) waiting.add(key);
      else if (waiting.delete(key) && record.type === 'held') counts['waits for a hold']++;
    }
  }
  return counts;
};

/** Counts the outcomes of the cells. */
const countOutcomes = ({ runs }: History): Counts => {
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
