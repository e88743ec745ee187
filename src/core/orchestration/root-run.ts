// The root cell of a run: its session, its result and its end. Also starts the sessions of the children below it.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type {
  Agent,
  Birth,
  ChildOperation,
  Crossed,
  Frame,
  History,
  LiveAgent,
  Outcome,
  OutsideSpawn,
  RouteChoice,
  MessageTarget,
  SharedMessage,
  StartedAgent,
  TeamMessage,
} from '#contracts';
import { Cell, resultEnvelope, LocalContext } from '#core/cells';
import type { CellRuntime, LiveCell, LocalRun, RunChild } from '#core/cells';
import { cross, createGrant, createGrants } from '#core/crossings';
import { shutdownGraceMs, runSession } from '#core/session';
import type { SessionPorts } from '#core/session';
import { agentIdentity } from './agent-tool.ts';
import { TeamSessionRunner } from './team-session-runner.ts';
import {
  findAgentCell,
  listAgents,
  findMember,
  routeTo,
  deliverFromOutside,
  sendTasks,
  sendToMember,
} from './external-mail.ts';
import { acceptOutsideSpawns, startFromOutside, whenCaughtUp } from './outside-spawn.ts';
import type { RunHandle } from './run-handle.ts';
import { sessionPorts } from './session-ports.ts';
import type { RunWorldPorts } from './session-ports.ts';

export type RootCellSeed = {
  readonly agent: Agent;
  readonly birth: Birth;
  readonly createdAt: number;
  readonly goal: Crossed<'goal'> | null;
  /** The first frame, if it was just written. */
  readonly frame?: Frame<Crossed>;
};

export class RootRun implements RunHandle {
  readonly cell: CellId;
  readonly outcome: Promise<Outcome>;
  readonly #run: LocalRun;
  readonly #world: RunWorldPorts;
  readonly #runtime: LocalContext;
  readonly #teamRunner: TeamSessionRunner | null;
  #hasEnded = false;
  /** Cancel functions of the grace timers of agents that were asked to shut down. */
  #graceTimers: (() => void)[] | undefined;

  constructor(run: LocalRun, world: RunWorldPorts, { agent, birth, createdAt, goal, frame }: RootCellSeed) {
    this.cell = birth.cell;
    this.#run = run;
    this.#world = world;
    const account = run.accountFor(birth.cell, null, birth.caps);
    if (birth.floor !== undefined && run.recorded === null) account.floor = birth.floor;
    const { spawned = null } = birth;
    const seed = {
      cell: birth.cell,
      agent,
      depth: 0,
      parent: null,
      spawned,
      createdAt,
      goal,
      ...(frame && { frame }),
    };
    this.#runtime = new LocalContext(run, seed, account);
    const cancelled = run.recorded?.cancelled ?? null;
    if (cancelled !== null) this.#runtime.halt(undefined, cancelled.no, cancelled.at);
    else if (world.cancelled?.() === true) this.cancel();
    const halt = (): void => this.#runtime.halt();
    run.onBroken = halt;
    const cell = new Cell(this.#runtime, {
      parent: null,
      deadline: birth.deadline,
      createdAt,
      ancestry: [agentIdentity(agent)],
      groupTokens: birth.groupTokens,
      run: world.run,
      world,
    });
    acceptOutsideSpawns(cell, world);
    this.#teamRunner = agent.team === null || goal === null ? null : new TeamSessionRunner(cell, world);
    // Not one async function, so that a waiting run holds no more memory than its session.
    this.outcome =
      goal === null && birth.spawned === undefined
        ? this.#end(goalRefused(this.#runtime))
        : (this.#teamRunner?.run() ?? runSession(cell, sessionPorts(agent, world, this.#runtime))).then((ended) =>
            this.#end(ended),
          );
  }

  cancel(): void {
    if (this.#hasEnded || this.#runtime.halted) return;
    // probe: run-record-cancel
    this.#run.write(this.cell, this.#run.time(), { type: 'cancel' });
    this.#runtime.halt();
  }

  addContext(text: string): void {
    if (this.#hasEnded || this.#runtime.halted) throw new CloisterError('cell_ended', this.cell);
    const known = this.#run.redactFor(this.#runtime.agent)?.text(text) ?? text;
    const history: History = {
      conversation: '',
      leftOut: 0,
      entries: [{ agent: null, category: 'CONTEXT', text: known }],
    };
    const at = this.#run.time();
    const door = { grants: [createGrant('history', this.cell, 'outside')], ledger: this.#run.ledger, at };
    const content = JSON.stringify(history);
    cross({ kind: 'history', from: 'outside', to: this.cell, content, labels: [] }, door);
    // probe: run-record-gift
    this.#runtime.receivedCrossings.addFromFrame(this.#run.write(this.cell, at, { type: 'give', to: this.cell }));
  }

  refreshShare(child: string): number {
    const share = this.#run.getShare(child as CellId);
    if (share === undefined || this.#hasEnded || this.#runtime.halted)
      throw new CloisterError('cell_ended', `${child} was given no share of its caller's context, or is not running.`);
    const known = new Set(share.cell.receivedCrossings.addedContext('by now').flatMap(readShared).map(messageKey));
    // probe: share-changed
    const changed = share.now().filter((message) => !known.has(messageKey(message)));
    if (changed.length === 0) return 0;
    const to = child as CellId;
    const at = this.#run.time();
    const content = JSON.stringify(changed);
    const door = { grants: share.grants, ledger: this.#run.ledger, at };
    cross({ kind: 'share', from: share.from, to, content, labels: [] }, door);
    share.cell.receivedCrossings.addFromFrame(this.#run.write(to, at, { type: 'give', to }));
    return changed.length;
  }

  send(text: string, target?: MessageTarget): string {
    this.#assertRunning();
    const { to = '', topic } = target ?? {};
    const { team } = this.#runtime.agent;
    if (team === null || topic !== undefined) return deliverFromOutside(this.#run, this.cell, text, target);
    if (Object.hasOwn(team.members, to)) return sendToMember(this.#run, this.cell, text, to);
    const known = Object.keys(team.members).join(', ');
    throw new CloisterError(
      'mail_unknown',
      `A team accepts messages only for its members; set \`to\` to one of: ${known}.`,
    );
  }

  route(from: string, to: readonly string[], choice: RouteChoice): number {
    this.#assertRunning();
    const sender = this.#liveCell(from);
    return to.map((one) => this.#liveCell(one)).reduce((sum, one) => sum + routeTo(this.#run, sender, one, choice), 0);
  }

  members(): readonly LiveAgent[] {
    return this.#hasEnded ? [] : listAgents(this.#run, this.#runtime);
  }

  forwardTopic(topic: string): void {
    this.#run.mail.outsideTopics.add(topic);
  }

  recordDelivered(messages: readonly string[]): void {
    if (!this.#hasEnded) this.#run.write(this.cell, this.#run.time(), { type: 'delivered', messages });
  }

  async spawn(request: OutsideSpawn): Promise<StartedAgent> {
    this.#assertRunning();
    await whenCaughtUp(this.#run, this.#runtime);
    this.#assertRunning();
    const above = findAgentCell(this.members(), request.parent ?? this.cell);
    return startFromOutside(this.#run, this.#liveCell(above), request);
  }

  finish(name?: string): void {
    this.#assertRunning();
    const { cell, mailbox } = findMember(this.#run, name, this.cell);
    mailbox.close();
    const graceMs = this.#runtime.agent.spawns?.graceMs ?? shutdownGraceMs;
    // The root has no grace period: the user can wait, or cancel the run.
    if (cell !== this.cell)
      (this.#graceTimers ??= []).push(this.#world.clock.timer(graceMs, () => this.#run.mail.halt(cell)));
  }

  async addTasks(specs: unknown): Promise<void> {
    this.#assertRunning();
    if (this.#teamRunner === null) throw new CloisterError('cell_ended', 'This agent is not a team.');
    await this.#teamRunner.intake.ready();
    this.#assertRunning();
    sendTasks(this.#run, this.cell, JSON.stringify(this.#teamRunner.intake.check(specs)));
  }

  get team(): RunHandle['team'] {
    return this.#teamRunner;
  }

  messagesFor(assignee: string): readonly TeamMessage[] {
    return this.#teamRunner?.mail.getMessages(assignee) ?? [];
  }

  #assertRunning(): void {
    if (this.#hasEnded || this.#runtime.halted) throw new CloisterError('cell_ended', this.cell);
  }

  #liveCell(cell: string): LiveCell {
    const found = cell === this.cell ? this.#runtime : this.#run.getLiveCell(cell as CellId);
    if (found === undefined) throw new CloisterError('cell_ended', `${cell} is not running in this run.`);
    return found;
  }

  async #end(ended: Outcome): Promise<Outcome> {
    // probe: run-drained
    await this.#runtime.whenAllSettled();
    this.#hasEnded = true;
    for (const stop of this.#graceTimers ?? []) stop();
    if (this.#run.broken !== null) throw this.#run.broken;
    const outcome = this.#close(withFinalSpend(ended, this.#runtime));
    this.#run.replaying?.leave();
    await this.#world.log.durable();
    return outcome;
  }

  /** Crosses the result out and writes the last frame of the run. */
  #close(ended: Outcome): Outcome {
    const recorded = this.#run.replaying === null ? undefined : this.#run.recorded?.closed;
    const at = recorded?.at ?? this.#run.time();
    const { agent } = this.#runtime;
    const grants = this.#run.amendments.grants(
      agent.name,
      createGrants(agent, this.cell, 'outside'),
      recorded?.no ?? this.#run.nextFrame,
    );
    const content = JSON.stringify(resultEnvelope(ended, 'outside'));
    const door = { grants, ledger: this.#run.ledger, at };
    const passed = cross({ kind: 'result', from: this.cell, to: 'outside', content, labels: [] }, door);
    const outcome = 'refused' in passed ? resultRefused(ended, passed.refused) : ended;
    // probe: run-record-end
    if (recorded === undefined) this.#run.write(this.cell, at, { type: 'close', outcome });
    else this.#run.compare(recorded, { record: { type: 'close', outcome } });
    return outcome;
  }
}

const readShared = ({ kind, content }: Crossed): readonly SharedMessage[] =>
  kind === 'share' ? (JSON.parse(content) as readonly SharedMessage[]) : [];

const messageKey = ({ category, text }: SharedMessage): string => `${category} ${text}`;

const goalRefused = (runtime: CellRuntime): Outcome => ({
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
export const runChild: RunChild<RunWorldPorts> = async (operation, runtime, world) => {
  const { agent, deadline, ancestry, groupTokens } = operation;
  const { parent } = runtime;
  const { run } = world;
  const cell = new Cell(runtime, { parent, deadline, createdAt: runtime.now, ancestry, groupTokens, run, world });
  acceptOutsideSpawns(cell, world);
  const outcome = await (agent.team === null
    ? runSession(cell, childPorts(operation, runtime, world))
    : new TeamSessionRunner(cell, world).run());
  await runtime.whenAllSettled();
  // probe: child-outcome
  return withFinalSpend(outcome, runtime);
};

/** Most answers are only checked against their schema; a plan has its own check. */
const childPorts = ({ agent, check }: ChildOperation, runtime: CellRuntime, world: RunWorldPorts): SessionPorts => {
  const ports = sessionPorts(agent, world, runtime);
  return check === undefined ? ports : { ...ports, checkAnswer: check };
};

/** Operations stopped at the end are counted only now, so the outcome is updated. */
const withFinalSpend = (outcome: Outcome, runtime: CellRuntime): Outcome => ({
  ...outcome,
  spent: runtime.account.spent(outcome.spent.ms),
});
