// A run: open the root cell, cross the goal in, run the session, cross the result out, close.
import { CloisterError, utf8Bytes } from '#base';
import type { CellId } from '#base';
import type {
  Agent,
  Birth,
  Budget,
  ChildOperation,
  Crossed,
  Frame,
  Model,
  Outcome,
  Validate,
  Workspaces,
} from '#contracts';
import { Cell, envelopeOf, LocalContext, LocalRun, readRecords } from '#core/cells';
import type { Home, RunChild, RunPorts } from '#core/cells';
import { cross, crossedBefore, grantsOf } from '#core/crossings';
import { builtinTool, plainTool, runSession } from '#core/session';
import type { SessionPorts, ToolRunner } from '#core/session';
import { agentTool, capsOf, deadlineOf, goalBytesMax } from './agent-tool.ts';
import { gatherTool } from './gather.ts';

/** The world of one run. */
export type World = RunPorts & {
  readonly workspaces: Workspaces;
  readonly validate: Validate;
  /** For agents that name no model of their own. */
  readonly models: readonly Model[];
  blob(ref: string): Promise<Uint8Array>;
};

/** A run under way. `outcome` rejects only when the run could not be recorded. */
export type LiveRun = { readonly cell: CellId; readonly outcome: Promise<Outcome>; cancel(): void };

/** Throws what is wrong with a goal or an agent before anything is recorded. */
export const checkRequest = (
  agent: Agent,
  goal: string,
  budget: Budget | undefined,
  models: readonly Model[],
): void => {
  if (typeof goal !== 'string' || goal.trim() === '') throw new CloisterError('goal_empty');
  const bytes = utf8Bytes(goal);
  if (bytes > goalBytesMax)
    throw new CloisterError('goal_too_large', `It has ${bytes} bytes; at most ${goalBytesMax} are taken.`);
  checkModels(agent, budget?.usd ?? agent.budget.usd, models, []);
};

const checkModels = (
  agent: Agent,
  usd: number | undefined,
  models: readonly Model[],
  above: readonly Agent[],
): void => {
  if (above.includes(agent)) return;
  const used = agent.models.length > 0 ? agent.models : models;
  if (used.length === 0) throw new CloisterError('model_missing', `Agent "${agent.name}".`);
  const cap = agent.budget.usd ?? usd;
  const unpriced = used.find(({ price }) => price === undefined);
  if (cap !== undefined && unpriced !== undefined)
    throw new CloisterError('model_unpriced', `Agent "${agent.name}", model "${unpriced.language.modelId}".`);
  for (const child of agent.agents) checkModels(child, cap, models, [...above, agent]);
};

export const startRun = (agent: Agent, goal: string, budget: Budget | undefined, world: World): LiveRun => {
  const run = new LocalRun(world, childRunner(world), null);
  const at = world.clock.now();
  const cell = `${agent.name}-${world.ids.random()}` as CellId;
  const asked: Agent = budget === undefined ? agent : { ...agent, budget: { ...agent.budget, ...budget } };
  const birth: Birth = {
    cell,
    parent: null,
    agent: agent.name,
    digest: agent.digest,
    depth: 0,
    caps: capsOf(asked, {}),
    deadline: deadlineOf(asked, 0, at),
  };
  const grants = grantsOf(agent, cell, 'outside');
  const passed = cross(
    { kind: 'goal', from: 'outside', to: cell, content: goal, labels: [] },
    { grants, ledger: run.ledger, at },
  );
  run.write(cell, at, { type: 'open', birth }, { born: agent });
  return liveRun(run, world, agent, birth, at, 'refused' in passed ? null : passed.crossed);
};

/** Goes on with an interrupted run: settled operations are not repeated. */
export const resumeRun = (
  frames: readonly Frame[],
  agentOf: (name: string) => Agent | undefined,
  world: World,
): LiveRun => {
  const recorded = readRecords(frames);
  const { birth, bornAt, contents } = recorded.root;
  if (frames.some(({ record }) => record.type === 'close')) throw new CloisterError('run_ended');
  const agent = agentOf(birth.agent);
  if (agent === undefined) throw new CloisterError('agent_unknown', `The run is of "${birth.agent}".`);
  if (agent.digest !== birth.digest)
    throw new CloisterError('replay_differs', `The definition of "${agent.name}" has changed since.`);
  const goal = contents.find(({ seq }) => seq === 0);
  const run = new LocalRun(world, childRunner(world), recorded);
  return liveRun(
    run,
    world,
    agent,
    birth,
    bornAt,
    goal === undefined ? null : (crossedBefore(goal) as Crossed<'goal'>),
  );
};

const liveRun = (
  run: LocalRun,
  world: World,
  agent: Agent,
  birth: Birth,
  bornAt: number,
  goal: Crossed<'goal'> | null,
): LiveRun => {
  const account = run.accountOf(birth.cell, null, birth.caps);
  const home = new LocalContext(run, { cell: birth.cell, agent, depth: 0, bornAt, goal }, account);
  if (run.recorded?.cancelled === true) home.halt();
  let over = false;
  const outcome = runRoot(run, world, home, birth, bornAt, goal).finally(() => (over = true));
  const cancel = (): void => {
    if (over) return;
    run.write(birth.cell, world.clock.now(), { type: 'cancel' });
    home.halt();
  };
  return { cell: birth.cell, outcome, cancel };
};

const runRoot = async (
  run: LocalRun,
  world: World,
  home: Home,
  birth: Birth,
  bornAt: number,
  goal: Crossed<'goal'> | null,
): Promise<Outcome> => {
  const cell = new Cell(home, {
    parent: null,
    deadline: birth.deadline,
    bornAt,
    ancestry: [birth.agent],
    workspace: () => world.workspaces.open(world.run, birth.cell),
  });
  const ended = goal === null ? refusedGoal(home) : await runSession(cell, sessionPorts(home.agent, world));
  await home.drained();
  const outcome = closeRun(run, world, home, ended);
  await world.log.durable();
  return outcome;
};

const refusedGoal = (home: Home): Outcome => ({
  status: 'failed',
  output: '',
  data: null,
  failure: { code: 'crossing_refused', detail: 'The goal was not handed over: no-grant.' },
  missing: [],
  spent: home.account.spent(0),
});

const closeRun = (run: LocalRun, world: World, home: Home, ended: Outcome): Outcome => {
  const at = world.clock.now();
  const grants = grantsOf(home.agent, home.cellId, 'outside');
  const content = JSON.stringify(envelopeOf(ended));
  const passed = cross(
    { kind: 'result', from: home.cellId, to: 'outside', content, labels: [] },
    { grants, ledger: run.ledger, at },
  );
  const outcome: Outcome =
    'refused' in passed
      ? {
          ...ended,
          status: 'failed',
          output: '',
          data: null,
          failure: { code: 'crossing_refused', detail: `The result was not handed out: ${passed.refused}.` },
        }
      : ended;
  run.write(home.cellId, at, { type: 'close', outcome });
  return outcome;
};

const childRunner =
  (world: World): RunChild =>
  (operation, home) =>
    runChild(operation, home, world);

const runChild = async (operation: ChildOperation, home: Home, world: World): Promise<Outcome> => {
  const { cell: id, agent, deadline } = operation;
  const cell = new Cell(home, {
    parent: operation.goal.from as CellId,
    deadline,
    bornAt: home.now,
    ancestry: operation.ancestry,
    workspace: () => world.workspaces.open(world.run, id),
  });
  const outcome = await runSession(cell, sessionPorts(agent, world));
  await home.drained();
  return outcome;
};

const sessionPorts = (agent: Agent, world: World): SessionPorts => ({
  models: agent.models.length > 0 ? agent.models : world.models,
  tools: runnersOf(agent),
  validate: world.validate,
  blob: (ref) => world.blob(ref),
});

const runners = new WeakMap<Agent, ReadonlyMap<string, ToolRunner>>();

/** What each tool name of an agent stands for: only what its definition names. */
const runnersOf = (agent: Agent): ReadonlyMap<string, ToolRunner> => {
  let known = runners.get(agent);
  if (known === undefined) {
    const all = [...agent.tools.map(plainTool), ...agent.builtins.map(builtinTool), ...agent.agents.map(agentTool)];
    if (agent.gather !== null) all.push(gatherTool(agent.agents, agent.gather.timeoutMs));
    if (all.length > 0) all.push(builtinTool('read_output'));
    known = new Map(all.map((runner) => [runner.schema.name, runner]));
    runners.set(agent, known);
  }
  return known;
};
