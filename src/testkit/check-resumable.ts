// A workflow that is crashed after every record of its run and goes on from there.
//
//   R1. Nothing that was settled happens again: no model is asked again, no tool runs again.
//   R2. A tool that may not be repeated, and was under way, does not run again either: its model is told that nobody knows.
//   R3. Unless that happened, the run ends as it did without a crash.
import { AssertionError } from 'node:assert';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import { validate } from '#adapters/schemas';
import type { Agent, SessionResources, Frame, Outcome, Redact } from '#contracts';
import { checkRequest, resumeRun, startRun } from '#core/orchestration';
import { CrashWorld } from './crash-world.ts';
import { fakeWorldAround } from './fake-world.ts';
import type { FakeWorld } from './fake-world.ts';

/** What is run. Models must be rehearsals: they answer the same way each time. */
export type RehearsedWorkflow = {
  readonly agent: Agent;
  readonly input: string | JsonObject;
  equip(agent: Agent): SessionResources;
  readonly redact?: Redact | null;
};

/** Made anew for every run: rehearsals and tools remember what they were asked. */
export type Rehearse = (world: FakeWorld) => Promise<RehearsedWorkflow> | RehearsedWorkflow;

export type ResumableOptions = {
  /** Crash after every so many records; default 1. */
  readonly every?: number;
};

export type ResumableReport = {
  readonly records: number;
  readonly crashes: number;
  /** How many of the crashes hit a tool that may not be repeated. */
  readonly indeterminate: number;
  readonly outcome: Outcome;
};

const downMs = 60_000;

export const checkResumable = async (
  rehearse: Rehearse,
  { every = 1 }: ResumableOptions = {},
): Promise<ResumableReport> => {
  const whole = await wholeRun(rehearse);
  const { frames } = whole.world;
  let [crashes, indeterminate] = [0, 0];
  for (let kept = 1; kept < frames.length; kept += every) {
    crashes++;
    if (await crashAfter(rehearse, whole, kept)) indeterminate++;
  }
  return { records: frames.length, crashes, indeterminate, outcome: whole.outcome };
};

type Whole = { readonly world: CrashWorld; readonly outcome: Outcome };

const wholeRun = async (rehearse: Rehearse): Promise<Whole> => {
  const calls = { count: 0 };
  const time = fakeWorldAround(calls, 'first');
  const rehearsed = await rehearse(time);
  const world = new CrashWorld(rehearsed, time, calls);
  const goal = checkRequest(rehearsed.agent, rehearsed.input, undefined, {
    validate,
    equip: (agent) => rehearsed.equip(agent),
  });
  const outcome = await time.finish(startRun(world.agent, goal, undefined, world.world()).outcome);
  if (outcome.failure?.code === 'model_unscripted') throw new CloisterError('model_unscripted', outcome.failure.detail);
  return { world, outcome };
};

/** True when a tool that may not be repeated was under way. */
const crashAfter = async (rehearse: Rehearse, { world: first, outcome }: Whole, kept: number): Promise<boolean> => {
  const prefix = first.frames.slice(0, kept);
  const calls = { count: 0 };
  const time = fakeWorldAround(calls, `after ${kept}`);
  await time.advance(prefix.at(-1)!.at + downMs);
  const rehearsed = await rehearse(time);
  const world = new CrashWorld(rehearsed, time, calls);
  await world.inherit(first, kept);
  const live = resumeRun(prefix, (name) => world.agentOf(name), world.world());
  const resumed = await time.finish(live.outcome);
  const again = (what: string, detail: object): never => {
    throw new AssertionError({
      message: `Crashed after record ${kept} of ${first.frames.length} (${recordName(prefix.at(-1)!)}): ${what}`,
      operator: 'expectResumable',
      ...detail,
    });
  };
  const settled = settledIn(prefix);
  const ran = world.ran.filter(({ key }) => settled.has(key));
  if (ran.length > 0) again(`${ran.map(({ name }) => name).join(', ')} ran again, though it had ended.`, {});
  const held = underWay(prefix, settled);
  const repeated = world.ran.filter(({ key }) => held.has(key));
  if (repeated.length > 0)
    again(`${repeated.map(({ name }) => name).join(', ')} ran again, though it may not be repeated.`, {});
  const asks = countModels(world.frames) + countModels(prefix) - countModels(prefix, settled);
  if (world.asked > asks) again(`models were asked ${world.asked} times, though only ${asks} attempts were left.`, {});
  if (held.size === 0 && endOf(resumed) !== endOf(outcome))
    again('it ended differently.', { actual: endOf(resumed), expected: endOf(outcome) });
  return held.size > 0;
};

type Begin = Extract<Frame['record'], { type: 'begin' }>;

const keyOf = (cell: string, op: number): string => `${cell}/${op}`;

const settledIn = (frames: readonly Frame[]): ReadonlySet<string> =>
  new Set(frames.flatMap(({ cell, record }) => (record.type === 'settle' ? [keyOf(cell, record.op)] : [])));

const begun = (frames: readonly Frame[]): readonly { readonly key: string; readonly begin: Begin }[] =>
  frames.flatMap(({ cell, record }) =>
    record.type === 'begin' ? [{ key: keyOf(cell, record.op), begin: record }] : [],
  );

/** Steps that had begun, may not be repeated, and had not ended. */
const underWay = (frames: readonly Frame[], settled: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(
    begun(frames)
      .filter(({ key, begin }) => begin.do === 'step' && begin.repeat === 'never' && !settled.has(key))
      .map(({ key }) => key),
  );

/** All attempts at models; or only those that had ended. */
const countModels = (frames: readonly Frame[], settled?: ReadonlySet<string>): number =>
  begun(frames).filter(({ key, begin }) => begin.name.startsWith('model:') && (settled?.has(key) ?? true)).length;

const endOf = ({ status, output, data, failure, missing }: Outcome): string =>
  JSON.stringify({ status, output, data, failure: failure?.code ?? null, missing });

const recordName = ({ cell, record }: Frame): string => {
  const name =
    record.type === 'begin'
      ? `${record.name} begins`
      : record.type === 'settle'
        ? `operation ${record.op} ends`
        : record.type;
  return `${name} in ${cell.slice(0, cell.lastIndexOf('-'))}`;
};
