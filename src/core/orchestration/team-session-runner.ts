// The session of a team: a task graph instead of model turns. Like any session, it uses only its cell's runtime.
//
//   task-gets-its-inputs. A task's cell gets its text, the results it depends on, and its messages: nothing else from the
//       team.
//   team-by-queue. What happens next depends only on the queue, and the queue only on settlements in recorded order: a replay
//       takes the same path.
//   team-reads-before-deciding. All settlements are read before anything is decided, so a reader of the log alone arrives at
//       the same queue.
//   team-keeps-results. Only dependent tasks and the final answer read them.
import { CloisterError, extractJson, findJsonAnswer } from '#base';
import type { Failure, Json, JsonObject } from '#base';
import { decodeEnvelope, decodeMail, decodeTeamGoal } from '#contracts';
import type {
  Agent,
  AgentTeam,
  ChildOperation,
  Envelope,
  Outcome,
  PendingOperation,
  ReceiveResult,
  Settlement,
  Task,
  TaskSpec,
  TeamGoal,
  TeamRules,
} from '#contracts';
import type { Cell } from '#core/memory';
import {
  abortedReason,
  isFinal,
  missingTasks,
  readPlan,
  refusalReason,
  taskRefusedOperation,
  resultReason,
  SharedMemory,
  skipRestOperation,
  TaskQueue,
} from '#core/tasks';
import { teamMember, teamRoster } from './define-team.ts';
import { answerGoal, planFailure, planGoal, planProblems } from './coordinator-prompts.ts';
import { TaskIntake } from './task-intake.ts';
import { beginTeamChild, teamTextsOf, TeamMail } from './team-cell.ts';
import type { TeamChildInput } from './team-cell.ts';
import { failedOutcome, planOutcome, teamOutcome, unansweredTeamOutcome } from './team-outcome.ts';

/** The one port it needs: the smallest window of an agent's budget group. */
type GroupWorld = { groupTokens?(agent: Agent): number | undefined };

export class TeamSessionRunner {
  readonly queue: TaskQueue;
  /** The coordinator's memory: written here, and read by nobody else while the team works. */
  readonly memory = new SharedMemory();
  readonly mail: TeamMail;
  readonly intake: TaskIntake;
  readonly #cell: Cell;
  readonly #world: GroupWorld;
  readonly #team: AgentTeam;
  readonly #rules: TeamRules;
  readonly #request: TeamGoal;
  /** Cells that work on a task, and delays before a retry. */
  readonly #inFlight = new Map<PendingOperation, { readonly task: string; readonly assignee: string | null }>();
  readonly #runningByMember = new Map<string, number>();
  #running = 0;
  #inbox: PendingOperation | null = null;

  constructor(cell: Cell, world: GroupWorld) {
    this.#cell = cell;
    this.#world = world;
    this.#team = cell.agent.team!;
    this.#rules = this.#team.rules;
    this.#request = readTeamGoal(cell);
    this.mail = new TeamMail(this.#rules);
    const { memoryScope, retries, members } = this.#rules;
    const texts = teamTextsOf(cell);
    this.queue = new TaskQueue({ assignees: Object.keys(members), memoryScope, retries, allowAll: true, texts });
    this.intake = new TaskIntake(cell.agent, this.queue);
  }

  async run(): Promise<Outcome> {
    try {
      const failure = await this.#plan();
      const isAll = failure !== null || this.#request.planOnly === true;
      this.intake.start(!isAll);
      if (failure !== null) return failedOutcome(this.#cell, failure);
      if (isAll) return planOutcome(this.#cell, this.#request.goal, this.queue);
      await this.#work();
      return await this.#conclude();
    } catch (error) {
      this.#stop();
      return teamOutcome(this.#cell, this.queue, { failure: failureFrom(error) });
    }
  }

  /** Takes the tasks from the request, or lets the coordinator plan them. */
  async #plan(): Promise<Failure | null> {
    const { goal, tasks } = this.#request;
    if (tasks !== null) return this.#addTasks(tasks);
    const { coordinator } = this.#team;
    if (coordinator === null) return { code: 'team_invalid', detail: 'The team has no coordinator to plan.' };
    const prompt = planGoal(goal ?? '', teamRoster(this.#team), this.#rules);
    const check = (value: Json): readonly string[] => planProblems(value, this.#rules);
    const input: TeamChildInput = { part: { part: 'plan' }, goal: prompt, check: { plan: this.#rules } };
    const ended = await this.#runPart(this.#beginChild(coordinator.plans, input));
    if ('code' in ended) return ended;
    const found = findJsonAnswer(ended.output, check);
    if (ended.status !== 'completed' || 'problems' in found)
      return planFailure(ended, 'problems' in found ? found.problems : []);
    const plan = readPlan(extractJson(found.json));
    return 'problem' in plan ? planFailure(ended, [plan.problem]) : this.#addTasks(plan.tasks);
  }

  #addTasks(tasks: unknown): Failure | null {
    try {
      this.queue.add(tasks as readonly TaskSpec[]);
      return null;
    } catch (error) {
      return failureFrom(error);
    }
  }

  async #work(): Promise<void> {
    const { runtime } = this.#cell;
    this.#inbox = this.#receiveMail();
    for (;;) {
      if (!this.#hasUnreadSettlement()) {
        if (this.#isPastDeadline()) this.#skipRest('the deadline passed');
        while (this.#running < this.#rules.parallel && this.#startNext());
        if (this.#inFlight.size === 0) {
          if (await this.#hasFinished()) return;
          continue;
        }
      }
      this.#settle(await runtime.first(this.#waitedFor()));
    }
  }

  #waitedFor(): readonly PendingOperation[] {
    return [...this.#inFlight.keys(), ...(this.#inbox === null ? [] : [this.#inbox])];
  }

  #hasUnreadSettlement(): boolean {
    const open = this.#waitedFor();
    return this.#cell.runtime.unsettled(open).length < open.length;
  }

  /** Called when nothing is in flight. False if new tasks arrived just now. */
  async #hasFinished(): Promise<boolean> {
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

  /** Skips every task that has not started, and all retries. The decision is recorded, because no other record implies it. */
  #skipRest(why: string): void {
    const counts = this.queue.counts();
    if (counts.pending + counts.ready === 0) return;
    this.#cell.runtime.begin({ do: 'post', name: skipRestOperation, request: { kind: 'record', value: { why } } });
    this.queue.skipRest(abortedReason(why));
    for (const pending of this.#inFlight.keys())
      if (pending.operation.do === 'sleep') this.#cell.runtime.cancel(pending);
  }

  #isPastDeadline(): boolean {
    const { deadlineNow, now } = this.#cell.runtime;
    return deadlineNow !== 0 && now >= deadlineNow;
  }

  #receiveMail(): PendingOperation {
    const wanted = { kind: 'any', max: 100 } as const;
    return this.#cell.runtime.begin({ do: 'receive', name: 'team', wanted, timeoutMs: 0 });
  }

  /** False if no task is ready, or no member that could do one has capacity. */
  #startNext(): boolean {
    const { parallel, capacity } = this.#rules;
    const taken = this.queue.take(
      (name) => (Object.hasOwn(capacity, name) ? capacity[name]! : parallel) - (this.#runningByMember.get(name) ?? 0),
    );
    if (taken === undefined) return false;
    const { task, assignee } = taken;
    const agent = teamMember(this.#cell.agent, assignee ?? '', task.memoryScope === 'all' || task.dependsOn.length > 0);
    if (agent === undefined) throw new CloisterError('defect', `No member is named ${assignee}.`);
    const isFirst = (this.queue.earliestUnstarted(agent.name)?.order ?? Infinity) > task.order;
    const input: TeamChildInput = {
      part: { part: 'task', task: task.id, attempt: task.attempts, scope: task.memoryScope },
      // probe: team-task-goal
      goal: null,
      task,
      results: this.#resultsFor(task),
      messages: this.mail.takeFor(task, agent.name, isFirst),
    };
    const begun = this.#beginChild(agent, input);
    if ('code' in begun) this.#skipRefused(task, begun);
    else this.#track(begun, task.id, assignee);
    return true;
  }

  #beginChild(agent: Agent, input: TeamChildInput): ReturnType<typeof beginTeamChild> {
    return beginTeamChild(this.#cell, agent, {
      ...input,
      groupTokens: this.#world.groupTokens?.(agent),
      spawnsReserved: this.#spawnsReserved(input),
    });
  }

  /** One spawn is reserved for the answer, if there will be one. */
  #spawnsReserved({ part }: TeamChildInput): number {
    return part.part === 'task' && this.#request.answer && this.#team.coordinator !== null ? 1 : 0;
  }

  #resultsFor({ id, memoryScope }: Task): readonly Task[] {
    // probe: team-results-in-scope
    const all = memoryScope === 'all' ? [...this.queue.tasks()] : this.queue.dependenciesOf(id);
    // probe: team-results-for-task
    return all.filter((task) => task.status === 'completed');
  }

  #skipRefused({ id, assignee }: Task, failure: Failure): void {
    this.#recordRefusal(failure, { task: id, assignee });
    this.queue.skip(id, refusalReason(failure));
  }

  /** A separate operation, so that the refusal and its reason are recorded. */
  #recordRefusal({ code, detail = code }: Failure, about: JsonObject): void {
    const request = { kind: 'record', value: { code, detail } } as const;
    this.#cell.runtime.begin({ do: 'post', name: taskRefusedOperation, about, request });
  }

  #track(pending: PendingOperation, task: string, assignee: string | null): void {
    this.#inFlight.set(pending, { task, assignee });
    this.#running++;
    if (assignee !== null) this.#runningByMember.set(assignee, (this.#runningByMember.get(assignee) ?? 0) + 1);
  }

  #settle(pending: PendingOperation): void {
    const { operation, settled } = pending;
    if (pending === this.#inbox) return this.#receive(settled as Settlement<never>);
    const { task, assignee } = this.#inFlight.get(pending)!;
    this.#inFlight.delete(pending);
    if (operation.do === 'sleep') return this.#retry(task);
    this.#running--;
    if (assignee !== null) this.#runningByMember.set(assignee, this.#runningByMember.get(assignee)! - 1);
    const envelope = this.#envelopeOf(settled as Settlement<never>);
    this.#recordResult(task, envelope);
  }

  /** Does nothing if the deadline passed meanwhile. */
  #retry(id: string): void {
    // probe: team-try-again
    if (this.queue.get(id)?.status === 'pending') this.queue.again(id);
  }

  #recordResult(id: string, envelope: Envelope | Failure): void {
    if (!('code' in envelope) && envelope.status === 'completed') {
      this.queue.complete(id, envelope.output);
      const { title, assignee, result } = this.queue.get(id)!;
      return this.memory.write({ id, title, assignee, result: result! });
    }
    const { skips, reason } = resultReason(envelope, this.queue.texts);
    if (skips) return this.queue.skip(id, reason);
    // probe: team-task-failed
    if (this.queue.fail(id, reason) === 'failed') return;
    const { attempts, assignee } = this.queue.get(id)!;
    const { runtime } = this.#cell;
    const { deadlineNow, now } = runtime;
    const left = deadlineNow === 0 ? Infinity : Math.max(0, deadlineNow - now);
    const ms = Math.min(this.#rules.backOffMs * 2 ** (attempts - 1), backOffMsMax, left);
    const pause = runtime.begin({ do: 'sleep', ms, why: 'back-off' });
    this.#inFlight.set(pause, { task: id, assignee });
  }

  /** Reads a crossed result once and releases it: only the queue keeps it. */
  #envelopeOf(settled: Settlement<{ readonly crossing: number }>): Envelope | Failure {
    if (!settled.ok) return settled.failure;
    const { received } = this.#cell.runtime;
    const content = received.at(settled.value.crossing)?.content;
    received.forget(settled.value.crossing);
    return content === undefined ? { code: 'crossing_refused' } : decodeEnvelope(content);
  }

  #receive(settled: Settlement<ReceiveResult>): void {
    const { received } = this.#cell.runtime;
    for (const seq of settled.ok ? settled.value.messages : []) {
      const arrived = received.at(seq);
      received.forget(seq);
      if (arrived?.kind !== 'message') continue;
      const mail = decodeMail(arrived.content);
      // Tasks that were already added change nothing.
      // probe: team-take-tasks
      if (this.intake.isTaskMessage(mail)) this.#addTasks(this.intake.takeTasks(mail.text));
      else this.mail.add(mail);
    }
    const isClosing = settled.ok && settled.value.closing === true;
    if (isClosing) this.intake.isOpen = false;
    if (isClosing) this.#skipRest('it was asked to finish');
    this.#inbox = isClosing || !settled.ok ? null : this.#receiveMail();
  }

  async #conclude(): Promise<Outcome> {
    const { coordinator } = this.#team;
    const isLate = this.#isPastDeadline();
    if (!this.#request.answer || coordinator === null || isLate)
      return teamOutcome(this.#cell, this.queue, isLate ? { failure: { code: 'deadline_passed' } } : {});
    // probe: team-results-for-answer
    const results = [...this.queue.tasks()].filter(({ status }) => status === 'completed');
    const missing = missingTasks(this.queue);
    if (results.length === 0) return teamOutcome(this.#cell, this.queue, {});
    const input: TeamChildInput = {
      part: { part: 'answer' },
      goal: answerGoal(this.#request.goal, missing, this.queue.texts),
      results,
    };
    const ended = await this.#runPart(this.#beginChild(coordinator.answers, input));
    if ('code' in ended || ended.output === '') return unansweredTeamOutcome(this.#cell, this.queue, ended);
    return teamOutcome(this.#cell, this.queue, { answer: ended });
  }

  async #runPart(begun: PendingOperation<ChildOperation> | Failure): Promise<Envelope | Failure> {
    if ('code' in begun) {
      this.#recordRefusal(begun, {});
      return begun;
    }
    const { settled } = await this.#cell.runtime.first([begun]);
    return this.#envelopeOf(settled!);
  }

  /** Cancels everything in flight. */
  #stop(): void {
    const { runtime } = this.#cell;
    this.intake.start(false);
    for (const pending of this.#inFlight.keys()) runtime.cancel(pending);
    if (this.#inbox !== null) runtime.cancel(this.#inbox);
    const reason = abortedReason(this.queue.texts.reasons.stopped);
    // Skip waiting tasks first, so that cancelled ones do not mark them as blocked.
    this.queue.skipRest(reason);
    for (const { task } of this.#inFlight.values())
      if (!isFinal(this.queue.get(task)!.status)) this.queue.skip(task, reason);
  }
}

const backOffMsMax = 60_000;

/** The request of the caller. A team that an agent calls gets only a goal. */
const readTeamGoal = ({ runtime, parent }: Cell): TeamGoal => {
  const content = runtime.received.at(0)?.content ?? '';
  return parent === null ? decodeTeamGoal(content) : { goal: content, tasks: null, answer: true };
};

const failureFrom = (error: unknown): Failure => {
  if (error instanceof CloisterError) return error.failure;
  return { code: 'defect', detail: error instanceof Error ? error.message : String(error) };
};
