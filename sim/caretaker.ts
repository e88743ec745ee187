// The people around the runtime: they ask, start processes again, go on with what was interrupted, and set the clock.
import type { RunId } from '#base';
import type { Agent, ConversationRef, RunSession } from '#contracts';
import { agentOf, boundTo } from './agents.ts';
import { closeSimulated, openSimulated } from './cloister.ts';
import type { SimulatedCloister } from './cloister.ts';
import { codeOf } from './code-of.ts';
import { follow, noteCancel } from './follow.ts';
import type { RunRequest } from './history.ts';
import { Hosting } from './hosting.ts';
import { Keepers } from './keepers.ts';
import type { ResidentPlan } from './plan.ts';
import { Process } from './process.ts';
import { setClockSoon } from './set-clock.ts';
import { askFor } from './team-people.ts';
import { goalOf, optionsOf, taskOf, untold } from './tasks.ts';
import type { Task } from './tasks.ts';
import { turnKey } from './watched-workspace-log.ts';
import type { World } from './world.ts';

/** How many processes live at once. */
const aliveMax = 3;

/** Why a run cannot be gone on with, and may be later. */
const mayPass: readonly string[] = ['run_owned', 'run_unknown', 'store_failed', 'store_busy', 'conversation_busy'];

/** How often somebody asks again for a run that never began. */
const asksMax = 3;
/** How often for a turn that is refused: others may be at work there. */
const turnAsksMax = 8;

export class Caretaker {
  readonly #world: World;
  readonly agents: readonly Agent[];
  readonly #tasks: Task[];
  readonly #keepers: Keepers;
  #open: SimulatedCloister[] = [];
  readonly #trying = new Set<string>();
  readonly #hosting: Hosting;
  #caring = false;

  constructor(world: World) {
    this.#world = world;
    this.#hosting = new Hosting(world);
    this.agents = world.plan.runs.map(({ agent }) => agentOf(agent));
    this.#tasks = world.plan.runs.map((plan, index) => taskOf(plan, index));
    this.#keepers = new Keepers(world, {
      any: () => (world.random.chance(0.5) ? this.#anyOpen() : this.#another()),
      hosting: (run) => this.#hostFor(run),
      follow: (opened, session) => this.#followContinued(opened, session),
      careSoon: () => this.#careSoon(),
      turn: (conversation) => this.#sayMore(conversation),
      meanwhile: (conversation) => this.#goOnThere(conversation),
    });
    world.onContinued = (request) => this.#expect(request);
  }

  begin(): void {
    const { plan, scheduler } = this.#world;
    for (const task of this.#tasks) scheduler.after(task.plan.startsAt, `ask ${task.index}`, () => this.#ask(task));
    if (plan.faults.rivals > 0) this.#rivalSoon();
    if (plan.faults.clock > 0) setClockSoon(this.#world, () => this.done);
    if (plan.closesAt !== null) this.#closeSoon(plan.closesAt);
    this.#keepers.begin();
  }

  /** Whether all that was asked for has ended. */
  get done(): boolean {
    return this.#keepers.done && this.#hosting.idle && this.#tasks.every(({ over }) => over);
  }

  unfinished(): readonly RunId[] {
    return this.#tasks.flatMap(({ run, over }) => (over || run === null ? [] : [run]));
  }

  /** Ends every process that lives, in order. */
  async close(): Promise<void> {
    const open = this.#open.filter((one) => one.process.alive);
    this.#open = [];
    for (const opened of open) await closeSimulated(opened);
  }

  #ask(task: Task): void {
    const [{ plan, index }, opened] = [task, this.#anyOpen()];
    task.wanted = true;
    if (task.conversation !== null) return void this.#askTurn(opened, task, task.conversation);
    if (plan.resident !== null) return void this.#askResident(opened, task, plan.resident);
    const goal = goalOf(task);
    const session = askFor(opened.cloister, opened.cloister.agents[index]!, goal, plan);
    this.#begun(opened, task, session, goal);
  }

  /** For one that lives on. */
  async #askResident(opened: SimulatedCloister, task: Task, resident: ResidentPlan): Promise<void> {
    const { cloister, process } = opened;
    if (task.asking?.alive === true) return this.#careSoon();
    const goal = resident.goal ? goalOf(task) : '';
    task.asking = process;
    const session = await cloister.spawn(cloister.agents[task.index]!, {
      ...optionsOf(task.plan),
      topics: resident.topics.filter((topic) => task.plan.agent.mail?.hear.includes(topic)),
      ...(resident.goal ? { message: goal } : {}),
    });
    task.asking = null;
    this.#begun(opened, task, session, goal);
  }

  #begun(opened: SimulatedCloister, task: Task, session: RunSession, goal: string): void {
    if (!opened.process.alive) return this.#careSoon();
    task.run = session.run;
    task.asked++;
    const { budget, agent } = task.plan;
    this.#world.requests.push({ run: session.run, goal, budget, agent, conversation: null, cut: null });
    this.#world.trace.note(`process ${opened.process.no} is asked for "${goal}": ${session.run}`);
    this.#follow(opened, session, task, false);
  }

  async #askTurn(opened: SimulatedCloister, task: Task, conversation: ConversationRef): Promise<void> {
    const { process, cloister } = opened;
    const { turnsAsked, faults, trace, askings } = this.#world;
    const key = turnKey(process.no, conversation);
    if (task.asking?.alive === true || turnsAsked.has(key)) return this.#careSoon();
    const { plan } = task;
    const goal = goalOf(task);
    task.asking = process;
    task.asked++;
    turnsAsked.set(key, { goal, budget: plan.budget, agent: plan.agent });
    trace.note(`process ${process.no} is asked for a turn: "${goal}"`);
    try {
      const session = await cloister.runTurn(plan.agent.name, goal, { ...optionsOf(plan), conversation });
      faults.count('kept: turn');
      task.run = session.run;
      this.#follow(opened, session, task, false);
    } catch (error) {
      const code = codeOf(error);
      trace.note(`process ${process.no} cannot take a turn: ${String(error)}`);
      faults.count(`turn refused: ${code}`);
      askings.push({ process: process.no, what: `turn "${goal}"`, code, said: String(error) });
      if (task.asked >= turnAsksMax) task.over = true;
      else this.#careSoon();
    } finally {
      task.asking = null;
      turnsAsked.delete(key);
    }
  }

  #sayMore(conversation: ConversationRef): void {
    const index = this.#world.plan.runs.findIndex(({ agent }) => agent.name === conversation.agent);
    const plan = this.#world.plan.runs[index];
    if (plan === undefined) return;
    const more = { ...untold(plan), turns: 1, goal: `${plan.goal}, more ${this.#tasks.length}` };
    const task = taskOf(more, index, conversation);
    this.#tasks.push(task);
    this.#ask(task);
    this.#goOnThere(conversation);
  }

  /** What was interrupted in that conversation is gone on with just now. */
  #goOnThere(conversation: ConversationRef): void {
    if (!this.#world.random.chance(0.8)) return;
    for (const task of this.#tasks) {
      const { run, over } = task;
      const there = run === null ? null : (this.#world.request(run)?.conversation ?? null);
      if (run === null || over || there === null || turnKey(0, there) !== turnKey(0, conversation)) continue;
      if (!this.#isLive(task)) void this.#resume(this.#openFor(run), task);
    }
  }

  /** A run that goes on from a cut: nobody asks for it again if it never begins. */
  #expect({ run, agent }: RunRequest): void {
    const index = this.#world.plan.runs.findIndex((one) => one.agent.name === agent.name);
    const plan = this.#world.plan.runs[index]!;
    const cancel = this.#world.random.chance(0.3) ? plan.cancel : null;
    const task = taskOf({ ...untold(plan), turns: 0, cancel }, index);
    this.#tasks.push(Object.assign(task, { run, wanted: true, asked: asksMax }));
  }

  #followContinued(opened: SimulatedCloister, session: RunSession): void {
    const task = this.#tasks.find(({ run }) => run === session.run);
    if (task !== undefined) this.#follow(opened, session, task, false);
  }

  #anyOpen(): SimulatedCloister {
    const alive = this.#open.filter(({ process }) => process.alive);
    return alive.length > 0 ? this.#world.random.pick(alive) : this.#start();
  }

  #openFor(run: RunId): SimulatedCloister {
    const alive = this.#open.filter(({ process }) => process.alive);
    const able = alive.filter(({ process }) => this.#hosting.can(process, run, run));
    return able.length > 0 ? this.#world.random.pick(able) : this.#start();
  }

  /** One more, unless there are enough. */
  #another(): SimulatedCloister {
    return this.#open.filter(({ process }) => process.alive).length < aliveMax ? this.#start() : this.#anyOpen();
  }

  #start(): SimulatedCloister {
    const process = new Process(this.#world, (dead) => {
      this.#hosting.forget(dead);
      this.#careSoon();
    });
    const plans = this.#world.plan.runs.map(({ agent }) => agent);
    const agents = this.agents.map((agent, index) => boundTo(process, agent, plans[index]!));
    const opened = openSimulated(process, agents, plans);
    this.#open = [...this.#open.filter((one) => one.process.alive), opened];
    return opened;
  }

  #follow({ process }: SimulatedCloister, session: RunSession, task: Task, resumed: boolean): void {
    follow({ process, session, resumed }, task.plan, ({ outcome }) => {
      if (outcome === null) this.#careSoon();
      else this.#end(task, session.run);
    });
  }

  /** That run is over; the next turn may follow. */
  #end(task: Task, run: RunId): void {
    const { random, scheduler } = this.#world;
    if (task.conversation !== null && task.run !== run) return;
    if (task.turn >= task.plan.turns) {
      task.over = true;
      return;
    }
    Object.assign(task, { turn: task.turn + 1, run: null, wanted: false, asked: 0 });
    scheduler.after(random.log(1, 500), 'next turn', () => this.#ask(task));
  }

  #hostFor(run: RunId): { readonly opened: SimulatedCloister; leave(): void } {
    const able = this.#open.filter(({ process }) => process.alive && this.#hosting.can(process, run, null));
    const opened = able.length > 0 ? this.#world.random.pick(able) : this.#start();
    return { opened, leave: this.#hosting.enter(opened.process, run, null) };
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
    const talking = new Set<string>();
    for (const task of this.#inTurn()) {
      if (task.over || !task.wanted || this.#isLive(task)) continue;
      if (this.#isTalked(task, talking)) {
        this.#careSoon();
        continue;
      }
      if (task.run === null) this.#ask(task);
      else {
        void this.#resume(this.#openFor(task.run), task);
        if (rivals) void this.#resume(this.#another(), task);
      }
    }
  }

  /** None of those that are in each other's way is always the first. */
  #inTurn(): readonly Task[] {
    const { plan, random } = this.#world;
    const first = plan.keeping.length === 0 ? 0 : random.int(0, this.#tasks.length - 1);
    return [...this.#tasks.slice(first), ...this.#tasks.slice(0, first)];
  }

  /** Two at once in one conversation would be in each other's way; sometimes they are. */
  #isTalked({ run, conversation }: Task, talking: Set<string>): boolean {
    const ref = (run === null ? undefined : this.#world.request(run)?.conversation) ?? conversation;
    if (ref === null) return false;
    const key = turnKey(0, ref);
    if (talking.has(key)) return !(this.#world.faults.on && this.#world.random.chance(0.3));
    talking.add(key);
    return false;
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
    if (!this.#hosting.can(process, run, run)) return this.#careSoon();
    this.#trying.add(key);
    const leave = this.#hosting.enter(process, run, run);
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
      if (code === 'run_ended' || !mayPass.includes(code)) this.#end(task, run);
      else if (code === 'run_unknown' && task.run === run && !this.#isLive(task)) this.#askAgain(task);
      else this.#careSoon();
    } finally {
      leave();
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
    await closeSimulated(opened);
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
}
