// The root cell of a run: its session, its result, its end; and the sessions of the children below it.
import { CloisterError } from '#base';
import type { CellId, Failure } from '#base';
import type {
  Agent,
  Birth,
  ChildOperation,
  Crossed,
  SessionResources,
  Frame,
  History,
  LiveAgent,
  Outcome,
  RouteChoice,
  MessageTarget,
  SharedMessage,
  RunStartInfo,
  TeamMessage,
  Validate,
  WindowLimit,
  CellFolders,
} from '#contracts';
import { Cell, resultEnvelope, LocalContext } from '#core/cells';
import type { Arrival, CellRuntime, LiveCell, LocalRun, RunChild, RunPorts } from '#core/cells';
import { cross, grantOf, grantsOf } from '#core/crossings';
import { shutdownGraceMs, runSession } from '#core/session';
import type { SessionPorts } from '#core/session';
import type { SharedMemory, TaskQueue } from '#core/tasks';
import { identityOf } from './agent-tool.ts';
import { beginCompactor } from './compactor.ts';
import { TeamSessionRunner } from './team-session-runner.ts';
import { listMembers, findMember, routeTo, deliverFromOutside, sendTasks, sendToMember } from './external-mail.ts';
import { runnersOf } from './tool-runners.ts';

/** The world of one run. */
export type RunWorldPorts = RunPorts & {
  /** How the run was asked for, so that it can go on with the same agents. */
  readonly started?: RunStartInfo | undefined;
  readonly workspaces: CellFolders;
  readonly validate: Validate;
  /** What a new session of this agent works with; nothing of it is handed to another. With this model instead of its own, if one is named. */
  equip(agent: Agent, model?: string): SessionResources;
  /** Makes so many of an agent ready before there is something for them to do. */
  warm?(agent: Agent, count: number): void;
  /** The window of an agent, as far as definitions and config tell. */
  windowOf?(agent: Agent): WindowLimit | undefined;
  /** The smallest window of the agents that are in its budget group now. */
  groupTokens?(agent: Agent): number | undefined;
  /** Told of what is being closed; the run waits for it at its end. */
  closing?(done: Promise<void>): void;
  blob(ref: string): Promise<Uint8Array>;
  /** Whether the run was cancelled before it began. */
  cancelled?(): boolean;
};

/** A run under way. `outcome` rejects only when the run could not be recorded. */
export type RunHandle = {
  readonly cell: CellId;
  readonly outcome: Promise<Outcome>;
  cancel(): void;
  /** Gives its root cell something to know, as CONTEXT. Throws `cell_ended`. */
  give(text: string): void;
  /** Copies again what has changed in a living child's share; gives how many messages. Throws `cell_ended`. */
  refreshShare(child: string): number;
  /** Sends a message to one of its agents, the root unless another is named, or publishes one. Gives its id. */
  send(text: string, sending?: MessageTarget): string;
  /** Hands chosen messages of one cell's window to others; gives how many crossed. */
  route(from: string, to: readonly string[], choice: RouteChoice): number;
  /** Those of its agents that can be written to. */
  members(): readonly LiveAgent[];
  /** From now on what is published on a topic goes outside too. */
  hear(topic: string): void;
  /** Asks one of its agents to come to an end, and stops it if it does not; the root unless another is named. */
  finish(name?: string): void;
  /** Of a team: adds tasks to what it does. Throws what is wrong with them, or that it is too late. */
  addTasks(specs: unknown): Promise<void>;
  /** Of a team: messages that wait for one of its members. */
  messagesFor(assignee: string): readonly TeamMessage[];
  /** Of a team: its tasks, and its coordinator's memory; null: it is none. */
  readonly team: { readonly queue: TaskQueue; readonly memory: SharedMemory } | null;
};

export type Root = {
  readonly agent: Agent;
  readonly birth: Birth;
  readonly bornAt: number;
  readonly goal: Crossed<'goal'> | null;
  /** The frame that it began with, when that was just written. */
  readonly frame?: Frame;
};

export class RootRun implements RunHandle {
  readonly cell: CellId;
  readonly outcome: Promise<Outcome>;
  readonly #run: LocalRun;
  readonly #world: RunWorldPorts;
  readonly #runtime: LocalContext;
  readonly #director: TeamSessionRunner | null;
  #over = false;
  /** What stops those that were asked to finish, if they do not. */
  #graces: (() => void)[] | undefined;

  constructor(run: LocalRun, world: RunWorldPorts, { agent, birth, bornAt, goal, frame }: Root) {
    this.cell = birth.cell;
    this.#run = run;
    this.#world = world;
    const account = run.accountOf(birth.cell, null, birth.caps);
    if (birth.floor !== undefined && run.recorded === null) account.floor = birth.floor;
    const { spawned = null } = birth;
    const beginning = {
      cell: birth.cell,
      agent,
      depth: 0,
      parent: null,
      spawned,
      bornAt,
      goal,
      ...(frame && { frame }),
    };
    this.#runtime = new LocalContext(run, beginning, account);
    const cancelled = run.recorded?.cancelled ?? null;
    if (cancelled !== null) this.#runtime.halt(undefined, cancelled.no, cancelled.at);
    else if (world.cancelled?.() === true) this.cancel();
    const halt = (): void => this.#runtime.halt();
    run.onBreak = halt;
    const { deadline } = birth;
    const { run: id, workspaces } = world;
    const cell = new Cell(this.#runtime, {
      parent: null,
      deadline,
      bornAt,
      ancestry: [identityOf(agent)],
      groupTokens: birth.groupTokens,
      run: id,
      workspaces,
    });
    this.#director = agent.team === null || goal === null ? null : new TeamSessionRunner(cell, world);
    // Not one async function: a run that waits should not hold more than its session does.
    this.outcome =
      goal === null && birth.spawned === undefined
        ? this.#end(refusedGoal(this.#runtime))
        : (this.#director?.run() ?? runSession(cell, sessionPorts(agent, world, this.#runtime))).then((ended) =>
            this.#end(ended),
          );
  }

  cancel(): void {
    if (this.#over || this.#runtime.halted) return;
    // probe: run-record-cancel
    this.#run.write(this.cell, this.#run.time(), { type: 'cancel' });
    this.#runtime.halt();
  }

  give(text: string): void {
    if (this.#over || this.#runtime.halted) throw new CloisterError('cell_ended', this.cell);
    const known = this.#world.redact?.text(text) ?? text;
    const history: History = {
      conversation: '',
      leftOut: 0,
      entries: [{ agent: null, category: 'CONTEXT', text: known }],
    };
    const at = this.#run.time();
    const door = { grants: [grantOf('history', this.cell, 'outside')], ledger: this.#run.ledger, at };
    const content = JSON.stringify(history);
    cross({ kind: 'history', from: 'outside', to: this.cell, content, labels: [] }, door);
    // probe: run-record-gift
    this.#runtime.arrivals.take(this.#run.write(this.cell, at, { type: 'give', to: this.cell }));
  }

  refreshShare(child: string): number {
    const share = this.#run.shareOf(child as CellId);
    if (share === undefined || this.#over || this.#runtime.halted)
      throw new CloisterError('cell_ended', `${child} has no share of its caller's, or is not at work.`);
    const known = new Set(share.runtime.arrivals.given('by now').flatMap(sharedIn).map(keyOf));
    // probe: share-changed
    const changed = share.now().filter((message) => !known.has(keyOf(message)));
    if (changed.length === 0) return 0;
    const to = child as CellId;
    const at = this.#run.time();
    const content = JSON.stringify(changed);
    const door = { grants: share.grants, ledger: this.#run.ledger, at };
    cross({ kind: 'share', from: share.from, to, content, labels: [] }, door);
    share.runtime.arrivals.take(this.#run.write(to, at, { type: 'give', to }));
    return changed.length;
  }

  send(text: string, sending?: MessageTarget): string {
    this.#mustLive();
    const { to = '', topic } = sending ?? {};
    const { team } = this.#runtime.agent;
    if (team === null || topic !== undefined) return deliverFromOutside(this.#run, this.cell, text, sending);
    if (Object.hasOwn(team.members, to)) return sendToMember(this.#run, this.cell, text, to);
    const known = Object.keys(team.members).join(', ');
    throw new CloisterError('mail_unknown', `A team takes messages for its members: name one of ${known}.`);
  }

  route(from: string, to: readonly string[], choice: RouteChoice): number {
    this.#mustLive();
    const sender = this.#living(from);
    return to.map((one) => this.#living(one)).reduce((sum, one) => sum + routeTo(this.#run, sender, one, choice), 0);
  }

  members(): readonly LiveAgent[] {
    return this.#over ? [] : listMembers(this.#run);
  }

  hear(topic: string): void {
    this.#run.post.heardOutside.add(topic);
  }

  finish(name?: string): void {
    this.#mustLive();
    const { cell, box } = findMember(this.#run, name, this.cell);
    box.close();
    const graceMs = this.#runtime.agent.spawns?.graceMs ?? shutdownGraceMs;
    // At the root a person may wait as long as it takes, or cancel.
    if (cell !== this.cell)
      (this.#graces ??= []).push(this.#world.clock.timer(graceMs, () => this.#run.post.halt(cell)));
  }

  async addTasks(specs: unknown): Promise<void> {
    this.#mustLive();
    if (this.#director === null) throw new CloisterError('cell_ended', 'It is no team.');
    await this.#director.intake.ready();
    this.#mustLive();
    sendTasks(this.#run, this.cell, JSON.stringify(this.#director.intake.check(specs)));
  }

  get team(): RunHandle['team'] {
    return this.#director;
  }

  messagesFor(assignee: string): readonly TeamMessage[] {
    return this.#director?.mail.getMessages(assignee) ?? [];
  }

  #mustLive(): void {
    if (this.#over || this.#runtime.halted) throw new CloisterError('cell_ended', this.cell);
  }

  #living(cell: string): LiveCell {
    const found = cell === this.cell ? this.#runtime : this.#run.living(cell as CellId);
    if (found === undefined) throw new CloisterError('cell_ended', `${cell} is not at work in this run.`);
    return found;
  }

  async #end(ended: Outcome): Promise<Outcome> {
    // probe: run-drained
    await this.#runtime.drained();
    this.#over = true;
    for (const stop of this.#graces ?? []) stop();
    if (this.#run.broken !== null) throw this.#run.broken;
    const outcome = this.#close(spentBy(ended, this.#runtime));
    this.#run.replaying?.leave();
    await this.#world.log.durable();
    return outcome;
  }

  /** Crosses the result out, in the last frame of the run. */
  #close(ended: Outcome): Outcome {
    const recorded = this.#run.replaying === null ? undefined : this.#run.recorded?.closed;
    const at = recorded?.at ?? this.#run.time();
    const { agent } = this.#runtime;
    const grants = this.#run.amendments.grants(
      agent.name,
      grantsOf(agent, this.cell, 'outside'),
      recorded?.no ?? this.#run.nextFrame,
    );
    const content = JSON.stringify(resultEnvelope(ended));
    const door = { grants, ledger: this.#run.ledger, at };
    const passed = cross({ kind: 'result', from: this.cell, to: 'outside', content, labels: [] }, door);
    const outcome = 'refused' in passed ? withheld(ended, passed.refused) : ended;
    // probe: run-record-end
    if (recorded === undefined) this.#run.write(this.cell, at, { type: 'close', outcome });
    else this.#run.compare(recorded, { record: { type: 'close', outcome } });
    return outcome;
  }
}

const sharedIn = ({ kind, content }: Arrival): readonly SharedMessage[] =>
  kind === 'share' ? (JSON.parse(content) as readonly SharedMessage[]) : [];

const keyOf = ({ category, text }: SharedMessage): string => `${category} ${text}`;

const refusedGoal = (runtime: CellRuntime): Outcome => ({
  status: 'failed',
  output: '',
  data: null,
  failure: { code: 'crossing_refused', detail: 'The goal was not handed over: no-grant.' },
  missing: [],
  spent: runtime.account.spent(0),
});

const withheld = (ended: Outcome, reason: string): Outcome => ({
  ...ended,
  status: 'failed',
  output: '',
  data: null,
  failure: { code: 'crossing_refused', detail: `The result was not handed out: ${reason}.` },
});

/** Given the world that its run was given. */
export const runChild: RunChild<RunWorldPorts> = async (operation, runtime, world) => {
  const { agent, deadline, ancestry, groupTokens } = operation;
  const { parent } = runtime;
  const { run, workspaces } = world;
  const cell = new Cell(runtime, { parent, deadline, bornAt: runtime.now, ancestry, groupTokens, run, workspaces });
  const outcome = await (agent.team === null
    ? runSession(cell, portsOf(operation, runtime, world))
    : new TeamSessionRunner(cell, world).run());
  await runtime.drained();
  // probe: child-outcome
  return spentBy(outcome, runtime);
};

/** Most answers are judged by their schema alone. */
const portsOf = ({ agent, check }: ChildOperation, runtime: CellRuntime, world: RunWorldPorts): SessionPorts => {
  const ports = sessionPorts(agent, world, runtime);
  return check === undefined ? ports : { ...ports, check };
};

/** What was stopped at the end has been counted only now. */
const spentBy = (outcome: Outcome, runtime: CellRuntime): Outcome => ({
  ...outcome,
  spent: runtime.account.spent(outcome.spent.ms),
});

const sessionPorts = (agent: Agent, world: RunWorldPorts, runtime: CellRuntime): SessionPorts => {
  const tools = runnersOf(agent);
  for (const one of agent.spawnable) {
    const count = agent.spawns?.pool[one.name] ?? 0;
    if (count > 0) world.warm?.(one, count);
  }
  try {
    // probe: session-ports
    return { ...world.equip(agent), ...amendedModels(agent, world, runtime), ...compacting(agent), tools, world };
  } catch (error) {
    const unready: Failure = error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
    return { models: [], sources: [], unready, tools, world };
  }
};

const compacting = ({ compactor }: Agent): Pick<SessionPorts, 'compact'> =>
  compactor === null ? {} : { compact: (session, text) => beginCompactor(compactor, session, text) };

/** A fork may have put another model in the place of the agent's own: from there on. */
const amendedModels = (agent: Agent, world: RunWorldPorts, runtime: CellRuntime): Pick<SessionPorts, 'modelsNow'> => {
  const { amendments } = runtime.liveRun;
  const named = amendments.modelsOf(agent.name);
  if (named.length === 0) return {};
  const models = new Map(named.map((model) => [model, world.equip(agent, model).models]));
  return {
    modelsNow: () => {
      const model = amendments.modelAt(agent.name, runtime.nextFrame);
      return model === undefined ? undefined : models.get(model);
    },
  };
};
