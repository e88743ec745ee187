// Crashes a workflow after every record of its run and resumes it from there.
//
//   resumable-nothing-repeated. Of settled work, no model request and no tool call is made again.
//   resumable-unsafe-not-repeated. A tool call that is not safe to retry and was in flight is not repeated either: the model
//       is told that its outcome is unknown.
//   resumable-same-end. Unless `resumable-unsafe-not-repeated` applies, the run ends as it does without a crash.
import { AssertionError } from 'node:assert';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import { validate } from '#adapters/schemas';
import type { Agent, SessionResources, Frame, Outcome, Redact } from '#contracts';
import { checkRequest, checkResume, resumeRun, startRun } from '#core/orchestration';
import { CrashWorld } from './crash-world.ts';
import { createFakeWorld } from './fake-world.ts';
import type { FakeWorld } from './fake-world.ts';
import { OpenCalls } from './isolation/open-calls.ts';

/** Its models must be rehearsals, so that they answer the same way each time. */
export type RehearsedWorkflow = {
  readonly agent: Agent;
  readonly input: string | JsonObject;
  equip(agent: Agent): SessionResources;
  redactFor?(agent: Agent | null, models?: readonly string[]): Redact | null;
};

/** Called for every run, because rehearsals and tools remember their calls. */
type MakeRehearsedWorkflow = (world: FakeWorld) => Promise<RehearsedWorkflow> | RehearsedWorkflow;

/** The options of `expectResumable`. */
export type ResumableOptions = {
  /** Crash after every nth record; default 1. */
  readonly every?: number;
};

/** What `expectResumable` did; it throws if something did not hold. */
export type ResumableReport = {
  /** How many records the run has without a crash. */
  readonly records: number;
  /** After how many of them it was crashed and resumed. */
  readonly crashes: number;
  /** How many crashes hit a tool call that is not safe to retry. */
  readonly indeterminate: number;
  /** How it ended without a crash. */
  readonly outcome: Outcome;
};

const downMs = 60_000;

export const checkResumable = async (
  rehearse: MakeRehearsedWorkflow,
  { every = 1 }: ResumableOptions = {},
): Promise<ResumableReport> => {
  const uninterrupted = await runUninterrupted(rehearse);
  const { frames } = uninterrupted.world;
  let [crashes, indeterminate] = [0, 0];
  for (let records = 1; records < frames.length; records += every) {
    crashes++;
    if (await crashAfter(rehearse, uninterrupted, records)) indeterminate++;
  }
  return { records: frames.length, crashes, indeterminate, outcome: uninterrupted.outcome };
};

type UninterruptedRun = { readonly world: CrashWorld; readonly outcome: Outcome };

const runUninterrupted = async (rehearse: MakeRehearsedWorkflow): Promise<UninterruptedRun> => {
  const calls = new OpenCalls();
  const time = createFakeWorld(calls, 'first');
  const rehearsed = await rehearse(time);
  const world = new CrashWorld(rehearsed, time, calls);
  const goal = checkRequest(rehearsed.agent, rehearsed.input, undefined, {
    validate,
    modelsOf: (agent) => rehearsed.equip(agent).models,
  });
  const outcome = await time.finish(startRun(world.agent, goal, undefined, world.world()).outcome);
  if (outcome.failure?.code === 'model_unscripted') throw new CloisterError('model_unscripted', outcome.failure.detail);
  return { world, outcome };
};

/** Returns true if a tool call that is not safe to retry was in flight. */
const crashAfter = async (
  rehearse: MakeRehearsedWorkflow,
  { world: first, outcome }: UninterruptedRun,
  records: number,
): Promise<boolean> => {
  const prefix = first.frames.slice(0, records);
  const calls = new OpenCalls();
  const time = createFakeWorld(calls, `after ${records}`);
  await time.advance(prefix.at(-1)!.at + downMs);
  const rehearsed = await rehearse(time);
  const world = new CrashWorld(rehearsed, time, calls);
  await world.restoreFrom(first, records);
  const live = resumeRun(
    checkResume(prefix, (name) => world.agentNamed(name)),
    world.world(),
  );
  const resumed = await time.finish(live.outcome);
  const fail = (what: string, detail: object): never => {
    throw new AssertionError({
      message: `Crashed after record ${records} of ${first.frames.length} (${recordName(prefix.at(-1)!)}): ${what}`,
      operator: 'expectResumable',
      ...detail,
    });
  };
  const settled = settledOperations(prefix);
  const repeatedCalls = world.toolRuns.filter(({ key }) => settled.has(key));
  if (repeatedCalls.length > 0)
    fail(`${repeatedCalls.map(({ name }) => name).join(', ')} ran again although it had already finished.`, {});
  const inFlight = stepsInFlight(prefix, settled);
  const repeatedSteps = world.toolRuns.filter(({ key }) => inFlight.has(key));
  if (repeatedSteps.length > 0)
    fail(`${repeatedSteps.map(({ name }) => name).join(', ')} ran again although it is not safe to retry.`, {});
  const attemptsLeft =
    countModelAttempts(world.frames) + countModelAttempts(prefix) - countModelAttempts(prefix, settled);
  if (world.modelRequests > attemptsLeft)
    fail(`models were called ${world.modelRequests} times, but only ${attemptsLeft} attempts were left.`, {});
  if (inFlight.size === 0 && outcomeText(resumed) !== outcomeText(outcome))
    fail('the run ended differently.', { actual: outcomeText(resumed), expected: outcomeText(outcome) });
  return inFlight.size > 0;
};

type Begin = Extract<Frame['record'], { type: 'begin' }>;

const operationKey = (cell: string, op: number): string => `${cell}/${op}`;

const settledOperations = (frames: readonly Frame[]): ReadonlySet<string> =>
  new Set(frames.flatMap(({ cell, record }) => (record.type === 'settle' ? [operationKey(cell, record.op)] : [])));

const begunOperations = (frames: readonly Frame[]): readonly { readonly key: string; readonly begin: Begin }[] =>
  frames.flatMap(({ cell, record }) =>
    record.type === 'begin' ? [{ key: operationKey(cell, record.op), begin: record }] : [],
  );

/** Steps that began, did not settle, and are not safe to retry. */
const stepsInFlight = (frames: readonly Frame[], settled: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(
    begunOperations(frames)
      .filter(({ key, begin }) => begin.do === 'step' && begin.repeat === 'never' && !settled.has(key))
      .map(({ key }) => key),
  );

/** Counts all model attempts, or only the settled ones. */
const countModelAttempts = (frames: readonly Frame[], settled?: ReadonlySet<string>): number =>
  begunOperations(frames).filter(({ key, begin }) => begin.name.startsWith('model:') && (settled?.has(key) ?? true))
    .length;

const outcomeText = ({ status, output, data, failure, missing }: Outcome): string =>
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
