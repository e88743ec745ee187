// The root cell of a run: its session, its result, its end; and the sessions of the children below it.
import { CloisterError } from '#base';
import type { CellId, Failure } from '#base';
import type { Agent, Birth, Crossed, Equipment, Outcome, StartedWith, Validate, Workspaces } from '#contracts';
import { Cell, envelopeOf, LocalContext } from '#core/cells';
import type { Home, LocalRun, RunChild, RunPorts } from '#core/cells';
import { cross, grantsOf } from '#core/crossings';
import { builtinTool, plainTool, runSession } from '#core/session';
import type { SessionPorts, ToolRunner } from '#core/session';
import { agentTool, identityOf } from './agent-tool.ts';
import { gatherTool } from './gather.ts';

/** The world of one run. */
export type World = RunPorts & {
  /** How the run was asked for, so that it can go on with the same agents. */
  readonly started?: StartedWith | undefined;
  readonly workspaces: Workspaces;
  readonly validate: Validate;
  /** What a new session of this agent works with; nothing of it is handed to another. With this model instead of its own, if one is named. */
  equip(agent: Agent, model?: string): Equipment;
  /** Told of what is being closed; the run waits for it at its end. */
  closing?(done: Promise<void>): void;
  blob(ref: string): Promise<Uint8Array>;
  /** Whether the run was cancelled before it began. */
  cancelled?(): boolean;
};

/** A run under way. `outcome` rejects only when the run could not be recorded. */
export type LiveRun = { readonly cell: CellId; readonly outcome: Promise<Outcome>; cancel(): void };

export type Root = {
  readonly agent: Agent;
  readonly birth: Birth;
  readonly bornAt: number;
  readonly goal: Crossed<'goal'> | null;
};

export class RootRun implements LiveRun {
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
        : runSession(cell, sessionPorts(agent, world, this.#home)).then((ended) => this.#end(ended));
  }

  cancel(): void {
    if (this.#over || this.#home.halted) return;
    this.#run.write(this.cell, this.#run.time(), { type: 'cancel' });
    this.#home.halt();
  }

  async #end(ended: Outcome): Promise<Outcome> {
    await this.#home.drained();
    this.#over = true;
    if (this.#run.broken !== null) throw this.#run.broken;
    const outcome = this.#close(spentBy(ended, this.#home));
    this.#run.replaying?.leave();
    await this.#world.log.durable();
    return outcome;
  }

  /** Crosses the result out, in the last frame of the run. */
  #close(ended: Outcome): Outcome {
    const recorded = this.#run.replaying === null ? undefined : this.#run.recorded?.closed;
    const at = recorded?.at ?? this.#run.time();
    const { agent } = this.#home;
    const grants = this.#run.amendments.grants(
      agent.name,
      grantsOf(agent, this.cell, 'outside'),
      recorded?.no ?? this.#run.nextFrame,
    );
    const content = JSON.stringify(envelopeOf(ended));
    const door = { grants, ledger: this.#run.ledger, at };
    const passed = cross({ kind: 'result', from: this.cell, to: 'outside', content, labels: [] }, door);
    const outcome = 'refused' in passed ? withheld(ended, passed.refused) : ended;
    if (recorded === undefined) this.#run.write(this.cell, at, { type: 'close', outcome });
    else this.#run.compare(recorded, { record: { type: 'close', outcome } });
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
export const runChild: RunChild<World> = async (operation, home, world) => {
  const { agent, deadline, ancestry } = operation;
  const parent = operation.goal.from as CellId;
  const { run, workspaces } = world;
  const cell = new Cell(home, { parent, deadline, bornAt: home.now, ancestry, run, workspaces });
  const outcome = await runSession(cell, sessionPorts(agent, world, home));
  await home.drained();
  return spentBy(outcome, home);
};

/** What was stopped at the end has been counted only now. */
const spentBy = (outcome: Outcome, home: Home): Outcome => ({
  ...outcome,
  spent: home.account.spent(outcome.spent.ms),
});

const sessionPorts = (agent: Agent, world: World, home: Home): SessionPorts => {
  const tools = runnersOf(agent);
  try {
    return { ...world.equip(agent), ...amendedModels(agent, world, home), tools, world };
  } catch (error) {
    const unready: Failure = error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
    return { models: [], sources: [], unready, tools, world };
  }
};

/** A fork may have put another model in the place of the agent's own: from there on. */
const amendedModels = (agent: Agent, world: World, home: Home): Pick<SessionPorts, 'modelsNow'> => {
  const { amendments } = home.host;
  const named = amendments.modelsOf(agent.name);
  if (named.length === 0) return {};
  const models = new Map(named.map((model) => [model, world.equip(agent, model).models]));
  return {
    modelsNow: () => {
      const model = amendments.modelAt(agent.name, home.nextFrame);
      return model === undefined ? undefined : models.get(model);
    },
  };
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
