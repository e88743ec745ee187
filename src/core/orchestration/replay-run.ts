// A whole run again from its log, offline: what today's code and today's agents would have decided.
import { canonicalJson, CloisterError } from '#base';
import type { Json } from '#base';
import type { Agent, AgentDefinition, Frame, ReplayReport, RunLog } from '#contracts';
import { LocalRun, readRecordedRun, ReplayComparison } from '#core/cells';
import type { RunChild } from '#core/cells';
import { framesHash } from './frames-hash.ts';
import { RootRun, runChild } from './root-run.ts';
import type { RunWorldPorts } from './root-run.ts';
import { rootAgent, rootOf } from './run-agent.ts';
import type { AgentOf } from './run-agent.ts';

/** What a replay still needs: how schemas judge, and which models and sources the agents have. Nothing of it is called to work. */
export type ReplayPorts = Pick<RunWorldPorts, 'validate' | 'equip' | 'windowOf'>;

/** The report without its events: those are made of the frames. */
export type ReplayResult = Omit<ReplayReport, 'events'> & { readonly made: readonly Frame[] };

export const replayRun = async (
  frames: readonly Frame[],
  agentOf: AgentOf,
  ports: ReplayPorts,
): Promise<ReplayResult> => {
  const recorded = readRecordedRun(frames);
  const agent = rootAgent(recorded, agentOf);
  const replaying = new ReplayComparison(frames);
  const world = unreachableWorld(frames[0]!, ports);
  const run = new LocalRun(world, runChild as RunChild, recorded.root.bornAt, { recorded, replaying });
  replaying.enter(recorded.root.birth.cell, agent.name);
  changedDefinitions(frames, agent, replaying);
  const root = new RootRun(run, world, rootOf(recorded, agent));
  root.outcome.catch(() => undefined);
  await replaying.idle;
  return reportOf(frames, replaying);
};

const reportOf = (frames: readonly Frame[], replaying: ReplayComparison): ReplayResult => {
  const made = replaying.frames();
  const last = made.at(-1)?.record;
  const differences = replaying.differences();
  const recorded = framesHash(frames);
  const isSame = made.length === frames.length && made.every((frame, index) => frame === frames[index]);
  const hash = { recorded, replayed: isSame ? recorded : framesHash(made) };
  const told = new Set(differences.map(({ frame }) => frame));
  return {
    run: frames[0]!.run,
    ok: differences.length === 0 && hash.recorded === hash.replayed,
    frames: frames.length,
    same: frames.filter(({ no }) => !told.has(no)).length,
    hash,
    outcome: last?.type === 'close' ? last.outcome : null,
    made,
    differences,
  };
};

const placeOf = ({ cell }: Frame, { name }: Agent) => ({ cell, agent: name, op: null });

/** Which parts of each definition are not what the run was recorded with. */
const changedDefinitions = (frames: readonly Frame[], agent: Agent, replaying: ReplayComparison): void => {
  const { record, definitions = [] } = frames[0]!;
  const was = record.type === 'open' && definitions.find(({ digest }) => digest === record.birth.digest)?.definition;
  if (!was || record.birth.digest === agent.digest) return;
  const parts = (Object.keys(was) as (keyof AgentDefinition)[]).filter((key) => !same(was[key], agent.definition[key]));
  replaying.addDifference(0, placeOf(frames[0]!, agent), `its definition has changed since: ${parts.join(', ')}`);
};

const same = (one: unknown, other: unknown): boolean =>
  canonicalJson((one ?? null) as Json) === canonicalJson((other ?? null) as Json);

/** Nothing can be reached from here. */
const unreachableWorld = ({ run, at }: Frame, { validate, equip, windowOf }: ReplayPorts): RunWorldPorts => ({
  run,
  log: discardingLog,
  clock: { now: () => at, timer: unreachable },
  ids: { random: () => 'unrecorded' },
  workspaces: { open: unreachable },
  validate,
  equip,
  ...(windowOf === undefined ? {} : { windowOf }),
  keep: unreachable,
  blob: unreachable,
  lane: () => undefined,
});

const discardingLog: RunLog = { append: () => undefined, durable: () => undefined, close: async () => undefined };

const unreachable = (): never => {
  throw new CloisterError('defect', 'A replay reached for the world.');
};
