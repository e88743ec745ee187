// What is left when all is over, read back by the store's own code, audited and replayed: with what was noted on the way.
import type { RunId } from '#base';
import type { Agent, WorkspaceEntry, Frame } from '#contracts';
import { validate } from '#adapters/schemas';
import { openLogReader, ownerInWords } from '#adapters/stores';
import type { LogReader } from '#adapters/stores';
import { auditRun } from '#core/audit';
import { replayRun } from '#core/orchestration';
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
    { lives: () => false, inWords: ownerInWords },
  );
  const runs: RunHistory[] = [];
  for (const request of world.requests) runs.push(await readRun(world, reader, { ...request, agents }));
  const cells = runs.reduce((sum, { frames }) => sum + frames.filter(isBirth).length, 0);
  return {
    seed: world.seed,
    runs,
    modelCalls: world.modelCalls,
    toolCalls: world.toolCalls,
    writings: world.writings,
    followings: world.followings,
    refusals: world.refusals,
    notings: world.notings,
    askings: world.askings,
    mailings: world.mailings,
    book: bookIn(world, reader),
    lives: world.lives,
    blobs: [...world.blobs].map((ref) => ({ ref, there: world.disk.hasBlob(ref) })),
    owned: ended.by === 'done' ? livingOwned(world) : [],
    ended,
    clockWasSet: world.clockWasSet,
    queues: { batchMost: world.batchMost, eventsMost: world.scheduler.waitingMost, cellsMost: cells },
    uncaught: world.uncaught,
    damage: null,
  };
};

/** As it lies there, whatever its reader says. */
const bookIn = ({ disk }: World, reader: LogReader): History['book'] => {
  const pages = disk.pages().map((body) => JSON.parse(body) as WorkspaceEntry);
  try {
    reader.book();
    return { pages, problem: null };
  } catch (error) {
    return { pages, problem: String(error) };
  }
};

const isBirth = ({ record }: Frame): boolean =>
  record.type === 'open' || (record.type === 'begin' && record.birth !== undefined);

/** The rows of the dead may stay: whoever wants the run takes it. */
const livingOwned = (world: World): readonly RunId[] =>
  world.disk.owners().flatMap(([run, { pid }]) => (world.isAlive(pid) ? [run] : []));

const readRun = async (
  world: World,
  reader: LogReader,
  { agents, ...request }: RunRequest & { readonly agents: readonly Agent[] },
): Promise<RunHistory> => {
  const { run } = request;
  const length = world.disk.length(run);
  const bodies = Array.from({ length }, (_, no) => world.disk.body(run, no) ?? '');
  if (length === 0) return { ...request, ...nothing };
  const { frames, problems } = reader.inspect(run);
  const report = await auditRun(frames, { blob: async (ref) => reader.blob(ref), damaged: [] });
  return {
    ...request,
    frames,
    bodies,
    problems,
    audit: { ok: report.ok, problems: report.problems.map((problem) => JSON.stringify(problem)) },
    replay: await replayed(frames, agents, request.agent),
    listed: reader.list().find((one) => one.run === run),
  };
};

const nothing = {
  frames: [],
  bodies: [],
  problems: [],
  audit: { ok: true, problems: [] },
  replay: { ok: true, recorded: '', replayed: '', said: '' },
  listed: undefined,
} as const;

const replayed = async (
  frames: readonly Frame[],
  agents: readonly Agent[],
  plan: AgentPlan,
): Promise<RunHistory['replay']> => {
  const plans = new Map(withChildren(plan).map((one) => [one.name, one]));
  try {
    const { ok, hash, differences } = await replayRun(frames, (name) => agents.find((one) => one.name === name), {
      validate,
      equip: ({ name }) => deaf(plans.get(name)!),
    });
    return { ok, ...hash, said: differences.map((one) => JSON.stringify(one)).join('; ') };
  } catch (error) {
    return { ok: false, recorded: '', replayed: '', said: String(error) };
  }
};

/** Models and servers by name only. */
const deaf = ({ models, sources }: AgentPlan) => ({
  models: models.map(({ id, price, contextTokens, maxOutputTokens }) => ({
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
  })),
  sources: sources.map(({ name }) => ({ source: { name, list: unreachable }, only: null })),
});

const unreachable = (): never => {
  throw new Error('a replay reached for the world');
};
