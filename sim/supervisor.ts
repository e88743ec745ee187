// Acts for the people around the runtime: requests runs, restarts processes, resumes interrupted runs, and changes the clock.
import type { RunId } from '#base';
import type { Agent, ConversationRef, RunSession } from '#contracts';
import { createAgent, bindToProcess } from './agents.ts';
import { closeSimulatedCloister, openSimulatedCloister } from './cloister.ts';
import type { SimulatedCloister } from './cloister.ts';
import { errorCode, retryCodes } from './error-code.ts';
import { followSession } from './follow-session.ts';
import type { RunRequest } from './history.ts';
import { pickElsewhere } from './remote-commands.ts';
import { RunPlacement } from './run-placement.ts';
import { closeAtWork, disturbProcesses } from './disturb-processes.ts';
import { CheckpointUsers } from './checkpoint-users.ts';
import { StorageUsers } from './storage-users.ts';
import type { ResidentPlan } from './plan.ts';
import { Process } from './process.ts';
import { requestRun } from './team-requests.ts';
import { createRunTask, goalText, reopenTasks, runOptions, withoutInput } from './run-tasks.ts';
import type { RunTask } from './run-tasks.ts';
import { turnKey } from './watched-workspace-log.ts';
import type { Elsewhere, World } from './world.ts';

/** The most processes at the same time. */
const processesMax = 3;

/** The most requests for a run that never started. */
const requestsMax = 3;
/** The most requests for a turn that is refused, because others may be working in the conversation. */
const turnRequestsMax = 8;

export class Supervisor {
  readonly #world: World;
  readonly agents: readonly Agent[];
  readonly #tasks: RunTask[];
  readonly #checkpointUsers: CheckpointUsers;
  readonly #storageUsers: StorageUsers;
  #open: SimulatedCloister[] = [];
  readonly #resuming = new Set<string>();
  readonly #placement: RunPlacement;
  #checkScheduled = false;
  #isClosed = false;

  constructor(world: World) {
    this.#world = world;
    this.#placement = new RunPlacement(world);
    this.agents = world.plan.runs.map(({ agent }) => createAgent(agent));
    this.#tasks = world.plan.runs.map((plan, index) => createRunTask(plan, index));
    this.#checkpointUsers = new CheckpointUsers(world, {
      anyProcess: () => (world.random.chance(0.5) ? this.#anyProcess() : this.#anotherProcess()),
      processForFork: (run) => this.#processForFork(run),
      follow: (opened, session) => this.#followFork(opened, session),
      checkSoon: () => this.#checkSoon(),
      requestTurn: (conversation) => this.#addTurn(conversation),
      maybeResume: (conversation) => this.#resumeInConversation(conversation),
    });
    this.#storageUsers = new StorageUsers(world, {
      anyProcess: () => (world.storageRandom.chance(0.5) ? this.#anyProcess() : this.#anotherProcess()),
      checkSoon: () => this.#checkSoon(),
      broughtBack: (runs) => reopenTasks(world, this.#tasks, runs),
    });
    world.onFork = (request) => this.#expectFork(request);
    world.elsewhere = (run, not) => this.#elsewhere(run, not);
  }

  start(): void {
    const { plan, scheduler } = this.#world;
    for (const task of this.#tasks) scheduler.after(task.plan.startsAt, `ask ${task.index}`, () => this.#request(task));
    const resume = (task: RunTask): void => void this.#resume(this.#anotherProcess(), task);
    disturbProcesses(this.#world, { done: () => this.done, awake: () => this.#awake(), tasks: this.#tasks, resume });
    if (plan.closesAt !== null) this.#closeSoon(plan.closesAt);
    this.#checkpointUsers.start();
    this.#storageUsers.start();
  }

  /** Whether everything that was requested has ended. */
  get done(): boolean {
    const isIdle = this.#placement.idle && !this.#world.isSending();
    const areUsersDone = this.#checkpointUsers.done && this.#storageUsers.done;
    return areUsersDone && isIdle && this.#tasks.every(({ done }) => done);
  }

  unfinished(): readonly RunId[] {
    return this.#tasks.flatMap(({ run, done }) => (done || run === null ? [] : [run]));
  }

  /** Closes all live processes properly. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { process } of this.#open) process.reach.thaw();
    const open = this.#open.filter((one) => one.process.alive);
    this.#open = [];
    for (const opened of open) await closeSimulatedCloister(opened);
  }

  #request(task: RunTask): void {
    const [{ plan, index }, opened] = [task, this.#anyProcess()];
    task.wanted = true;
    if (task.conversation !== null) return void this.#requestTurn(opened, task, task.conversation);
    if (plan.resident !== null) return void this.#requestResident(opened, task, plan.resident);
    const goal = goalText(task);
    const session = requestRun(opened.cloister, opened.cloister.agents[index]!, goal, plan);
    this.#runStarted(opened, task, session, goal);
  }

  /** Requests a resident. */
  async #requestResident(opened: SimulatedCloister, task: RunTask, resident: ResidentPlan): Promise<void> {
    const { cloister, process } = opened;
    if (task.pendingIn?.alive === true) return this.#checkSoon();
    const goal = resident.goal ? goalText(task) : '';
    task.pendingIn = process;
    const session = await cloister.spawn(cloister.agents[task.index]!, {
      ...runOptions(task.plan),
      topics: resident.topics.filter((topic) => task.plan.agent.mail?.hear.includes(topic)),
      ...(resident.goal ? { message: goal } : {}),
    });
    task.pendingIn = null;
    this.#runStarted(opened, task, session, goal);
  }

  #runStarted(opened: SimulatedCloister, task: RunTask, session: RunSession, goal: string): void {
    if (!opened.process.alive) return this.#checkSoon();
    task.run = session.run;
    task.requests++;
    const { budget, agent } = task.plan;
    this.#world.requests.push({ run: session.run, goal, budget, agent, conversation: null, forkedFrom: null });
    this.#world.trace.note(`process ${opened.process.no} is asked to run "${goal}": ${session.run}`);
    this.#follow(opened, session, task, false);
  }

  async #requestTurn(opened: SimulatedCloister, task: RunTask, conversation: ConversationRef): Promise<void> {
    const { process, cloister } = opened;
    const { requestedTurns, faults, trace, otherRequests } = this.#world;
    const key = turnKey(process.no, conversation);
    if (task.pendingIn?.alive === true || requestedTurns.has(key)) return this.#checkSoon();
    const { plan } = task;
    const goal = goalText(task);
    task.pendingIn = process;
    task.requests++;
    requestedTurns.set(key, { goal, budget: plan.budget, agent: plan.agent });
    trace.note(`process ${process.no} is asked to take a turn: "${goal}"`);
    try {
      const session = await cloister.runTurn(plan.agent.name, goal, { ...runOptions(plan), conversation });
      faults.count('conversation: turn');
      task.run = session.run;
      this.#follow(opened, session, task, false);
    } catch (error) {
      const code = errorCode(error);
      trace.note(`process ${process.no} cannot take a turn: ${String(error)}`);
      faults.count(`turn refused: ${code}`);
      otherRequests.push({ process: process.no, what: `turn "${goal}"`, code, message: String(error) });
      if (task.requests >= turnRequestsMax) task.done = true;
      else this.#checkSoon();
    } finally {
      task.pendingIn = null;
      requestedTurns.delete(key);
    }
  }

  #addTurn(conversation: ConversationRef): void {
    const index = this.#world.plan.runs.findIndex(({ agent }) => agent.name === conversation.agent);
    const plan = this.#world.plan.runs[index];
    if (plan === undefined) return;
    const more = { ...withoutInput(plan), turns: 1, goal: `${plan.goal}, more ${this.#tasks.length}` };
    const task = createRunTask(more, index, conversation);
    this.#tasks.push(task);
    this.#request(task);
    this.#resumeInConversation(conversation);
  }

  /** Resumes interrupted runs of the conversation at this very moment, so that they compete with the new turn. */
  #resumeInConversation(conversation: ConversationRef): void {
    if (!this.#world.random.chance(0.8)) return;
    for (const task of this.#tasks) {
      const { run, done } = task;
      const ref = run === null ? null : (this.#world.request(run)?.conversation ?? null);
      if (run === null || done || ref === null || turnKey(0, ref) !== turnKey(0, conversation)) continue;
      if (!this.#placement.isLive(task)) void this.#resume(this.#processFor(run), task);
    }
  }

  /** Expects a forked run. If it never starts, nobody requests it again. */
  #expectFork({ run, agent }: RunRequest): void {
    const index = this.#world.plan.runs.findIndex((one) => one.agent.name === agent.name);
    const plan = this.#world.plan.runs[index]!;
    const cancel = this.#world.random.chance(0.3) ? plan.cancel : null;
    const task = createRunTask({ ...withoutInput(plan), turns: 0, cancel }, index);
    this.#tasks.push(Object.assign(task, { run, wanted: true, requests: requestsMax }));
  }

  #followFork(opened: SimulatedCloister, session: RunSession): void {
    const task = this.#tasks.find(({ run }) => run === session.run);
    if (task !== undefined) this.#follow(opened, session, task, false);
  }

  /** Processes to which people can turn. */
  #awake(): readonly SimulatedCloister[] {
    return this.#open.filter(({ process }) => process.isAwake);
  }

  #anyProcess(): SimulatedCloister {
    const awake = this.#awake();
    return awake.length > 0 ? this.#world.random.pick(awake) : this.#startProcess();
  }

  #processFor(run: RunId): SimulatedCloister {
    const able = this.#awake().filter(({ process }) => this.#placement.mayRun(process, run, run));
    return able.length > 0 ? this.#world.random.pick(able) : this.#startProcess();
  }

  /** Somebody who is not at the process that works on the run, or does not know which one does. */
  #elsewhere(run: RunId, not: number): Elsewhere | null {
    if (this.#isClosed || this.done) return null;
    const alive = this.#open.filter(({ process }) => process.alive);
    const opened = pickElsewhere(this.#world, alive, not, processesMax) ?? this.#startProcess();
    const task = this.#tasks.find((one) => one.run === run);
    return { ...opened, resume: async () => (task === undefined ? undefined : this.#resume(opened, task)) };
  }

  /** Starts another process, unless there are enough. */
  #anotherProcess(): SimulatedCloister {
    const alive = this.#open.filter(({ process }) => process.alive);
    return alive.length < processesMax ? this.#startProcess() : this.#anyProcess();
  }

  #startProcess(): SimulatedCloister {
    const process = new Process(this.#world, (dead) => {
      this.#placement.dropProcess(dead);
      this.#checkSoon();
    });
    const plans = this.#world.plan.runs.map(({ agent }) => agent);
    const agents = this.agents.map((agent, index) => bindToProcess(process, agent, plans[index]!));
    const opened = openSimulatedCloister(process, agents, plans);
    this.#open = [...this.#open.filter((one) => one.process.alive), opened];
    this.#storageUsers.opened(opened);
    return opened;
  }

  #follow({ process }: SimulatedCloister, session: RunSession, task: RunTask, resumed: boolean): void {
    followSession({ process, session, resumed }, task.plan, ({ outcome }) => {
      if (outcome === null) this.#checkSoon();
      else this.#end(task, session.run);
    });
  }

  /** Notes the end of a run; the next turn may follow. */
  #end(task: RunTask, run: RunId): void {
    const { random, scheduler } = this.#world;
    if (task.conversation !== null && task.run !== run) return;
    if (task.turn >= task.plan.turns) {
      task.done = true;
      return;
    }
    Object.assign(task, { turn: task.turn + 1, run: null, wanted: false, requests: 0 });
    scheduler.after(random.log(1, 500), 'next turn', () => this.#request(task));
  }

  #processForFork(run: RunId): { readonly opened: SimulatedCloister; leave(): void } {
    const able = this.#awake().filter(({ process }) => this.#placement.mayRun(process, run, null));
    const opened = able.length > 0 ? this.#world.random.pick(able) : this.#startProcess();
    return { opened, leave: this.#placement.reserve(opened.process, run, null) };
  }

  /** After a while, somebody notices that a run has stopped. */
  #checkSoon(): void {
    const { random, scheduler } = this.#world;
    if (this.#checkScheduled) return;
    this.#checkScheduled = true;
    scheduler.after(random.log(1, 20_000), 'check', () => this.#checkRuns());
  }

  #checkRuns(): void {
    this.#checkScheduled = false;
    const rivals = this.#world.faults.draw(this.#world.faults.plan.rivals, 'process', { rivals: 1 }) !== null;
    // Sometimes closes a process again while it resumes runs.
    if (this.#world.faults.on && this.#world.random.chance(0.03)) this.#closeSoon(this.#world.random.log(1, 40));
    this.#storageUsers.check();
    // Whoever brought them back may have died before telling anybody.
    reopenTasks(this.#world, this.#tasks, this.#storageUsers.broughtBack());
    const busy = new Set<string>();
    for (const task of this.#placement.rotate(this.#tasks)) {
      if (task.done || !task.wanted || this.#placement.isLive(task)) continue;
      if (this.#placement.isConversationBusy(task, busy)) {
        this.#checkSoon();
        continue;
      }
      if (task.run === null) this.#request(task);
      else {
        void this.#resume(this.#processFor(task.run), task);
        if (rivals) void this.#resume(this.#anotherProcess(), task);
      }
    }
  }

  /** Undefined: it could not be resumed there. */
  async #resume(opened: SimulatedCloister, task: RunTask): Promise<RunSession | undefined> {
    const [{ process, cloister }, { run }] = [opened, task];
    const key = `${process.no} ${run}`;
    // Who answers may have died before it resumes the run.
    if (run === null || !process.alive || this.#resuming.has(key)) return undefined;
    if (!this.#placement.mayRun(process, run, run)) {
      this.#checkSoon();
      return undefined;
    }
    this.#resuming.add(key);
    const leave = this.#placement.reserve(process, run, run);
    this.#world.trace.note(`process ${process.no} resumes ${run}`);
    try {
      const session = await cloister.resume(run);
      this.#world.faults.count('run: resumed');
      this.#follow(opened, session, task, true);
      return session;
    } catch (error) {
      const code = errorCode(error);
      this.#world.trace.note(`process ${process.no} cannot resume ${run}: ${code} ${String(error)}`);
      this.#world.faults.count(`resume refused: ${code}`);
      this.#world.resumeRefusals.push({ process: process.no, run, code, message: String(error) });
      const isOver = code === 'run_ended' || this.#world.disk.isDeleted(run) || !retryCodes.includes(code);
      if (isOver) this.#end(task, run);
      else if (code === 'run_unknown' && task.run === run && !this.#placement.isLive(task)) this.#requestAgain(task);
      else this.#checkSoon();
      return undefined;
    } finally {
      leave();
      this.#resuming.delete(key);
    }
  }

  /** The run never started: nothing of it was acknowledged or stored. */
  #requestAgain(task: RunTask): void {
    if (task.requests >= requestsMax) {
      task.done = true;
      return;
    }
    task.run = null;
    this.#checkSoon();
  }

  #closeSoon(ms: number): void {
    this.#world.scheduler.after(ms, 'close', () => void this.#closeOne());
  }

  /** Closes a process properly, in the middle of its work. */
  async #closeOne(): Promise<void> {
    const opened = this.#open.find(({ process }) => process.isAwake && !this.#world.isSending(process.no));
    if (opened === undefined) return;
    this.#open = this.#open.filter((one) => one !== opened);
    await closeAtWork(this.#world, opened);
    this.#checkSoon();
  }
}
