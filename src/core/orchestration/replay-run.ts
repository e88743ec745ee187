// Replays a whole run offline from its log, to see what today's code and agents would decide.
import { CloisterError, isSameJson } from '#base';
import type { Agent, AgentDefinition, Frame, ReplayReport, RunLog, RunPorts } from '#contracts';
import { readRecordedRun, ReplayComparison } from '#core/cells';
import { hashInPieces } from './frames-hash.ts';
import { Run } from './run.ts';
import { resolveRootAgent, rootFromRecord } from './run-agent.ts';
import type { AgentLookup } from './run-agent.ts';

/** What a replay still needs: schema validation, and the models and sources of the agents. No model or source is called. */
type ReplayPorts = Pick<RunPorts, 'validate' | 'resources' | 'windowLimitFor'> & {
  /** Called again and again; a long replay waits for what it returns, so that others are served too. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
};

/** The report without its events, which are derived from the frames. */
type ReplayResult = Omit<ReplayReport, 'events'> & { readonly replayedFrames: readonly Frame[] };

export const replayRun = async (
  frames: readonly Frame[],
  findAgent: AgentLookup,
  ports: ReplayPorts,
): Promise<ReplayResult> => {
  const recorded = readRecordedRun(frames);
  const agent = resolveRootAgent(recorded, findAgent);
  const comparison = new ReplayComparison(frames, ports.pause);
  const world = unreachableWorld(frames[0]!, ports);
  const run = new Run(world, recorded.root.createdAt, { recorded, follower: comparison });
  comparison.enter(recorded.root.birth.cell, agent.name);
  reportChangedDefinitions(frames, agent, comparison);
  run.open(rootFromRecord(run, recorded, agent)).outcome.catch(() => undefined);
  await comparison.idle;
  return buildReport(frames, comparison, ports.pause);
};

const buildReport = async (
  frames: readonly Frame[],
  comparison: ReplayComparison,
  pause: ReplayPorts['pause'],
): Promise<ReplayResult> => {
  await pause?.();
  const replayedFrames = comparison.frames();
  const last = replayedFrames.at(-1)?.record;
  const differences = comparison.differences();
  const recorded = await hashInPieces(frames, pause);
  const isSame =
    replayedFrames.length === frames.length && replayedFrames.every((frame, index) => frame === frames[index]);
  const hash = { recorded, replayed: isSame ? recorded : await hashInPieces(replayedFrames, pause) };
  const differing = new Set(differences.map(({ frame }) => frame));
  return {
    run: frames[0]!.run,
    ok: differences.length === 0 && hash.recorded === hash.replayed,
    frames: frames.length,
    same: frames.filter(({ no }) => !differing.has(no)).length,
    hash,
    outcome: last?.type === 'close' ? last.outcome : null,
    replayedFrames,
    differences,
  };
};

const rootLocation = ({ cell }: Frame, { name }: Agent) => ({ cell, agent: name, op: null });

/** Reports which parts of the root definition differ from the recorded ones. */
const reportChangedDefinitions = (frames: readonly Frame[], agent: Agent, comparison: ReplayComparison): void => {
  const { record, definitions = [] } = frames[0]!;
  const recorded =
    record.type === 'open' && definitions.find(({ digest }) => digest === record.birth.digest)?.definition;
  if (!recorded || record.birth.digest === agent.digest) return;
  const parts = (Object.keys(recorded) as (keyof AgentDefinition)[]).filter(
    (key) => !isSameJson(recorded[key] ?? null, agent.definition[key] ?? null),
  );
  comparison.addDifference(0, rootLocation(frames[0]!, agent), `its definition has changed: ${parts.join(', ')}`);
};

/** Every side effect throws. */
const unreachableWorld = ({ run, at }: Frame, { validate, resources, windowLimitFor }: ReplayPorts): RunPorts => ({
  run,
  log: discardingLog,
  clock: { now: () => at, timer: unreachable },
  ids: { random: () => 'unrecorded' },
  workspaces: { open: unreachable },
  validate,
  resources,
  ...(windowLimitFor === undefined ? {} : { windowLimitFor }),
  storeBlob: unreachable,
  readBlob: unreachable,
  lane: () => undefined,
});

const discardingLog: RunLog = { append: () => undefined, durable: () => undefined, close: async () => undefined };

const unreachable = (): never => {
  throw new CloisterError('defect', 'A replay tried to perform a side effect.');
};
