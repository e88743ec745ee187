// The tasks of a team and how far each has come: what can be started, by whom, and what an end means for the others.
//
//   Q1. It is a deterministic machine: the same calls give the same states. It has no clock and starts nothing.
//   Q2. A task is ready only when all that it depends on has ended well, and a final state never changes.
//   Q3. No step is recursive. All calls together take time linear in tasks and dependencies, but for the order of what is ready.
import { CloisterError } from '#base';
import type { MemoryScope, Task, TaskReason, TaskSpec, TaskStatus } from '#contracts';
import { readGraph } from './check-tasks.ts';
import type { KnownTasks } from './check-tasks.ts';
import { blockedBy, conditionEnd, isFinal } from './dependency-outcomes.ts';
import { isBefore, ReadyTasks } from './ready-tasks.ts';
import type { TaskLimits } from './read-task.ts';
import { UnstartedTasks } from './unstarted-tasks.ts';

/** Scope and retries are for tasks that name none; without assignees, a task may name anybody. */
export type TaskQueueOptions = TaskLimits & {
  readonly memoryScope?: MemoryScope | undefined;
  readonly retries?: number | undefined;
  /** Told of each task that comes to another state. */
  readonly onChange?: ((task: Task) => void) | undefined;
};

/** How many there are that somebody may start now. */
export type RoomOf = (assignee: string) => number;

export type TakenTask = { readonly task: Task; readonly assignee: string | null };

type MutableTask = { -readonly [K in keyof Task]: Task[K] };

export class TaskQueue {
  readonly #options: TaskQueueOptions;
  readonly #tasks: MutableTask[] = [];
  readonly #byId = new Map<string, MutableTask>();
  readonly #ready = new ReadyTasks();
  readonly #unstarted = new UnstartedTasks();
  readonly #counts: Record<TaskStatus, number> = {
    pending: 0,
    blocked: 0,
    ready: 0,
    running: 0,
    completed: 0,
    failed: 0,
    skipped: 0,
  };
  // By place in the queue: who waits for it, for how many it still waits, and how many tasks its longest path has.
  readonly #dependents: (number[] | undefined)[] = [];
  readonly #waiting: number[] = [];
  readonly #depths: number[] = [];

  constructor(options: TaskQueueOptions = {}) {
    this.#options = { ...options };
  }

  /** All of them or none; they may depend on tasks that are there, whatever has become of those. */
  add(specs: readonly TaskSpec[]): readonly Task[] {
    const { problems, tasks, order, depths } = readGraph(specs, this.#known(), this.#options);
    if (problems.length > 0) throw new CloisterError('tasks_invalid', problems.join('\n'));
    const first = this.#tasks.length;
    tasks.forEach((spec, place) => {
      const task: MutableTask = {
        id: spec.id,
        order: first + place,
        title: spec.title,
        description: spec.description,
        assignee: spec.assignee ?? null,
        dependsOn: spec.dependsOn ?? [],
        memoryScope: spec.memoryScope ?? this.#options.memoryScope ?? 'dependencies',
        retries: spec.retries ?? this.#options.retries ?? 0,
        priority: spec.priority ?? 0,
        when: spec.when ?? null,
        status: 'pending',
        result: null,
        reason: null,
        attempts: 0,
      };
      this.#tasks.push(task);
      this.#byId.set(task.id, task);
      this.#depths.push(depths[place]!);
      this.#dependents.push(undefined);
      this.#waiting.push(0);
      this.#counts.pending++;
      this.#unstarted.add(task);
    });
    const { onChange } = this.#options;
    if (onChange !== undefined) for (const task of this.#tasks.slice(first)) onChange(task);
    for (const place of order) this.#enter(this.#tasks[first + place]!);
    return this.#tasks.slice(first);
  }

  get(id: string): Task | undefined {
    return this.#byId.get(id);
  }

  get size(): number {
    return this.#tasks.length;
  }

  /** In the order of the queue. */
  tasks(): Iterable<Task> {
    return this.#tasks;
  }

  counts(): Readonly<Record<TaskStatus, number>> {
    return { ...this.#counts };
  }

  /** Nothing is pending, ready or running. */
  get isDone(): boolean {
    return this.#counts.pending + this.#counts.ready + this.#counts.running === 0;
  }

  dependentsOf(id: string): readonly Task[] {
    return (this.#dependents[this.#find(id).order] ?? []).map((place) => this.#tasks[place]!);
  }

  dependenciesOf(id: string): readonly Task[] {
    return this.#find(id).dependsOn.map((dependency) => this.#find(dependency));
  }

  /** Those on which nobody depends. */
  sinks(): readonly Task[] {
    return this.#tasks.filter(({ order }) => this.#dependents[order] === undefined);
  }

  /** Starts the most urgent task whose assignee has room; one without assignee goes to whoever has the most. */
  take(roomOf: RoomOf): TakenTask | undefined {
    let best: Task | undefined;
    let taker: string | null = null;
    for (const assignee of this.#ready.assignees()) {
      const task = this.#ready.first(assignee);
      // probe: task-less-urgent
      if (task === undefined || (best !== undefined && !isBefore(task, best))) continue;
      const candidate = assignee === null ? this.#roomiest(roomOf) : roomOf(assignee) > 0 ? assignee : undefined;
      if (candidate === undefined) continue;
      best = task;
      taker = candidate;
    }
    if (best === undefined) return undefined;
    this.#ready.drop(best.assignee);
    const task = this.#tasks[best.order]!;
    task.assignee = taker;
    task.attempts++;
    this.#become(task, 'running');
    return { task, assignee: taker };
  }

  /** Starts one that is known to have been taken, or to be tried again: for those who follow what another queue decides. */
  start(id: string, assignee: string | null): void {
    const task = this.#findIn(id, 'ready', 'pending');
    if (task.status === 'pending' && task.attempts === 0) throw new TypeError(`Task ${id} waits for others.`);
    task.assignee = assignee;
    task.attempts++;
    this.#become(task, 'running');
  }

  /** Of the tasks that name that assignee, the first in the queue that was never started and may still be. */
  earliestUnstarted(assignee: string): Task | undefined {
    return this.#unstarted.first(assignee);
  }

  complete(id: string, result: string): void {
    const task = this.#findIn(id, 'running');
    task.result = result;
    this.#become(task, 'completed');
    this.#tellDependents(task);
  }

  /** `again`: it has tries left, and is pending until `again` is called. */
  fail(id: string, reason: TaskReason): 'again' | 'failed' {
    const task = this.#findIn(id, 'running');
    // probe: task-tries-left
    if (task.attempts <= task.retries) {
      this.#become(task, 'pending');
      return 'again';
    }
    this.#end(task, 'failed', Object.freeze({ ...reason }));
    this.#tellDependents(task);
    return 'failed';
  }

  /** Makes a task ready that has failed and has tries left. */
  again(id: string): void {
    const task = this.#findIn(id, 'pending');
    if (task.attempts === 0) throw new TypeError(`Task ${id} was never started: it waits for others.`);
    this.#makeReady(task);
  }

  /** Of a task that has not ended. */
  skip(id: string, reason: TaskReason): void {
    const task = this.#findIn(id, 'pending', 'ready', 'running');
    this.#end(task, 'skipped', Object.freeze({ ...reason }));
    this.#tellDependents(task);
  }

  /** All that are pending or ready; what runs may go on. */
  skipRest(reason: TaskReason): void {
    const shared = Object.freeze({ ...reason });
    for (const task of this.#tasks)
      // probe: task-skip-rest
      if (task.status === 'pending' || task.status === 'ready') this.#end(task, 'skipped', shared);
    this.#ready.clear();
  }

  #known(): KnownTasks {
    return {
      size: this.#byId.size,
      has: (id) => this.#byId.has(id),
      keys: () => this.#byId.keys(),
      depthOf: (id) => this.#depths[this.#find(id).order]!,
    };
  }

  #find(id: string): MutableTask {
    const task = this.#byId.get(id);
    if (task === undefined) throw new TypeError(`There is no task ${id} in the queue.`);
    return task;
  }

  #findIn(id: string, ...statuses: readonly TaskStatus[]): MutableTask {
    const task = this.#find(id);
    if (!statuses.includes(task.status))
      throw new TypeError(`Task ${id} is ${task.status}, not ${statuses.join(' or ')}.`);
    return task;
  }

  /** With no list of names, a task without assignee is nobody's and there is always room for it. */
  #roomiest(roomOf: RoomOf): string | null | undefined {
    const { assignees } = this.#options;
    if (assignees === undefined) return null;
    let best: string | undefined;
    let most = 0;
    for (const name of assignees) {
      const room = roomOf(name);
      // probe: task-roomiest
      if (room > most) [best, most] = [name, room];
    }
    return best;
  }

  /** A new task, after those that it depends on: some may have ended already. */
  #enter(task: MutableTask): void {
    let cause: TaskReason | null = null;
    let waiting = 0;
    for (const id of task.dependsOn) {
      const dependency = this.#find(id);
      const dependents = this.#dependents[dependency.order];
      if (dependents === undefined) this.#dependents[dependency.order] = [task.order];
      else dependents.push(task.order);
      if (isFinal(dependency.status)) cause ??= blockedBy(dependency);
      else waiting++;
    }
    this.#waiting[task.order] = waiting;
    if (cause !== null) this.#end(task, 'blocked', cause);
    else if (waiting === 0) this.#open(task);
  }

  /** All that it depends on has ended well: it is ready, or not needed. */
  #open(task: MutableTask): void {
    const reason = task.dependsOn.length === 0 ? null : conditionEnd(task, this.dependenciesOf(task.id));
    if (reason === null) this.#makeReady(task);
    else this.#end(task, 'skipped', reason);
  }

  /** What an end means for those who wait for it, and for those who wait for them. */
  #tellDependents(task: MutableTask): void {
    const ended = [task];
    for (let one = ended.pop(); one !== undefined; one = ended.pop()) {
      const cause = blockedBy(one);
      for (const place of this.#dependents[one.order] ?? []) {
        const dependent = this.#tasks[place]!;
        if (isFinal(dependent.status)) continue;
        // probe: task-tell-dependent
        if (cause !== null) this.#end(dependent, 'blocked', cause);
        else if (--this.#waiting[place]! === 0) this.#open(dependent);
        // probe: task-dependent-ended
        if (isFinal(dependent.status)) ended.push(dependent);
      }
    }
  }

  #makeReady(task: MutableTask): void {
    this.#become(task, 'ready');
    this.#ready.add(task);
  }

  #end(task: MutableTask, status: 'blocked' | 'failed' | 'skipped', reason: TaskReason): void {
    task.reason = reason;
    this.#become(task, status);
  }

  #become(task: MutableTask, status: TaskStatus): void {
    this.#counts[task.status]--;
    this.#counts[status]++;
    task.status = status;
    this.#options.onChange?.(task);
  }
}
