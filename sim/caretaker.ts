// The people around the runtime: they ask, start processes again, go on with what was interrupted, and set the clock.
import type { RunId } from '#base';
import type { Agent, RunSession } from '#contracts';
import { agentOf, boundTo } from './agents.ts';
import { openSimulated } from './cloister.ts';
import type { SimulatedCloister } from './cloister.ts';
import { codeOf } from './code-of.ts';
import { follow, noteCancel } from './follow.ts';
import type { RunPlan } from './plan.ts';
import { Process } from './process.ts';
import type { World } from './world.ts';

/** How many processes live at once. */
const aliveMax = 3;

/** Why a run cannot be gone on with, and may be later. */
const mayPass: readonly string[] = ['run_owned', 'run_unknown', 'store_failed', 'store_busy'];

/** How often somebody asks again for a run that never began. */
const asksMax = 3;

/** What somebody wants done. */
type Task = {
  readonly plan: RunPlan;
  readonly index: number;
  /** The run that was begun for it last. */
  run: RunId | null;
  wanted: boolean;
  asked: number;
  over: boolean;
};

export class Caretaker {
  readonly #world: World;
  readonly agents: readonly Agent[];
  readonly #tasks: readonly Task[];
  #open: SimulatedCloister[] = [];
  readonly #trying = new Set<string>();
  #caring = false;

  constructor(world: World) {
    this.#world = world;
    this.agents = world.plan.runs.map(({ agent }) => agentOf(agent));
    this.#tasks = world.plan.runs.map((plan, index) => ({
      plan,
      index,
      run: null,
      wanted: false,
      asked: 0,
      over: false,
    }));
  }

  begin(): void {
    const { plan, scheduler } = this.#world;
    for (const task of this.#tasks) scheduler.after(task.plan.startsAt, `ask ${task.index}`, () => this.#ask(task));
    if (plan.faults.rivals > 0) this.#rivalSoon();
    if (plan.faults.clock > 0) this.#clockSoon();
    if (plan.closesAt !== null) this.#closeSoon(plan.closesAt);
  }

  /** Whether all that was asked for has ended. */
  get done(): boolean {
    return this.#tasks.every(({ over }) => over);
  }

  unfinished(): readonly RunId[] {
    return this.#tasks.flatMap(({ run, over }) => (over || run === null ? [] : [run]));
  }

  /** Ends every process that lives, in order. */
  async close(): Promise<void> {
    const open = this.#open.filter((one) => one.process.alive);
    this.#open = [];
    for (const opened of open) await close(opened);
  }

  #ask(task: Task): void {
    const { plan, index } = task;
    task.wanted = true;
    const opened = this.#anyOpen();
    const { cloister, process } = opened;
    const goal = task.asked === 0 ? plan.goal : `${plan.goal}, asked again (${task.asked})`;
    const session = cloister.run(cloister.agents[index]!, goal, {
      context: plan.context,
      ...(plan.budget === undefined ? {} : { budget: plan.budget }),
    });
    if (!process.alive) return this.#careSoon();
    task.run = session.run;
    task.asked++;
    this.#world.requests.push({ run: session.run, goal, budget: plan.budget, agent: plan.agent });
    this.#world.trace.note(`process ${process.no} is asked for "${goal}": ${session.run}`);
    this.#follow(opened, session, task, false);
  }

  #anyOpen(): SimulatedCloister {
    const alive = this.#open.filter(({ process }) => process.alive);
    return alive.length > 0 ? this.#world.random.pick(alive) : this.#start();
  }

  /** One more, unless there are enough. */
  #another(): SimulatedCloister {
    return this.#open.filter(({ process }) => process.alive).length < aliveMax ? this.#start() : this.#anyOpen();
  }

  #start(): SimulatedCloister {
    const process = new Process(this.#world, () => this.#careSoon());
    const plans = this.#world.plan.runs.map(({ agent }) => agent);
    const agents = this.agents.map((agent, index) => boundTo(process, agent, plans[index]!));
    const opened = openSimulated(process, agents, plans);
    this.#open = [...this.#open.filter((one) => one.process.alive), opened];
    return opened;
  }

  #follow({ process }: SimulatedCloister, session: RunSession, task: Task, resumed: boolean): void {
    follow({ process, session, resumed }, task.plan, ({ outcome }) => {
      if (outcome === null) this.#careSoon();
      else task.over = true;
    });
  }

  /** Somebody notices that a run does not go on. */
  #careSoon(): void {
    const { random, scheduler } = this.#world;
    if (this.#caring) return;
    this.#caring = true;
    scheduler.after(random.log(1, 20_000), 'care', () => this.#care());
  }

  #care(): void {
    this.#caring = false;
    const rivals = this.#world.faults.draw(this.#world.faults.plan.rivals, 'process', { rivals: 1 }) !== null;
    // Stopped again while it is being gone on with.
    if (this.#world.faults.on && this.#world.random.chance(0.03)) this.#closeSoon(this.#world.random.log(1, 40));
    for (const task of this.#tasks) {
      if (task.over || !task.wanted || this.#isLive(task)) continue;
      if (task.run === null) this.#ask(task);
      else {
        void this.#resume(this.#anyOpen(), task);
        if (rivals) void this.#resume(this.#another(), task);
      }
    }
  }

  #isLive({ run }: Task): boolean {
    const { followings } = this.#world;
    return followings.some((one) => one.run === run && one.endedAt === null && this.#world.isAlive(one.process));
  }

  async #resume(opened: SimulatedCloister, task: Task): Promise<void> {
    const { process, cloister } = opened;
    const { run } = task;
    const key = `${process.no} ${run}`;
    if (run === null || this.#trying.has(key)) return;
    this.#trying.add(key);
    this.#world.trace.note(`process ${process.no} goes on with ${run}`);
    try {
      const session = await cloister.resume(run);
      this.#world.faults.count('run: resumed');
      this.#follow(opened, session, task, true);
    } catch (error) {
      const code = codeOf(error);
      this.#world.trace.note(`process ${process.no} cannot go on with ${run}: ${code} ${String(error)}`);
      this.#world.faults.count(`resume refused: ${code}`);
      this.#world.refusals.push({ process: process.no, run, code, said: String(error) });
      if (code === 'run_ended' || !mayPass.includes(code)) task.over = true;
      else if (code === 'run_unknown' && task.run === run && !this.#isLive(task)) this.#askAgain(task);
      else this.#careSoon();
    } finally {
      this.#trying.delete(key);
    }
  }

  /** It never began: nothing of it was acknowledged, and nothing is there. */
  #askAgain(task: Task): void {
    if (task.asked >= asksMax) {
      task.over = true;
      return;
    }
    task.run = null;
    this.#careSoon();
  }

  #closeSoon(ms: number): void {
    this.#world.scheduler.after(ms, 'close', () => void this.#closeOne());
  }

  /** Somebody stops a process in order, in the middle of its work. */
  async #closeOne(): Promise<void> {
    const opened = this.#open.find(({ process }) => process.alive);
    if (opened === undefined) return;
    this.#open = this.#open.filter((one) => one !== opened);
    const { followings, trace } = this.#world;
    trace.note(`process ${opened.process.no} is closed`);
    for (const one of followings)
      if (one.process === opened.process.no && one.endedAt === null && one.cancelledAt === null)
        noteCancel(this.#world, one);
    await close(opened);
    opened.process.exit();
    this.#careSoon();
  }

  /** Another process tries its luck with a run that may still be at work. */
  #rivalSoon(): void {
    const { random, faults, scheduler } = this.#world;
    scheduler.after(random.log(20, 2_000), 'rival', () => {
      if (!faults.on || this.done) return;
      const unfinished = this.#tasks.filter(({ over }) => !over);
      if (unfinished.length > 0 && faults.draw(faults.plan.rivals / 2, 'process', { 'second owner': 1 }) !== null)
        void this.#resume(this.#another(), random.pick(unfinished));
      this.#rivalSoon();
    });
  }

  #clockSoon(): void {
    const { random, faults, scheduler } = this.#world;
    scheduler.after(random.log(5, 2_000), 'clock', () => {
      if (!faults.on || this.done) return;
      const jump = faults.draw(faults.plan.clock, 'clock', { forwards: 2, back: 1 });
      if (jump !== null) this.#world.setWall((jump === 'back' ? -1 : 1) * random.log(1, 100_000));
      this.#clockSoon();
    });
  }
}

const close = async (opened: SimulatedCloister): Promise<void> => {
  const { cloister, process } = opened;
  await cloister.close();
  process.life.slotsMissing = opened.slotsMissing();
  process.life.timersLeft = process.timers;
};
