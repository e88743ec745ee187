// The root cell of a run: its session, its result and its end. Also starts the sessions of the children below it.
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
} from '#contracts';
import { agentIdentity, resultEnvelope, LocalContext } from '#core/cells';
import type { LiveCell, LocalRun, RunChild, StartedChild } from '#core/cells';
import { Cell } from '#core/memory';
import { runSession } from '#core/session';
import type { SessionPorts } from '#core/session';
import { planProblems } from './coordinator-prompts.ts';
import { listAgents } from './live-agents.ts';
import { acceptOutsideSpawns } from './outside-spawn.ts';
import { runCommands } from './run-commands.ts';
import type { CommandedRun } from './run-commands.ts';
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

/** A run in progress. `outcome` rejects only if the run could not be recorded. */
export class Run implements CommandedRun {
  readonly cell: CellId;
  readonly outcome: Promise<Outcome>;
  readonly local: LocalRun;
  readonly root: LocalContext;
  /** The session of a team: its tasks, messages and the coordinator's memory. Null if the root is not a team. */
  readonly team: TeamSessionRunner | null;
  hasEnded = false;
  readonly #world: RunPorts;
  /** Cancel functions of the grace timers of agents that were asked to shut down. */
  #graceTimers: (() => void)[] | undefined;

  constructor(run: LocalRun, world: RunPorts, { agent, birth, createdAt, goal, frame }: RootCellSeed) {
    this.cell = birth.cell;
    this.local = run;
    this.#world = world;
    const account = run.accountFor(birth.cell, null, birth.caps);
    const seed = { ...birth, agent, createdAt, goal, frame, ancestry: [agentIdentity(agent)] };
    // probe: run-root
    this.root = new LocalContext(run, seed, account);
    const cancelled = run.recorded?.cancelled ?? null;
    if (cancelled !== null) this.root.halt(undefined, cancelled.no, cancelled.at);
    else if (world.listener?.cancelled === true) this.do({ do: 'cancel' });
    const halt = (): void => this.root.halt();
    run.onBroken = halt;
    const cell = new Cell(this.root.port, world.run, world);
    acceptOutsideSpawns(this.root, cell, world);
    this.team = agent.team === null || goal === null ? null : new TeamSessionRunner(cell, world);
    // Not one async function, so that a waiting run holds no more memory than its session.
    this.outcome =
      goal === null && birth.spawned === undefined
        ? this.#end(goalRefused(this.root))
        : (this.team?.run() ?? runSession(cell, sessionPorts(agent, world, this.root))).then((ended) =>
            this.#end(ended),
          );
  }

  do<K extends RunCommandName>(command: RunCommand<K>): RunCommandResults[K] {
    return runCommands[command.do](this, command);
  }

  /** The live agents of the run. */
  agents(): readonly LiveAgent[] {
    return this.hasEnded ? [] : listAgents(this.local, this.root);
  }

  /** Throws `cell_ended`. */
  assertRunning(): void {
    if (this.hasEnded || this.root.halted) throw new CloisterError('cell_ended', this.cell);
  }

  /** Stops a cell when its grace period is over. */
  haltAfter(graceMs: number, cell: CellId): void {
    (this.#graceTimers ??= []).push(this.#world.clock.timer(graceMs, () => this.local.mail.halt(cell)));
  }

  async #end(ended: Outcome): Promise<Outcome> {
    // probe: run-drained
    await this.root.whenAllSettled();
    this.hasEnded = true;
    for (const stop of this.#graceTimers ?? []) stop();
    if (this.local.broken !== null) throw this.local.broken;
    const outcome = this.#close(withFinalSpend(ended, this.root));
    this.local.replaying?.leave();
    await this.#world.log.durable();
    return outcome;
  }

  /** Crosses the result out and writes the last frame of the run. */
  #close(ended: Outcome): Outcome {
    const recorded = this.local.replaying === null ? undefined : this.local.recorded?.closed;
    const at = recorded?.at ?? this.local.time();
    const content = JSON.stringify(resultEnvelope(ended, 'outside'));
    const moment = { at, frame: recorded?.no ?? this.local.nextFrame };
    const passed = this.local.door.cross({ kind: 'result', from: this.cell, to: 'outside', content }, moment);
    const outcome = 'refused' in passed ? resultRefused(ended, passed.refused) : ended;
    // probe: run-record-end
    if (recorded === undefined) this.local.write(this.cell, at, { type: 'close', outcome });
    else this.local.compare(recorded, { record: { type: 'close', outcome } });
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
export const runChild: RunChild = async (operation, runtime, world) => {
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
