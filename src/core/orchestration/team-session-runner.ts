// The session of a team: a graph of tasks instead of turns of a model. Written like any session against its cell's context.
//
//   T1. A task's cell is given its text, the results that it depends on, and its messages: nothing else of the team's.
//   T2. What happens next depends on the queue alone, and the queue on what settled, in recorded order: a replay takes the same path.
//   T3. All that has settled is heard before anything is decided: who follows the log alone arrives at the same queue.
//   T4. Results stay here, with the director. Nobody reads them but tasks that depend on them, and who answers in the end.
import { CloisterError, extractJson, decodeMessage } from '#base';
import type { Failure, JsonObject } from '#base';
import type {
  Agent,
  Envelope,
  Mail,
  Operation,
  Outcome,
  PendingOperation,
  ReceiveResult,
  Settlement,
  Task,
  TaskSpec,
} from '#contracts';
import type { TeamGoal, TeamRules } from '#contracts';
import type { Cell } from '#core/cells';
import {
  abortedReason,
  checkTasks,
  isFinal,
  missingIn,
  refusalReason,
  refusedName,
  resultReason,
  SharedMemory,
  skippedName,
  TaskQueue,
} from '#core/tasks';
import { teamMember, rosterOf } from './define-team.ts';
import { answerGoal, planFailure, planGoal, readPlanTasks } from './coordinator-prompts.ts';
import { TaskIntake } from './task-intake.ts';
import { createTeamChild } from './team-cell.ts';
import type { TeamChildInput } from './team-cell.ts';
import { failedOutcome, planOutcome, teamOutcome, unansweredTeamOutcome } from './team-outcome.ts';
import { TeamMail } from './team-mail.ts';

/** What of the world it asks: the smallest window of an agent's budget group. */
type GroupWorld = { groupTokens?(agent: Agent): number | undefined };

export class TeamSessionRunner {
  readonly queue: TaskQueue;
  /** The coordinator's: written here, read by nobody else while the team works. */
  readonly memory = new SharedMemory();
  readonly mail: TeamMail;
  readonly intake: TaskIntake;
  readonly #cell: Cell;
  readonly #world: GroupWorld;
  readonly #rules: TeamRules;
  readonly #asked: TeamGoal;
  /** Cells that work on a task, and pauses before a task is tried again. */
  readonly #under = new Map<PendingOperation, { readonly task: string; readonly assignee: string | null }>();
  readonly #busy = new Map<string, number>();
  #running = 0;
  #inbox: PendingOperation | null = null;

  constructor(cell: Cell, world: GroupWorld) {
    this.#cell = cell;
    this.#world = world;
    this.#rules = cell.agent.team!;
    this.#asked = goalOf(cell);
    this.mail = new TeamMail(this.#rules);
    const { memoryScope, retries, members } = this.#rules;
    this.queue = new TaskQueue({ assignees: Object.keys(members), memoryScope, retries, allowAll: true });
    this.intake = new TaskIntake(cell, this.queue);
  }

  async run(): Promise<Outcome> {
    try {
      const failure = await this.#plan();
      const isAll = failure !== null || this.#asked.planOnly === true;
      this.intake.begin(!isAll);
      if (failure !== null) return failedOutcome(this.#cell, failure);
      if (isAll) return planOutcome(this.#cell, this.#asked.goal, this.queue);
      await this.#work();
      return await this.#conclude();
    } catch (error) {
      this.#stop();
      return teamOutcome(this.#cell, this.queue, { failure: failureFrom(error) });
    }
  }

  /** The tasks as asked for, or as the coordinator plans them. */
  async #plan(): Promise<Failure | null> {
    const { goal, tasks } = this.#asked;
    if (tasks !== null) return this.#take(tasks);
    const { coordinator } = this.#cell.agent;
    if (coordinator === null) return { code: 'team_invalid', detail: 'It has no coordinator to plan.' };
    const words = planGoal(goal ?? '', rosterOf(this.#cell.agent), this.#rules);
    const given: TeamChildInput = { part: { part: 'plan' }, goal: words, check: (value) => this.#planProblems(value) };
    const ended = await this.#runPart(this.#bear(coordinator.plans, given));
    if ('code' in ended) return ended;
    if (ended.status !== 'completed') return planFailure(ended, this.#planProblems(extractJson(ended.output)));
    return this.#take(readPlanTasks(extractJson(ended.output)));
  }

  #planProblems(value: Parameters<typeof readPlanTasks>[0]): readonly string[] {
    const { members, planTasksMax, planDepthMax, planMayAskForAll } = this.#rules;
    // probe: plan-limits
    const limits = { tasksMax: planTasksMax, depthMax: planDepthMax, allowAll: planMayAskForAll };
    return checkTasks(
      readPlanTasks(value),
      { ...this.intake.known(), size: 0 },
      { assignees: Object.keys(members), ...limits },
    );
  }

  #take(tasks: unknown): Failure | null {
    try {
      this.queue.add(tasks as readonly TaskSpec[]);
      return null;
    } catch (error) {
      return failureFrom(error);
    }
  }

  async #work(): Promise<void> {
    const { runtime } = this.#cell;
    this.#inbox = this.#listen();
    for (;;) {
      if (!this.#hasUnheard()) {
        if (this.#isLate()) this.#skipRest('the time was up');
        while (this.#running < this.#rules.parallel && this.#startNext());
        if (this.#under.size === 0) {
          if (await this.#isOver()) return;
          continue;
        }
      }
      this.#settle(await runtime.first(this.#open()));
    }
  }

  #open(): readonly PendingOperation[] {
    return [...this.#under.keys(), ...(this.#inbox === null ? [] : [this.#inbox])];
  }

  #hasUnheard(): boolean {
    const open = this.#open();
    return this.#cell.runtime.unended(open).length < open.length;
  }

  /** Nothing is under way: unless more to do has come until now, that is all. */
  async #isOver(): Promise<boolean> {
    const { runtime } = this.#cell;
    this.intake.isOpen = false;
    if (this.#inbox === null) return true;
    runtime.cancel(this.#inbox);
    const { settled } = await runtime.first([this.#inbox]);
    if (!settled!.ok) return true;
    this.intake.isOpen = true;
    this.#receive(settled as Settlement<never>);
    return false;
  }

  /** What has not started will not be, and nothing is tried again: its own decision, so it is on record. */
  #skipRest(why: string): void {
    const counts = this.queue.counts();
    if (counts.pending + counts.ready === 0) return;
    this.#cell.runtime.begin({ do: 'post', name: skippedName, decide: () => ({ why }) });
    this.queue.skipRest(abortedReason(why));
    for (const pending of this.#under.keys()) if (pending.operation.do === 'sleep') this.#cell.runtime.cancel(pending);
  }

  #isLate(): boolean {
    const { deadlineNow, runtime } = this.#cell;
    return deadlineNow !== 0 && runtime.now >= deadlineNow;
  }

  #listen(): PendingOperation {
    const wanted = { box: 'any', max: 100 } as const;
    return this.#cell.runtime.begin({ do: 'receive', name: 'team', wanted: () => wanted, timeoutMs: 0 });
  }

  /** False: nothing is ready, or nobody who could do it has room. */
  #startNext(): boolean {
    const { parallel, capacity } = this.#rules;
    const taken = this.queue.take(
      (name) => (Object.hasOwn(capacity, name) ? capacity[name]! : parallel) - (this.#busy.get(name) ?? 0),
    );
    if (taken === undefined) return false;
    const { task, assignee } = taken;
    const agent = teamMember(this.#cell.agent, assignee ?? '', task.memoryScope === 'all' || task.dependsOn.length > 0);
    if (agent === undefined) throw new CloisterError('defect', `Nobody is called ${assignee}.`);
    const isFirst = (this.queue.earliestUnstarted(agent.name)?.order ?? Infinity) > task.order;
    const given: TeamChildInput = {
      part: { part: 'task', task: task.id, attempt: task.attempts, scope: task.memoryScope },
      // probe: team-task-goal
      goal: null,
      task,
      results: this.#resultsFor(task),
      messages: this.mail.takeFor(task, agent.name, isFirst),
    };
    const begun = this.#bear(agent, given);
    if ('code' in begun) this.#refused(task, begun);
    else this.#follow(begun, task.id, assignee);
    return true;
  }

  #bear(agent: Agent, given: TeamChildInput): ReturnType<typeof createTeamChild> {
    return createTeamChild(this.#cell, agent, {
      ...given,
      groupTokens: this.#world.groupTokens?.(agent),
      keep: this.#kept(given),
    });
  }

  /** One more agent may be started for the answer, if there is to be one. */
  #kept({ part }: TeamChildInput): number {
    return part.part === 'task' && this.#asked.answer && this.#cell.agent.coordinator !== null ? 1 : 0;
  }

  #resultsFor({ id, memoryScope }: Task): readonly Task[] {
    // probe: team-results-in-scope
    const all = memoryScope === 'all' ? [...this.queue.tasks()] : this.queue.dependenciesOf(id);
    // probe: team-results-for-task
    return all.filter((task) => task.status === 'completed');
  }

  #refused({ id, assignee }: Task, failure: Failure): void {
    this.#recordRefusal(failure, { task: id, assignee });
    this.queue.skip(id, refusalReason(failure));
  }

  /** An operation of its own: what did not cross, and that it did not, is on record. */
  #recordRefusal({ code, detail = code }: Failure, about: JsonObject): void {
    this.#cell.runtime.begin({ do: 'post', name: refusedName, about, decide: () => ({ code, detail }) });
  }

  #follow(operation: Operation, task: string, assignee: string | null): void {
    this.#under.set(this.#cell.runtime.begin(operation), { task, assignee });
    this.#running++;
    if (assignee !== null) this.#busy.set(assignee, (this.#busy.get(assignee) ?? 0) + 1);
  }

  #settle(pending: PendingOperation): void {
    const { operation, settled } = pending;
    if (pending === this.#inbox) return this.#receive(settled as Settlement<never>);
    const { task, assignee } = this.#under.get(pending)!;
    this.#under.delete(pending);
    if (operation.do === 'sleep') return this.#tryAgain(task);
    this.#running--;
    if (assignee !== null) this.#busy.set(assignee, this.#busy.get(assignee)! - 1);
    const envelope = this.#envelopeOf(settled as Settlement<never>);
    this.#judge(task, envelope);
  }

  /** Unless the time was up meanwhile. */
  #tryAgain(id: string): void {
    // probe: team-try-again
    if (this.queue.get(id)?.status === 'pending') this.queue.again(id);
  }

  #judge(id: string, envelope: Envelope | Failure): void {
    if (!('code' in envelope) && envelope.status === 'completed') {
      this.queue.complete(id, envelope.output);
      const { title, assignee, result } = this.queue.get(id)!;
      return this.memory.write({ id, title, assignee, result: result! });
    }
    const { skips, reason } = resultReason(envelope);
    if (skips) return this.queue.skip(id, reason);
    // probe: team-task-failed
    if (this.queue.fail(id, reason) === 'failed') return;
    const { attempts, assignee } = this.queue.get(id)!;
    const { deadlineNow, runtime } = this.#cell;
    const left = deadlineNow === 0 ? Infinity : Math.max(0, deadlineNow - runtime.now);
    const ms = Math.min(this.#rules.backOffMs * 2 ** (attempts - 1), backOffMsMax, left);
    const pause = runtime.begin({ do: 'sleep', ms, why: 'back-off' });
    this.#under.set(pause, { task: id, assignee });
  }

  /** What crossed back, once: it is kept in the queue, and nowhere else. */
  #envelopeOf(settled: Settlement<{ readonly crossing: number }>): Envelope | Failure {
    if (!settled.ok) return settled.failure;
    const { arrivals } = this.#cell.runtime;
    const content = arrivals.at(settled.value.crossing)?.content;
    arrivals.forget(settled.value.crossing);
    return content === undefined ? { code: 'crossing_refused' } : (JSON.parse(content) as Envelope);
  }

  #receive(settled: Settlement<ReceiveResult>): void {
    const { arrivals } = this.#cell.runtime;
    for (const seq of settled.ok ? settled.value.messages : []) {
      const arrived = arrivals.at(seq);
      arrivals.forget(seq);
      if (arrived?.kind !== 'message') continue;
      const mail = decodeMessage(arrived.content) as Mail;
      // What does not fit any more changes nothing: it was asked for twice.
      // probe: team-take-tasks
      if (this.intake.isOne(mail)) this.#take(this.intake.open(mail.text));
      else this.mail.put(mail);
    }
    const isClosing = settled.ok && settled.value.closing === true;
    if (isClosing) this.intake.isOpen = false;
    if (isClosing) this.#skipRest('it was asked to finish');
    this.#inbox = isClosing || !settled.ok ? null : this.#listen();
  }

  async #conclude(): Promise<Outcome> {
    const { coordinator } = this.#cell.agent;
    const isLate = this.#isLate();
    if (!this.#asked.answer || coordinator === null || isLate)
      return teamOutcome(this.#cell, this.queue, isLate ? { failure: { code: 'deadline_passed' } } : {});
    // probe: team-results-for-answer
    const results = [...this.queue.tasks()].filter(({ status }) => status === 'completed');
    const missing = missingIn(this.queue);
    if (results.length === 0) return teamOutcome(this.#cell, this.queue, {});
    // What was kept free is for this.
    this.#cell.runtime.account.floor = {};
    const given: TeamChildInput = { part: { part: 'answer' }, goal: answerGoal(this.#asked.goal, missing), results };
    const ended = await this.#runPart(this.#bear(coordinator.answers, given));
    if ('code' in ended || ended.output === '') return unansweredTeamOutcome(this.#cell, this.queue, ended);
    return teamOutcome(this.#cell, this.queue, { answer: ended });
  }

  async #runPart(operation: Operation | Failure): Promise<Envelope | Failure> {
    if ('code' in operation) {
      this.#recordRefusal(operation, {});
      return operation;
    }
    return this.#envelopeOf((await this.#cell.runtime.run(operation)) as Settlement<never>);
  }

  /** What is under way is stopped, with its cell or without. */
  #stop(): void {
    const { runtime } = this.#cell;
    this.intake.begin(false);
    for (const pending of this.#under.keys()) runtime.cancel(pending);
    if (this.#inbox !== null) runtime.cancel(this.#inbox);
    const reason = abortedReason('the work was stopped');
    // The rest first: what is stopped blocks nobody then.
    this.queue.skipRest(reason);
    for (const { task } of this.#under.values())
      if (!isFinal(this.queue.get(task)!.status)) this.queue.skip(task, reason);
  }
}

const backOffMsMax = 60_000;

/** What its caller asks: of a team that is called by an agent, the goal alone. */
const goalOf = ({ runtime, parent }: Cell): TeamGoal => {
  const content = runtime.arrivals.at(0)?.content ?? '';
  return parent === null ? (JSON.parse(content) as TeamGoal) : { goal: content, tasks: null, answer: true };
};

const failureFrom = (error: unknown): Failure => {
  if (error instanceof CloisterError) return error.failure;
  return { code: 'defect', detail: error instanceof Error ? error.message : String(error) };
};
