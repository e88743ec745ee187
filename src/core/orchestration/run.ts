// A run: its root cell, its session, its result and its end. Also starts the sessions of the children below it.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type {
  Agent,
  Birth,
  Crossed,
  Frame,
  LiveAgent,
  Outcome,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  RunPorts,
  WaitingCall,
} from '#contracts';
import { agentIdentity, resultEnvelope, LocalContext, LocalRun } from '#core/cells';
import type { LiveCell, RecordedPast, RunChild, StartedChild } from '#core/cells';
import { Cell } from '#core/memory';
import { runSession } from '#core/session';
import type { SessionPorts } from '#core/session';
import { planProblems } from './coordinator-prompts.ts';
import { listAgents } from './live-agents.ts';
import { acceptOutsideSpawns, whenCaughtUp } from './outside-spawn.ts';
import { runCommands } from './run-commands.ts';
import type { CommandTarget } from './run-commands.ts';
import { TeamSessionRunner } from './team-session-runner.ts';
import { sessionPorts } from './session-ports.ts';

export type RootCellSeed = {
  readonly agent: Agent;
  readonly birth: Birth;
  readonly createdAt: number;
  readonly goal: Crossed<'goal'> | null;
  /** The first frame, if it was just written. */
  readonly frame?: Frame<Crossed>;
};

/** A run in progress: what its cells share, its root's session, and what can be asked of it. */
export class Run extends LocalRun implements CommandTarget {
  /** Rejects only if the run could not be recorded. */
  outcome!: Promise<Outcome>;
  /** The session of a team: its tasks, messages and the coordinator's memory. Null if the root is not a team. */
  team: TeamSessionRunner | null = null;
  hasEnded = false;
  /** Cancel functions of the grace timers of agents that were asked to shut down. */
  #graceTimers: (() => void)[] | undefined;

  constructor(ports: RunPorts, startedAt: number, past?: RecordedPast) {
    super(ports, runChild, startedAt, past);
  }

  /** Opens the root cell and starts its session. */
  open({ agent, birth, createdAt, goal, frame }: RootCellSeed): this {
    const { ports } = this;
    const account = this.accountFor(birth.cell, null, birth.caps);
    const seed = { ...birth, agent, createdAt, goal, frame, ancestry: [agentIdentity(agent)] };
    // probe: run-root
    const root = new LocalContext(this, seed, account);
    this.root = root;
    const cancelled = this.recorded?.cancelled ?? null;
    if (cancelled !== null) root.halt(undefined, cancelled.no, cancelled.at);
    else if (ports.listener?.cancelled === true) this.do({ do: 'cancel' });
    const cell = new Cell(root.port, ports.run, ports);
    acceptOutsideSpawns(root, cell, ports);
    this.team = agent.team === null || goal === null ? null : new TeamSessionRunner(cell, ports);
    // Not one async function, so that a waiting run holds no more memory than its session.
    this.outcome =
      goal === null && birth.spawned === undefined
        ? this.#end(goalRefused(root))
        : (this.team?.run() ?? runSession(cell, sessionPorts(agent, ports, root))).then((ended) => this.#end(ended));
    return this;
  }

  do<K extends RunCommandName>(command: RunCommand<K>): RunCommandResults[K] {
    return runCommands[command.do](this, command);
  }

  /** The live agents of the run. */
  agents(): readonly LiveAgent[] {
    return this.hasEnded ? [] : listAgents(this);
  }

  /** The calls of the client's tools that wait for their results. */
  async clientCalls(): Promise<readonly WaitingCall[]> {
    await whenCaughtUp(this);
    return this.hasEnded || this.root.halted ? [] : this.waitingCalls;
  }

  /** Whether all of its cells only wait, for what the log says: nothing is lost if the run is let go now, and continued elsewhere. */
  get onlyWaits(): boolean {
    // How long a cell that was asked to finish may take, and who listens to a topic, is in no record.
    const isRecorded = this.#graceTimers === undefined && (!this.usesMail || this.mail.outsideTopics.size === 0);
    return isRecorded && !this.hasEnded && this.liveCells.every(({ inFlight }) => inFlight.onlyWaits);
  }

  /** Whether one of its cells does work outside now. */
  get hasSteps(): boolean {
    return this.liveCells.some(({ inFlight }) => inFlight.hasSteps);
  }

  /** Throws `cell_ended`. */
  assertRunning(): void {
    if (this.hasEnded || this.root.halted) throw new CloisterError('cell_ended', this.root.cellId);
  }

  /** Stops a cell when its grace period is over. */
  haltAfter(graceMs: number, cell: CellId): void {
    (this.#graceTimers ??= []).push(this.ports.clock.timer(graceMs, () => this.mail.halt(cell)));
  }

  async #end(ended: Outcome): Promise<Outcome> {
    // probe: run-drained
    await this.root.whenAllSettled();
    this.hasEnded = true;
    for (const stop of this.#graceTimers ?? []) stop();
    if (this.broken !== null) throw this.broken;
    const outcome = this.#close(withFinalSpend(ended, this.root));
    await this.ports.log.durable();
    return outcome;
  }

  /** Crosses the result out and writes the last frame of the run. */
  #close(ended: Outcome): Outcome {
    const recorded = this.recorded?.closed;
    const at = recorded?.at ?? this.time();
    const content = JSON.stringify(resultEnvelope(ended, 'outside'));
    const moment = { at, frame: recorded?.no ?? this.nextFrame };
    const passed = this.door.cross({ kind: 'result', from: this.root.cellId, to: 'outside', content }, moment);
    const outcome = 'refused' in passed ? resultRefused(ended, passed.refused) : ended;
    // probe: run-record-end
    if (this.follower.mayEnd(this.door, recorded, { type: 'close', outcome }))
      this.write(this.root.cellId, at, { type: 'close', outcome });
    return outcome;
  }
}

const goalRefused = (runtime: LiveCell): Outcome => ({
  status: 'failed',
  output: '',
  data: null,
  failure: { code: 'crossing_refused', detail: 'The goal was refused: no-grant.' },
  missing: [],
  spent: runtime.account.spent(0),
});

const resultRefused = (ended: Outcome, reason: string): Outcome => ({
  ...ended,
  status: 'failed',
  output: '',
  data: null,
  failure: { code: 'crossing_refused', detail: `The result was refused: ${reason}.` },
});

/** Runs the session of a child with the ports of its run. */
const runChild: RunChild = async (operation, runtime, world) => {
  const cell = new Cell(runtime.port, world.run, world);
  acceptOutsideSpawns(runtime, cell, world);
  const outcome = await (runtime.agent.team === null
    ? runSession(cell, childPorts(operation, runtime, world))
    : new TeamSessionRunner(cell, world).run());
  await runtime.whenAllSettled();
  // probe: child-outcome
  return withFinalSpend(outcome, runtime);
};

/** Most answers are only checked against their schema; a plan has its own check. */
const childPorts = ({ agent, check }: StartedChild, runtime: LiveCell, world: RunPorts): SessionPorts => {
  const ports = sessionPorts(agent, world, runtime);
  return check === undefined ? ports : { ...ports, checkAnswer: (value) => planProblems(value, check.plan) };
};

/** Operations stopped at the end are counted only now, so the outcome is updated. */
const withFinalSpend = (outcome: Outcome, runtime: LiveCell): Outcome => ({
  ...outcome,
  spent: runtime.account.spent(outcome.spent.ms),
});
