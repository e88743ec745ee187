// The work of a team, followed through its log with no code of the runtime: what its director had to begin, one after the other.
import type { CellId } from '#base';
import type { Envelope, Mail, TaskSpec, TeamGoal } from '#contracts';
import { withChildren } from '../agents.ts';
import type { RunHistory } from '../history.ts';
import type { TeamPlan } from '../plan.ts';
import { factsOf, pausedMs } from './facts.ts';
import type { CellFacts, OperationFacts } from './facts.ts';
import type { Say } from './judge.ts';
import { TeamModel } from './team-model.ts';
import type { ModelTask, Room } from './team-model.ts';
import type { TeamStory, Work } from './team-story.ts';
import { contentIn, inWords, jsonOf, mailOf } from './team-texts.ts';

const stopped = Symbol('stopped');

/** The teams of a run, by name. */
export const teamsOf = ({ agent }: RunHistory): ReadonlyMap<string, TeamPlan> =>
  new Map(withChildren(agent).flatMap(({ name, team }) => (team === null ? [] : [[name, team]])));

/** Each team that was asked for something: at the root, or by an agent. */
export const walkTeams = (run: RunHistory, say: Say): readonly TeamStory[] => {
  const teams = teamsOf(run);
  return [...factsOf(run).cells.values()].flatMap((cell) => {
    const team = teams.get(cell.birth.agent);
    return team === undefined || cell.goal === undefined ? [] : [walkTeam(run, team, cell, say)];
  });
};

const walkTeam = (run: RunHistory, team: TeamPlan, cell: CellFacts, say: Say): TeamStory => {
  const walk = new Walk(run, team, cell, say);
  try {
    walk.toTheEnd();
  } catch (error) {
    if (error !== stopped) throw error;
  }
  return walk.story();
};

class Walk {
  readonly #run: RunHistory;
  readonly #team: TeamPlan;
  readonly #root: CellFacts;
  readonly #say: Say;
  readonly #asked: TeamGoal;
  readonly #model: TeamModel;
  readonly #names: readonly string[];
  readonly #works: Work[] = [];
  /** What it began and has not heard of. */
  readonly #under = new Map<OperationFacts, ModelTask | null>();
  readonly #heard = new Set<number>();
  readonly #waiting: Mail[] = [];
  readonly #shown = new Map<string, readonly Mail[]>();
  #planned: CellFacts | null = null;
  #answered: TeamStory['answered'] = null;
  #begun = 0;
  /** In which frame. */
  #begunIn = 0;
  #spawned = 0;
  #inbox: OperationFacts | null = null;
  #nowIn = 0;
  /** When it was asked to finish. */
  #closedIn = -1;
  #stopped = false;

  constructor(run: RunHistory, team: TeamPlan, root: CellFacts, say: Say) {
    this.#run = run;
    this.#team = team;
    this.#root = root;
    this.#say = say;
    this.#asked =
      root.parent === null ? (JSON.parse(root.goal!) as TeamGoal) : { goal: root.goal!, tasks: null, answer: true };
    this.#nowIn = root.bornIn;
    this.#model = new TeamModel(team.rules);
    this.#names = team.members.map(({ name }) => name);
  }

  story(): TeamStory {
    return {
      cell: this.#root,
      team: this.#team,
      asked: this.#asked,
      model: this.#model,
      works: this.#works,
      planned: this.#planned,
      answered: this.#answered,
      stopped: this.#stopped,
      late: this.#leftMs() === 0,
    };
  }

  toTheEnd(): void {
    if (!this.#plan() || this.#asked.planOnly === true) return this.#over();
    this.#inbox = this.#begin('to listen', ({ begin }) => begin.do === 'receive');
    for (;;) {
      // All that has settled is heard before anything is decided.
      while (this.#hasUnheard()) this.#settle();
      if (this.#leftMs() === 0) this.#model.skipRest();
      while (this.#startNext());
      // What has come by then is still heard.
      if (this.#under.size === 0 && this.#inbox?.settle?.ok !== true) break;
      this.#settle();
    }
    this.#answer();
    this.#over();
    this.#judgeUnread();
  }

  /** Gives whether there is something to do. */
  #plan(): boolean {
    const { tasks } = this.#asked;
    if (tasks !== null) return this.#model.add(tasks, this.#names);
    const { coordinator } = this.#team;
    if (coordinator === null || !this.#mayBear(coordinator.grants)) return false;
    const operation = this.#begin('to plan', ({ begin }) => begin.birth?.task?.part === 'plan');
    this.#planned = this.#bornWith(operation);
    const envelope = this.#hear(operation);
    if (envelope?.status !== 'completed') return false;
    return this.#model.add((jsonOf(envelope.output) as { tasks: readonly TaskSpec[] }).tasks, this.#names);
  }

  #startNext(): boolean {
    const { parallel, capacity } = this.#team.rules;
    const running = [...this.#under].flatMap(([{ begin }, task]) => (begin.do === 'child' && task ? [task] : []));
    if (running.length >= parallel) return false;
    const busy = (name: string): number => running.filter(({ assignee }) => assignee === name).length;
    const room: Room = { members: this.#names, of: (name) => (capacity[name] ?? parallel) - busy(name) };
    const next = this.#model.next(room);
    if (next === null) return false;
    this.#startOne(next.task, next.assignee);
    return true;
  }

  #startOne(task: ModelTask, assignee: string): void {
    const messages = this.#messagesFor(task, assignee);
    this.#model.start(task, assignee);
    const member = this.#team.members.find(({ name }) => name === assignee)!;
    const kept = this.#asked.answer && this.#team.coordinator !== null ? 1 : 0;
    if (!this.#mayBear(member.grants, kept))
      return this.#model.end(
        task,
        'skipped',
        member.grants.includes('goal') || this.#isSpent(kept) ? 'budget' : 'failed',
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
    this.#under.set(operation, task);
    const cell = this.#bornWith(operation);
    if (cell !== null) this.#works.push({ cell, task, attempt, results, messages });
  }

  /** All that wait for that member, unless an earlier task of it is still to be started; the same when it is tried again. */
  #messagesFor({ id, attempts, order }: ModelTask, assignee: string): readonly Mail[] {
    if (attempts > 0) return this.#shown.get(id) ?? [];
    const earlier = this.#model.tasks.some(
      (one) =>
        one.named === assignee &&
        one.order < order &&
        one.attempts === 0 &&
        (one.status === 'pending' || one.status === 'ready'),
    );
    if (earlier) return [];
    const mine = this.#waiting.filter(({ recipient_id: to }) => to === assignee);
    for (const one of mine) this.#waiting.splice(this.#waiting.indexOf(one), 1);
    return mine;
  }

  /** The next of what is under way that has settled. */
  #settle(): void {
    const open = [...this.#under.keys(), ...(this.#inbox === null ? [] : [this.#inbox])];
    const operation = open.reduce((first, one) => (one.settledIn < first.settledIn ? one : first));
    this.#mustGoOn(operation.settledIn);
    const { begin } = operation;
    if (operation === this.#inbox) return this.#receive(operation);
    const task = this.#under.get(operation)!;
    if (begin.do === 'sleep') {
      this.#nowIn = operation.settledIn;
      this.#under.delete(operation);
      if (task.status === 'pending') task.status = 'ready';
      return;
    }
    const envelope = this.#hear(operation);
    this.#under.delete(operation);
    if (envelope?.status === 'completed') return this.#model.complete(task, envelope.output);
    const isRefused = envelope?.error?.code === 'budget_refused' && envelope.output === '';
    if (isRefused) return this.#model.end(task, 'skipped', 'budget');
    if (envelope?.status === 'cancelled') return this.#model.end(task, 'skipped', 'aborted');
    if (task.attempts > task.retries) return this.#model.end(task, 'failed', 'failed');
    task.status = 'pending';
    const ms = Math.min(this.#team.rules.backOffMs * 2 ** (task.attempts - 1), 60_000, this.#leftMs());
    const pause = this.#begin(`a pause of ${ms} ms before ${task.id} is tried again`, (one) => {
      const { do: what, until = 0 } = one.begin;
      return what === 'sleep' && until - (this.#run.frames[one.beganIn]?.at ?? 0) === ms;
    });
    this.#under.set(pause, task);
  }

  #hasUnheard(): boolean {
    const nextIn = this.#nextIn(Math.max(this.#nowIn, this.#begunIn));
    const { ok, halted } = this.#inbox?.settle ?? {};
    // At its end it no longer listens: that is its own doing.
    const isHeard = ok === true || halted !== undefined;
    const open = [...this.#under.keys(), ...(this.#inbox !== null && isHeard ? [this.#inbox] : [])];
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
      this.#heard.add(seq);
      const content = contentIn(frames, this.#root.birth.cell, seq);
      if (content !== undefined) this.#read(mailOf(content));
    }
    if (closing) {
      this.#inbox = null;
      this.#closedIn = settledIn;
      this.#model.skipRest();
    } else this.#inbox = this.#begin('to listen again', ({ begin }) => begin.do === 'receive');
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
    if (!this.#asked.answer || coordinator === null || this.#leftMs() === 0 || !has) return;
    if (!this.#mayBear(coordinator.grants)) return;
    const operation = this.#begin('to answer', ({ begin }) => begin.birth?.task?.part === 'answer');
    const cell = this.#bornWith(operation)!;
    this.#answered = { cell, envelope: this.#hear(operation) };
  }

  #over(): void {
    const more = this.#root.operations[this.#begun];
    if (more !== undefined) this.#say(`nothing more to begin in ${this.#root.birth.cell}`, inWords(more));
  }

  /** Tasks that it took are its own: it heard of each, unless it was asked to finish first. */
  #judgeUnread(): void {
    const { cell, agent } = this.#root.birth;
    for (const { record, contents = [], no } of this.#run.frames)
      for (const one of record.type === 'mail' ? contents : []) {
        if (one.cell !== cell || this.#heard.has(one.seq) || no < this.#closedIn) continue;
        if (mailOf(one.content).recipient_id !== agent) continue;
        this.#say(`${cell} to hear of the tasks in frame ${no}`, 'it took them, and never did');
      }
  }

  /** In which frame it did something after that one, whatever it was. */
  #nextIn(after: number): number {
    const { cell } = this.#root.birth;
    const next = this.#run.frames.findIndex(
      ({ record, cell: of }, no) => no > after && of === cell && (record.type === 'begin' || record.type === 'post'),
    );
    return next < 0 ? Infinity : next;
  }

  /** What it had to begin next. */
  #begin(what: string, fits: (operation: OperationFacts) => boolean): OperationFacts {
    const begins = this.#root.operations.filter(({ begin }) => begin.do !== 'step');
    const next = begins[this.#begun];
    if (next === undefined) this.#mustGoOn(Infinity, what);
    if (next === undefined || !fits(next)) {
      this.#say(`${this.#root.birth.cell} to begin ${what}`, next === undefined ? 'nothing' : inWords(next));
      return this.#stop();
    }
    this.#begun++;
    this.#begunIn = next.beganIn;
    if (next.begin.do === 'child') this.#spawned++;
    return next;
  }

  #bornWith({ begin }: OperationFacts): CellFacts | null {
    return factsOf(this.#run).cells.get(begin.birth?.cell as CellId) ?? null;
  }

  /** What crossed back from a cell; null when nothing did. */
  #hear(operation: OperationFacts): Envelope | null {
    this.#mustGoOn(operation.settledIn);
    this.#nowIn = operation.settledIn;
    const from = operation.settle?.ended?.cell;
    const content = this.#run.frames[operation.settledIn]?.contents?.find(
      (one) => one.kind === 'result' && one.from === from,
    );
    return content === undefined ? null : (JSON.parse(content.content) as Envelope);
  }

  /** Who was stopped hears of nothing more. */
  #mustGoOn(no: number, what = 'to hear of what it began'): void {
    const halted = this.#root.operations.filter(({ settle }) => settle?.halted !== undefined);
    const stoppedIn = Math.min(factsOf(this.#run).cancelledIn ?? Infinity, ...halted.map(({ settledIn }) => settledIn));
    if (no < stoppedIn) return;
    if (stoppedIn === Infinity) this.#say(`${this.#root.birth.cell} ${what}`, 'the log has nothing of that');
    this.#stop();
  }

  #stop(): never {
    this.#stopped = true;
    for (const task of this.#under.values())
      if (task !== null && (task.status === 'running' || task.status === 'pending'))
        Object.assign(task, { status: 'skipped', code: 'aborted' });
    this.#model.skipRest();
    throw stopped;
  }

  #mayBear(grants: readonly string[], kept = 0): boolean {
    return grants.includes('goal') && !this.#isSpent(kept);
  }

  #isSpent(kept = 0): boolean {
    return this.#spawned + kept >= (this.#root.birth.caps.spawns ?? Infinity);
  }

  /** Until the deadline. */
  #leftMs(): number {
    const { bornIn, birth } = this.#root;
    const until = birth.deadline + pausedMs(this.#run, bornIn, this.#nowIn);
    return birth.deadline === 0 ? Infinity : Math.max(0, until - (this.#run.frames[this.#nowIn]?.at ?? 0));
  }
}
