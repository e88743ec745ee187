// A run: open the root cell, cross the goal in, run the session, cross the result out, close.
import { CloisterError, defined } from '#base';
import type { CellId, Failure } from '#base';
import type { Agent, Birth, Budget, Crossed, Equipment, Frame, Outcome, Validate, Workspaces } from '#contracts';
import { Cell, envelopeOf, LocalContext, LocalRun, readRecords } from '#core/cells';
import type { Home, RecordedRun, RunChild, RunPorts } from '#core/cells';
import { cross, crossedBefore, grantsOf } from '#core/crossings';
import { builtinTool, plainTool, runSession } from '#core/session';
import type { SessionPorts, ToolRunner } from '#core/session';
import { agentTool, capsOf, deadlineOf, identityOf } from './agent-tool.ts';
import { askFor } from './define-agent.ts';
import { gatherTool } from './gather.ts';

/** The world of one run. */
export type World = RunPorts & {
  readonly workspaces: Workspaces;
  readonly validate: Validate;
  /** What a new session of this agent works with; nothing of it is handed to another. */
  equip(agent: Agent): Equipment;
  /** Told of what is being closed; the run waits for it at its end. */
  closing?(done: Promise<void>): void;
  blob(ref: string): Promise<Uint8Array>;
  /** Whether the run was cancelled before it began. */
  cancelled?(): boolean;
};

/** A run under way. `outcome` rejects only when the run could not be recorded. */
export type LiveRun = { readonly cell: CellId; readonly outcome: Promise<Outcome>; cancel(): void };

export const startRun = (agent: Agent, goal: string, budget: Budget | undefined, world: World): LiveRun => {
  const at = world.clock.now();
  const run = new LocalRun(world, runChild as RunChild, null, at);
  const cell = `${agent.name}-${world.ids.random()}` as CellId;
  const birth = rootBirth(
    agent,
    cell,
    budget === undefined ? agent.budget : { ...agent.budget, ...defined(budget) },
    at,
  );
  const grants = grantsOf(agent, cell, 'outside');
  const door = { grants, ledger: run.ledger, at };
  const content = world.redact?.text(goal) ?? goal;
  const passed = cross({ kind: 'goal', from: 'outside', to: cell, content, labels: [] }, door);
  run.write(cell, at, { type: 'open', birth }, { born: agent });
  return new RootRun(run, world, { agent, birth, bornAt: at, goal: 'refused' in passed ? null : passed.crossed });
};

const rootBirth = ({ name, digest }: Agent, cell: CellId, budget: Budget, at: number): Birth => ({
  cell,
  parent: null,
  agent: name,
  digest,
  depth: 0,
  caps: capsOf(budget, {}),
  deadline: deadlineOf(budget, 0, at),
});

/** Throws why an interrupted run cannot go on with these agents. */
export const checkResume = (frames: readonly Frame[], agentOf: AgentOf): { recorded: RecordedRun; agent: Agent } => {
  const recorded = readRecords(frames);
  const { birth } = recorded.root;
  if (frames.some(({ record }) => record.type === 'close')) throw new CloisterError('run_ended');
  const known = agentOf(birth.agent);
  if (known === undefined) throw new CloisterError('agent_unknown', `The run is of "${birth.agent}".`);
  const agent = asAsked(known, birth, frames[0]!);
  if (agent.digest !== birth.digest)
    throw new CloisterError('replay_differs', `The definition of "${agent.name}" has changed since.`);
  return { recorded, agent };
};

/** Its caller may have asked for another form of answer than the agent gives by itself. */
const asAsked = (agent: Agent, { digest }: Birth, { definitions }: Frame): Agent => {
  const output = definitions?.find((one) => one.digest === digest)?.definition.output;
  return agent.digest === digest || output === undefined ? agent : askFor(agent, output);
};

type AgentOf = (name: string) => Agent | undefined;

/** Goes on with an interrupted run: settled operations are not repeated. */
export const resumeRun = (frames: readonly Frame[], agentOf: AgentOf, world: World): LiveRun => {
  const { recorded, agent } = checkResume(frames, agentOf);
  const { birth, bornAt, contents } = recorded.root;
  const goal = contents.find(({ seq }) => seq === 0);
  const run = new LocalRun(world, runChild as RunChild, recorded, bornAt);
  const crossed = goal === undefined ? null : (crossedBefore(goal) as Crossed<'goal'>);
  return new RootRun(run, world, { agent, birth, bornAt, goal: crossed });
};

type Root = {
  readonly agent: Agent;
  readonly birth: Birth;
  readonly bornAt: number;
  readonly goal: Crossed<'goal'> | null;
};

class RootRun implements LiveRun {
  readonly cell: CellId;
  readonly outcome: Promise<Outcome>;
  readonly #run: LocalRun;
  readonly #world: World;
  readonly #home: Home;
  #over = false;

  constructor(run: LocalRun, world: World, { agent, birth, bornAt, goal }: Root) {
    this.cell = birth.cell;
    this.#run = run;
    this.#world = world;
    const account = run.accountOf(birth.cell, null, birth.caps);
    this.#home = new LocalContext(run, { cell: birth.cell, agent, depth: 0, bornAt, goal }, account);
    const cancelled = run.recorded?.cancelled ?? null;
    if (cancelled !== null) this.#home.halt(undefined, cancelled.no, cancelled.at);
    else if (world.cancelled?.() === true) this.cancel();
    run.onBreak = () => this.#home.halt();
    const { deadline } = birth;
    const { run: id, workspaces } = world;
    const cell = new Cell(this.#home, {
      parent: null,
      deadline,
      bornAt,
      ancestry: [identityOf(agent)],
      run: id,
      workspaces,
    });
    // Not one async function: a run that waits should not hold more than its session does.
    this.outcome =
      goal === null
        ? this.#end(refusedGoal(this.#home))
        : runSession(cell, sessionPorts(agent, world)).then((ended) => this.#end(ended));
  }

  cancel(): void {
    if (this.#over || this.#home.halted) return;
    this.#run.write(this.cell, this.#world.clock.now(), { type: 'cancel' });
    this.#home.halt();
  }

  async #end(ended: Outcome): Promise<Outcome> {
    await this.#home.drained();
    this.#over = true;
    if (this.#run.broken !== null) throw this.#run.broken;
    const outcome = this.#close(spentBy(ended, this.#home));
    await this.#world.log.durable();
    return outcome;
  }

  /** Crosses the result out, in the last frame of the run. */
  #close(ended: Outcome): Outcome {
    const at = this.#world.clock.now();
    const grants = grantsOf(this.#home.agent, this.cell, 'outside');
    const content = JSON.stringify(envelopeOf(ended));
    const door = { grants, ledger: this.#run.ledger, at };
    const passed = cross({ kind: 'result', from: this.cell, to: 'outside', content, labels: [] }, door);
    const outcome = 'refused' in passed ? withheld(ended, passed.refused) : ended;
    this.#run.write(this.cell, at, { type: 'close', outcome });
    return outcome;
  }
}

const refusedGoal = (home: Home): Outcome => ({
  status: 'failed',
  output: '',
  data: null,
  failure: { code: 'crossing_refused', detail: 'The goal was not handed over: no-grant.' },
  missing: [],
  spent: home.account.spent(0),
});

const withheld = (ended: Outcome, reason: string): Outcome => ({
  ...ended,
  status: 'failed',
  output: '',
  data: null,
  failure: { code: 'crossing_refused', detail: `The result was not handed out: ${reason}.` },
});

/** Given the world that its run was given. */
const runChild: RunChild<World> = async (operation, home, world) => {
  const { agent, deadline, ancestry } = operation;
  const parent = operation.goal.from as CellId;
  const { run, workspaces } = world;
  const cell = new Cell(home, { parent, deadline, bornAt: home.now, ancestry, run, workspaces });
  const outcome = await runSession(cell, sessionPorts(agent, world));
  await home.drained();
  return spentBy(outcome, home);
};

/** What was stopped at the end has been counted only now. */
const spentBy = (outcome: Outcome, home: Home): Outcome => ({
  ...outcome,
  spent: home.account.spent(outcome.spent.ms),
});

const sessionPorts = (agent: Agent, world: World): SessionPorts => {
  const tools = runnersOf(agent);
  try {
    return { ...world.equip(agent), tools, world };
  } catch (error) {
    const unready: Failure = error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
    return { models: [], sources: [], unready, tools, world };
  }
};

const runners = new WeakMap<Agent, ReadonlyMap<string, ToolRunner>>();

/** What each tool name of an agent stands for: only what its definition names. */
const runnersOf = (agent: Agent): ReadonlyMap<string, ToolRunner> => {
  let known = runners.get(agent);
  if (known === undefined) {
    const all = [...agent.tools.map(plainTool), ...agent.builtins.map(builtinTool), ...agent.agents.map(agentTool)];
    if (agent.gather !== null) all.push(gatherTool(agent.agents, agent.gather.timeoutMs));
    if (agent.definition.tools.length > all.length) all.push(builtinTool('read_output'));
    known = new Map(all.map((runner) => [runner.schema.name, runner]));
    runners.set(agent, known);
  }
  return known;
};
