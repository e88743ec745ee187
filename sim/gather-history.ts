// Collects the history at the end: the logs, read back by the store's own code, audited and replayed, and everything that was
// observed on the way.
import type { RunId } from '#base';
import type { Agent, WorkspaceEntry, Frame } from '#contracts';
import { validate } from '#adapters/schemas';
import { openLogReader, describeOwner } from '#testing/adapters/stores';
import type { LogReader } from '#testing/adapters/stores';
import { auditRun } from '#core/audit';
import { replayRun } from '#core/orchestration';
import { simulatedAttachments } from './models.ts';
import { withChildren } from './agents.ts';
import type { History, RunHistory, RunRequest } from './history.ts';
import type { AgentPlan } from './plan.ts';
import type { World } from './world.ts';

export const gatherHistory = async (
  world: World,
  agents: readonly Agent[],
  ended: History['ended'],
): Promise<History> => {
  const reader = openLogReader(
    world.disk.rows(() => null),
    { isAlive: () => false, describe: describeOwner },
  );
  const runs: RunHistory[] = [];
  for (const request of world.requests) runs.push(await readRun(world, reader, { ...request, agents }));
  const cells = runs.reduce((sum, { frames }) => sum + frames.filter(startsCell).length, 0);
  return {
    seed: world.seed,
    runs,
    modelCalls: world.modelCalls,
    toolCalls: world.toolCalls,
    writings: world.writings,
    sessions: world.sessions,
    resumeRefusals: world.resumeRefusals,
    recordWrites: world.recordWrites,
    otherRequests: world.otherRequests,
    outsideMail: world.outsideMail,
    answers: world.answers,
    waitEnds: world.waitEnds,
    signals: world.signals,
    signalRemovals: world.signalRemovals,
    signalsLeft: world.disk.signals().map(({ run, id }) => ({ run, id })),
    diskFails: world.plan.faults.disk > 0,
    workspaceLog: readWorkspaceLog(world, reader),
    processes: world.processes,
    blobs: [...world.blobs].map((ref) => ({ ref, there: world.disk.hasBlob(ref) })),
    stillOwned: ended.by === 'done' ? runsOwnedByLiveProcesses(world) : [],
    ended,
    clockWasSet: world.clockWasSet,
    queues: { batchPeak: world.batchPeak, eventsPeak: world.scheduler.fromRuntimePeak, cellsPeak: cells },
    uncaught: world.uncaught,
    damage: null,
  };
};

/** The stored records, and what the store's reader says about them. */
const readWorkspaceLog = ({ disk }: World, reader: LogReader): History['workspaceLog'] => {
  const entries = disk.workspaceRecords().map((body) => JSON.parse(body) as WorkspaceEntry);
  try {
    reader.readWorkspaceLog();
    return { entries, problem: null };
  } catch (error) {
    return { entries, problem: String(error) };
  }
};

const startsCell = ({ record }: Frame): boolean =>
  record.type === 'open' || (record.type === 'begin' && record.birth !== undefined);

/** Ownership rows of dead processes may stay: any process may take over such a run. */
const runsOwnedByLiveProcesses = (world: World): readonly RunId[] =>
  world.disk.owners().flatMap(([run, { pid }]) => (world.isAlive(pid) ? [run] : []));

const readRun = async (
  world: World,
  reader: LogReader,
  { agents, ...request }: RunRequest & { readonly agents: readonly Agent[] },
): Promise<RunHistory> => {
  const { run } = request;
  const length = world.disk.length(run);
  const bodies = Array.from({ length }, (_, no) => world.disk.body(run, no) ?? '');
  if (length === 0) return { ...request, ...emptyRun };
  const { frames, problems } = reader.inspect(run);
  const report = await auditRun(frames, { readBlob: async (ref) => reader.getBlob(ref), damaged: [] });
  return {
    ...request,
    frames,
    bodies,
    problems,
    audit: { ok: report.ok, problems: report.problems.map((problem) => JSON.stringify(problem)) },
    replay: await replay(frames, agents, request.agent),
    listed: reader.list().find((one) => one.run === run),
  };
};

const emptyRun = {
  frames: [],
  bodies: [],
  problems: [],
  audit: { ok: true, problems: [] },
  replay: { ok: true, recorded: '', replayed: '', detail: '' },
  listed: undefined,
} as const;

const replay = async (
  frames: readonly Frame[],
  agents: readonly Agent[],
  plan: AgentPlan,
): Promise<RunHistory['replay']> => {
  const plans = new Map(withChildren(plan).map((one) => [one.name, one]));
  try {
    const { ok, hash, differences } = await replayRun(frames, (name) => agents.find((one) => one.name === name), {
      validate,
      resources: { resourcesFor: ({ name }) => unreachableResources(plans.get(name)!) },
    });
    return { ok, ...hash, detail: differences.map((one) => JSON.stringify(one)).join('; ') };
  } catch (error) {
    return { ok: false, recorded: '', replayed: '', detail: String(error) };
  }
};

/** Models and servers that have names but cannot be reached. */
const unreachableResources = ({ models, sources }: AgentPlan) => ({
  models: models.map(({ id, price, contextTokens, maxOutputTokens, structuredOutput }) => ({
    language: {
      specificationVersion: 'v4' as const,
      provider: 'sim',
      modelId: id,
      supportedUrls: {},
      doGenerate: unreachable,
      doStream: unreachable,
    },
    ...(price && { price }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    structuredOutput,
    attachments: simulatedAttachments,
  })),
  sources: sources.map(({ name }) => ({ source: { name, list: unreachable }, only: null })),
});

const unreachable = (): never => {
  throw new Error('a replay tried to reach the outside world');
};
