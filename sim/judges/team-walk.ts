// Follows the work of a team through its log, without code of the runtime, and checks each operation that it had to begin.
import type { CellId } from '#base';
import type { Envelope, Mail, TaskSpec, TeamGoal } from '#contracts';
import { withChildren } from '../agents.ts';
import type { RunHistory } from '../history.ts';
import type { TeamPlan } from '../plan.ts';
import { askedMs } from './asked-time.ts';
import { runFacts, pausedMs } from './facts.ts';
import type { CellFacts, OperationFacts } from './facts.ts';
import type { ReportProblem } from './judge.ts';
import { TeamModel } from './team-model.ts';
import type { ModelTask, Capacity } from './team-model.ts';
import type { ExpectedTeamRun, TaskAttempt } from './expected-team-run.ts';
import { contentIn, describeBegin, parsePlan, parseMail } from './team-texts.ts';

const stopped = Symbol('stopped');

/** The teams of a run, by name. */
export const teamPlans = ({ agent }: RunHistory): ReadonlyMap<string, TeamPlan> =>
  new Map(withChildren(agent).flatMap(({ name, team }) => (team === null ? [] : [[name, team]])));

/** Walks each team that got a goal, as the root or as a child. */
export const walkTeams = (run: RunHistory, report: ReportProblem): readonly ExpectedTeamRun[] => {
  const teams = teamPlans(run);
  return [...runFacts(run).cells.values()].flatMap((cell) => {
    const team = teams.get(cell.birth.agent);
    return team === undefined || cell.goal === undefined ? [] : [walkTeam(run, team, cell, report)];
  });
};

const walkTeam = (run: RunHistory, team: TeamPlan, cell: CellFacts, report: ReportProblem): ExpectedTeamRun => {
  const walk = new Walk(run, team, cell, report);
  try {
    walk.walkToEnd();
  } catch (error) {
    if (error !== stopped) throw error;
  }
  return walk.result();
};

class Walk {
  readonly #run: RunHistory;
  readonly #team: TeamPlan;
  readonly #root: CellFacts;
  readonly #report: ReportProblem;
  readonly #request: TeamGoal;
  readonly #model: TeamModel;
  readonly #names: readonly string[];
  readonly #attempts: TaskAttempt[] = [];
  /** Operations that it began and whose end it has not read. */
  readonly #inFlight = new Map<OperationFacts, ModelTask | null>();
  readonly #readSeqs = new Set<number>();
  readonly #waiting: Mail[] = [];
  readonly #shown = new Map<string, readonly Mail[]>();
  #planned: CellFacts | null = null;
  #answered: ExpectedTeamRun['answered'] = null;
  #begun = 0;
  /** The frame in which the last operation began. */
  #begunIn = 0;
  #spawned = 0;
  #inbox: OperationFacts | null = null;
  #nowIn = 0;
  /** The frame in which it was asked to finish. */
  #closedIn = -1;
  #stopped = false;
  #late = false;

  constructor(run: RunHistory, team: TeamPlan, root: CellFacts, report: ReportProblem) {
    this.#run = run;
    this.#team = team;
    this.#root = root;
    this.#report = report;
    this.#request =
      root.parent === null ? (JSON.parse(root.goal!) as TeamGoal) : { goal: root.goal!, tasks: null, answer: true };
    this.#nowIn = root.createdIn;
    this.#model = new TeamModel(team.rules);
    this.#names = team.members.map(({ name }) => name);
  }

  result(): ExpectedTeamRun {
    return {
      cell: this.#root,
      team: this.#team,
      request: this.#request,
      model: this.#model,
      attempts: this.#attempts,
      planned: this.#planned,
      answered: this.#answered,
      stopped: this.#stopped,
      late: this.#late,
    };
  }

  walkToEnd(): void {
    if (!this.#plan() || this.#request.planOnly === true) return this.#expectNothingMore();
    this.#inbox = this.#begin('a receive', ({ begin }) => begin.do === 'receive');
    for (;;) {
      // Everything that has settled is read before anything is decided.
      while (this.#hasUnread()) this.#settle();
      if (this.#leftMs() === 0) this.#model.skipRest();
      while (this.#startNext());
      // Mail that has arrived by then is still read.
      if (this.#inFlight.size === 0 && this.#inbox?.settle?.ok !== true) break;
      this.#settle();
    }
    // It ends its last receive itself, which takes time too if the run was resumed in between.
    if (this.#inbox?.settle?.ok === false && this.#inbox.settle.halted === undefined)
      this.#nowIn = this.#inbox.settledIn;
    // An answer counts even if it comes after the deadline, because the clock was set meanwhile.
    this.#late = this.#leftMs() === 0;
    if (!this.#late) this.#answer();
    this.#expectNothingMore();
    this.#judgeUnread();
  }

  /** Returns whether there are tasks. */
  #plan(): boolean {
    const { tasks } = this.#request;
    if (tasks !== null) return this.#model.add(tasks, this.#names);
    const { coordinator } = this.#team;
    if (coordinator === null || !this.#mayStart(coordinator.grants)) return false;
    const operation = this.#begin('planning', ({ begin }) => begin.birth?.task?.part === 'plan');
    this.#planned = this.#startedCell(operation);
    const envelope = this.#readResult(operation);
    if (envelope?.status !== 'completed') return false;
    return this.#model.add(parsePlan(envelope.output), this.#names);
  }

  #startNext(): boolean {
    const { parallel, capacity } = this.#team.rules;
    const running = [...this.#inFlight].flatMap(([{ begin }, task]) => (begin.do === 'child' && task ? [task] : []));
    if (running.length >= parallel) return false;
    const busy = (name: string): number => running.filter(({ assignee }) => assignee === name).length;
    const room: Capacity = { members: this.#names, of: (name) => (capacity[name] ?? parallel) - busy(name) };
    const next = this.#model.next(room);
    if (next === null) return false;
    this.#startOne(next.task, next.assignee);
    return true;
  }

  #startOne(task: ModelTask, assignee: string): void {
    const messages = this.#messagesFor(task, assignee);
    this.#model.start(task, assignee);
    const member = this.#team.members.find(({ name }) => name === assignee)!;
    const kept = this.#request.answer && this.#team.coordinator !== null ? 1 : 0;
    if (!this.#mayStart(member.grants, kept))
      return this.#model.end(
        task,
        'skipped',
        member.grants.includes('goal') || this.#isSpawnBudgetSpent(kept) ? 'budget' : 'failed',
      );
    if (task.retries > 0) this.#shown.set(task.id, messages);
    const attempt = task.attempts;
    const results = this.#model
      .resultsFor(task)
      .map(({ id, title, assignee: by, result }) => ({ task: id, title, assignee: by, text: result! }));
    const operation = this.#begin(`try ${attempt} of ${task.id} by ${assignee}`, ({ begin: { birth } }) => {
      const part = birth?.task;
      return part?.part === 'task' && part.task === task.id && part.attempt === attempt && birth?.agent === assignee;
    });
    this.#inFlight.set(operation, task);
    const cell = this.#startedCell(operation);
    if (cell !== null) this.#attempts.push({ cell, task, attempt, results, messages });
  }

  /** All messages that wait for the member, unless an earlier task of it has not started; a retry gets the same messages again. */
  #messagesFor({ id, attempts, order }: ModelTask, assignee: string): readonly Mail[] {
    if (attempts > 0) return this.#shown.get(id) ?? [];
    const earlier = this.#model.tasks.some(
      (one) =>
        one.requestedAssignee === assignee &&
        one.order < order &&
        one.attempts === 0 &&
        (one.status === 'pending' || one.status === 'ready'),
    );
    if (earlier) return [];
    const mine = this.#waiting.filter(({ recipient_id: to }) => to === assignee);
    for (const one of mine) this.#waiting.splice(this.#waiting.indexOf(one), 1);
    return mine;
  }

  /** Reads the next settled operation. */
  #settle(): void {
    const open = [...this.#inFlight.keys(), ...(this.#inbox === null ? [] : [this.#inbox])];
    const operation = open.reduce((first, one) => (one.settledIn < first.settledIn ? one : first));
    this.#requireBefore(operation.settledIn);
    const { begin } = operation;
    if (operation === this.#inbox) return this.#receive(operation);
    const task = this.#inFlight.get(operation)!;
    if (begin.do === 'sleep') {
      this.#nowIn = operation.settledIn;
      this.#inFlight.delete(operation);
      if (task.status === 'pending') task.status = 'ready';
      return;
    }
    const envelope = this.#readResult(operation);
    this.#inFlight.delete(operation);
    if (envelope?.status === 'completed') return this.#model.complete(task, envelope.output);
    const isRefused = envelope?.error?.code === 'budget_refused' && envelope.output === '';
    if (isRefused) return this.#model.end(task, 'skipped', 'budget');
    if (envelope?.status === 'cancelled') return this.#model.end(task, 'skipped', 'aborted');
    if (task.attempts > task.retries) return this.#model.end(task, 'failed', 'failed');
    task.status = 'pending';
    const ms = Math.min(this.#team.rules.backOffMs * 2 ** (task.attempts - 1), 60_000, this.#leftMs());
    const pause = this.#begin(`a pause of ${ms} ms before the retry of ${task.id}`, (one) => {
      const { do: what, until = 0 } = one.begin;
      return what === 'sleep' && until - (this.#run.frames[one.beganIn]?.at ?? 0) === ms;
    });
    this.#inFlight.set(pause, task);
  }

  #hasUnread(): boolean {
    const nextIn = this.#nextIn(Math.max(this.#nowIn, this.#begunIn));
    const { ok, halted } = this.#inbox?.settle ?? {};
    // The team itself ends its last receive.
    const isHeard = ok === true || halted !== undefined;
    const open = [...this.#inFlight.keys(), ...(this.#inbox !== null && isHeard ? [this.#inbox] : [])];
    return open.some(({ settledIn }) => settledIn < nextIn);
  }

  #receive({ settle, settledIn }: OperationFacts): void {
    const { frames } = this.#run;
    this.#nowIn = settledIn;
    const { messages = [], closing = false } = (settle?.value ?? {}) as {
      readonly messages?: readonly number[];
      readonly closing?: boolean;
    };
    for (const seq of messages) {
      this.#readSeqs.add(seq);
      const content = contentIn(frames, this.#root.birth.cell, seq);
      if (content !== undefined) this.#read(parseMail(content));
    }
    if (closing) {
      this.#inbox = null;
      this.#closedIn = settledIn;
      this.#model.skipRest();
    } else this.#inbox = this.#begin('another receive', ({ begin }) => begin.do === 'receive');
  }

  #read(mail: Mail): void {
    const isForTeam = mail.agent_id === null && mail.recipient_id === this.#root.birth.agent;
    if (this.#names.includes(mail.recipient_id)) this.#waiting.push(mail);
    if (isForTeam && mail.text.startsWith('['))
      this.#model.add(JSON.parse(mail.text) as readonly TaskSpec[], this.#names);
  }

  #answer(): void {
    const { coordinator } = this.#team;
    const has = this.#model.tasks.some(({ status }) => status === 'completed');
    if (!this.#request.answer || coordinator === null || !has) return;
    if (!this.#mayStart(coordinator.grants)) return;
    const operation = this.#begin('answering', ({ begin }) => begin.birth?.task?.part === 'answer');
    const cell = this.#startedCell(operation)!;
    this.#answered = { cell, envelope: this.#readResult(operation) };
  }

  #expectNothingMore(): void {
    const more = this.#root.operations[this.#begun];
    if (more !== undefined) this.#report(`nothing more to begin in ${this.#root.birth.cell}`, describeBegin(more));
  }

  /** The team must read all tasks that it accepted, unless it was asked to finish first. */
  #judgeUnread(): void {
    const { cell, agent } = this.#root.birth;
    for (const { record, contents = [], no } of this.#run.frames)
      for (const one of record.type === 'mail' ? contents : []) {
        if (one.cell !== cell || this.#readSeqs.has(one.seq) || no < this.#closedIn) continue;
        if (parseMail(one.content).recipient_id !== agent) continue;
        this.#report(`${cell} to read the tasks in frame ${no}`, 'it accepted them and never did');
      }
  }

  /** The next frame in which it began or posted something. */
  #nextIn(after: number): number {
    const { cell } = this.#root.birth;
    const next = this.#run.frames.findIndex(
      ({ record, cell: of }, no) => no > after && of === cell && (record.type === 'begin' || record.type === 'post'),
    );
    return next < 0 ? Infinity : next;
  }

  /** Takes the next operation, which must be the expected one. */
  #begin(what: string, fits: (operation: OperationFacts) => boolean): OperationFacts {
    const begins = this.#root.operations.filter(({ begin }) => begin.do !== 'step');
    const next = begins[this.#begun];
    if (next === undefined) this.#requireBefore(Infinity, `to begin ${what}`);
    if (next === undefined || !fits(next)) {
      this.#report(`${this.#root.birth.cell} to begin ${what}`, next === undefined ? 'nothing' : describeBegin(next));
      return this.#stop();
    }
    this.#begun++;
    this.#begunIn = next.beganIn;
    if (next.begin.do === 'child') this.#spawned++;
    return next;
  }

  #startedCell({ begin }: OperationFacts): CellFacts | null {
    return runFacts(this.#run).cells.get(begin.birth?.cell as CellId) ?? null;
  }

  /** The result that crossed back from a cell; null if none did. */
  #readResult(operation: OperationFacts): Envelope | null {
    this.#requireBefore(operation.settledIn);
    this.#nowIn = operation.settledIn;
    const from = operation.settle?.ended?.cell;
    const content = this.#run.frames[operation.settledIn]?.contents?.find(
      (one) => one.kind === 'result' && one.from === from,
    );
    return content === undefined ? null : (JSON.parse(content.content) as Envelope);
  }

  /** Ends the walk if the team was stopped before this frame. */
  #requireBefore(no: number, what = 'to read the end of what it began'): void {
    const halted = this.#root.operations.filter(({ settle }) => settle?.halted !== undefined);
    const stoppedIn = Math.min(
      runFacts(this.#run).cancelledIn ?? Infinity,
      ...halted.map(({ settledIn }) => settledIn),
    );
    if (no < stoppedIn) return;
    // What was deleted in the middle of its work has no end.
    if (stoppedIn === Infinity && !this.#run.isDeleted)
      this.#report(`${this.#root.birth.cell} ${what}`, 'the log does not show that');
    this.#stop();
  }

  #stop(): never {
    this.#stopped = true;
    for (const task of this.#inFlight.values())
      if (task !== null && (task.status === 'running' || task.status === 'pending'))
        Object.assign(task, { status: 'skipped', code: 'aborted' });
    this.#model.skipRest();
    throw stopped;
  }

  #mayStart(grants: readonly string[], kept = 0): boolean {
    return grants.includes('goal') && !this.#isSpawnBudgetSpent(kept);
  }

  #isSpawnBudgetSpent(kept = 0): boolean {
    return this.#spawned + kept >= (this.#root.birth.caps.spawns ?? Infinity);
  }

  /** The time until the deadline. */
  #leftMs(): number {
    const { createdIn, birth } = this.#root;
    const until = birth.deadline + pausedMs(this.#run, createdIn, this.#nowIn) + askedMs(this.#root, this.#nowIn);
    return birth.deadline === 0 ? Infinity : Math.max(0, until - (this.#run.frames[this.#nowIn]?.at ?? 0));
  }
}
