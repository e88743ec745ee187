// Collects the history at the end: the logs, read back by the store's own code, audited and replayed, and everything that was
// observed on the way.
import { sha256 } from '#base';
import type { RunId } from '#base';
import type { Agent, WorkspaceEntry, Frame } from '#contracts';
import { validate } from '#adapters/schemas';
import { openLogReader, describeOwner } from '#testing/adapters/stores';
import type { LogReader } from '#testing/adapters/stores';
import { auditRun } from '#core/audit';
import { replayRun } from '#core/orchestration';
import { decodeArchive } from '#app/storage';
import { simulatedAttachments } from './models.ts';
import { withChildren } from './agents.ts';
import type { Disk } from './disk.ts';
import type { History, RunHistory, RunRemains, RunRequest, StoredBlob } from './history.ts';
import type { AgentPlan } from './plan.ts';
import type { World } from './world.ts';

export const gatherHistory = async (
  world: World,
  agents: readonly Agent[],
  ended: History['ended'],
): Promise<History> => {
  const reader = openReader(world.disk);
  const runs: RunHistory[] = [];
  for (const request of world.requests) runs.push(await readRun(world, { ...request, agents }));
  const cells = runs.reduce((sum, { frames }) => sum + frames.filter(startsCell).length, 0);
  return {
    seed: world.seed,
    runs,
    modelCalls: world.modelCalls,
    toolCalls: world.toolCalls,
    writings: world.writings,
    ownership: world.ownership.events,
    hasLeases: world.plan.leases !== null,
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
    storageActions: world.storageActions,
    remains: world.requests.map(({ run }) => readRemains(world, run)),
    storedBlobs: readBlobs(world),
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

/** A run that was deleted is read as it was then. */
const readRun = async (
  { disk }: World,
  { agents, ...request }: RunRequest & { readonly agents: readonly Agent[] },
): Promise<RunHistory> => {
  const { run } = request;
  const former = disk.length(run) === 0 ? disk.former(run) : undefined;
  const source = former ?? disk;
  const bodies = source.bodies(run);
  const isDeleted = former !== undefined;
  if (bodies.length === 0) return { ...request, isDeleted, ...emptyRun };
  const reader = openReader(source);
  const { frames, problems } = reader.inspect(run);
  const report = await auditRun(frames, { readBlob: async (ref) => reader.getBlob(ref), damaged: [] });
  return {
    ...request,
    isDeleted,
    frames,
    bodies,
    problems,
    audit: { ok: report.ok, problems: report.problems.map((problem) => JSON.stringify(problem)) },
    replay: await replay(frames, agents, request.agent),
    listed: reader.list().find((one) => one.run === run),
  };
};

const openReader = (disk: Disk): LogReader =>
  openLogReader(
    disk.rows(() => null),
    { isAlive: () => false, describe: describeOwner },
  );

const readRemains = ({ disk, archives }: World, run: RunId): RunRemains => ({
  run,
  frames: disk.length(run),
  isListed: disk.isListed(run),
  isOwned: disk.owners().some(([owned]) => owned === run),
  signals: disk.signals().filter((one) => one.run === run).length,
  hasFolder: disk.folders.has(run),
  isPending: disk.pendingDeletions().some((one) => one.run === run),
  former: disk.former(run)?.bodies(run) ?? null,
  archived: readArchive(archives.get(`${run}.cloister.gz`)),
});

const readArchive = (bytes: Uint8Array | undefined): RunRemains['archived'] => {
  if (bytes === undefined) return null;
  try {
    return { bodies: decodeArchive(bytes).bodies, sha256: sha256(bytes) };
  } catch {
    return null;
  }
};

const readBlobs = ({ disk, requests }: World): readonly StoredBlob[] =>
  disk.blobRefs().map((ref) => {
    const runsNaming = (bodiesOf: (run: RunId) => readonly string[]): readonly RunId[] =>
      requests.flatMap(({ run }) => (bodiesOf(run).some((body) => body.includes(ref)) ? [run] : []));
    return {
      ref,
      usedBy: runsNaming((run) => disk.bodies(run)),
      formerlyBy: runsNaming((run) => disk.former(run)?.bodies(run) ?? []),
    };
  });

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
