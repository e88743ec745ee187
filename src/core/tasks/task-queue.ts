// The tasks of a team and their states: what can be started, by whom, and what the end of a task means for the others.
//
//   queue-deterministic. The same calls give the same states. It has no clock and runs nothing.
//   queue-ready-after-dependencies. A task is ready only when all of its dependencies have ended well. A final state never
//       changes.
//   queue-linear. No step is recursive. All calls together take time linear in tasks and dependencies, except for ordering
//       ready tasks.
import { CloisterError } from '#base';
import type { MemoryScope, Task, TaskReason, TaskSpec, TaskStatus } from '#contracts';
import { parseGraph } from './check-tasks.ts';
import type { KnownTasks } from './check-tasks.ts';
import { blockReason, skipReason, isFinal } from './dependency-outcomes.ts';
import { isBefore, ReadyTasks, UnstartedTasks } from './ready-tasks.ts';
import type { TaskLimits } from './read-task.ts';
import { newestTeamTexts } from './team-texts.ts';
import type { TeamTexts } from './team-texts.ts';

/** Memory scope and retries are defaults for tasks that have none. Without assignees, a task may name anyone. */
type TaskQueueOptions = TaskLimits & {
  readonly memoryScope?: MemoryScope | undefined;
  readonly retries?: number | undefined;
  /** The texts about tasks, in the version that the run uses. Default: the newest. */
  readonly texts?: TeamTexts | undefined;
  /** Called for each task whose status changes. */
  readonly onChange?: ((task: Task) => void) | undefined;
};

/** How many more tasks an assignee may start now. */
type FreeCapacity = (assignee: string) => number;

type StartedTask = { readonly task: Task; readonly assignee: string | null };

type MutableTask = { -readonly [K in keyof Task]: Task[K] };

/**
 * The tasks of a graph and their states, for a loop of your own: `add` tasks, `take` one that can start, then `complete` or
 * `fail` it.
 */
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
  // By index in the queue: its dependents, how many dependencies it still waits for, and the length of its longest path.
  readonly #dependents: (number[] | undefined)[] = [];
  readonly #unmetCounts: number[] = [];
  readonly #depths: number[] = [];

  constructor(options: TaskQueueOptions = {}) {
    this.#options = { ...options };
  }

  /** Adds all tasks or none. They may depend on existing tasks, whatever their status. */
  add(specs: readonly TaskSpec[]): readonly Task[] {
    const { problems, tasks, order, depths } = parseGraph(specs, this.#existingTasks(), this.#options);
    if (problems.length > 0) throw new CloisterError('tasks_invalid', problems.join('\n'));
    const first = this.#tasks.length;
    tasks.forEach((spec, index) => {
      const task: MutableTask = {
        id: spec.id,
        order: first + index,
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
      this.#depths.push(depths[index]!);
      this.#dependents.push(undefined);
      this.#unmetCounts.push(0);
      this.#counts.pending++;
      this.#unstarted.add(task);
    });
    const { onChange } = this.#options;
    if (onChange !== undefined) for (const task of this.#tasks.slice(first)) onChange(task);
    for (const index of order) this.#linkDependencies(this.#tasks[first + index]!);
    return this.#tasks.slice(first);
  }

  /** The task with this id. */
  get(id: string): Task | undefined {
    return this.#byId.get(id);
  }

  /** The texts about tasks, in the version that it uses. */
  get texts(): TeamTexts {
    return this.#options.texts ?? newestTeamTexts;
  }

  /** How many tasks there are. */
  get size(): number {
    return this.#tasks.length;
  }

  /** In the order of the queue. */
  tasks(): Iterable<Task> {
    return this.#tasks;
  }

  /** How many tasks have each status. */
  counts(): Readonly<Record<TaskStatus, number>> {
    return { ...this.#counts };
  }

  /** Nothing is pending, ready or running. */
  get isDone(): boolean {
    return this.#counts.pending + this.#counts.ready + this.#counts.running === 0;
  }

  /** The tasks that depend on it directly. */
  dependentsOf(id: string): readonly Task[] {
    return (this.#dependents[this.#find(id).order] ?? []).map((index) => this.#tasks[index]!);
  }

  /** The tasks that it depends on directly. */
  dependenciesOf(id: string): readonly Task[] {
    return this.#find(id).dependsOn.map((dependency) => this.#find(dependency));
  }

  /** Tasks that no other task depends on. */
  sinks(): readonly Task[] {
    return this.#tasks.filter(({ order }) => this.#dependents[order] === undefined);
  }

  /** Starts the most urgent task whose assignee has free capacity. A task without assignee goes to whoever has the most. */
  take(freeCapacity: FreeCapacity): StartedTask | undefined {
    let best: Task | undefined;
    let taker: string | null = null;
    for (const assignee of this.#ready.assignees()) {
      const task = this.#ready.first(assignee);
      // probe: task-less-urgent
      if (task === undefined || (best !== undefined && !isBefore(task, best))) continue;
      const candidate =
        assignee === null ? this.#leastBusyAssignee(freeCapacity) : freeCapacity(assignee) > 0 ? assignee : undefined;
      if (candidate === undefined) continue;
      best = task;
      taker = candidate;
    }
    if (best === undefined) return undefined;
    this.#ready.removeFirst(best.assignee);
    const task = this.#tasks[best.order]!;
    task.assignee = taker;
    task.attempts++;
    this.#setStatus(task, 'running');
    return { task, assignee: taker };
  }

  /** Starts a given task that another queue has taken or retried: for code that follows another queue's decisions. */
  start(id: string, assignee: string | null): void {
    const task = this.#findIn(id, 'ready', 'pending');
    if (task.status === 'pending' && task.attempts === 0)
      throw new TypeError(`Task ${id} is waiting for its dependencies.`);
    task.assignee = assignee;
    task.attempts++;
    this.#setStatus(task, 'running');
  }

  /** The first task of that assignee that was never started and still may be. */
  earliestUnstarted(assignee: string): Task | undefined {
    return this.#unstarted.first(assignee);
  }

  /** Ends a running task with its result; tasks that waited for it may become ready. */
  complete(id: string, result: string): void {
    const task = this.#findIn(id, 'running');
    task.result = result;
    this.#setStatus(task, 'completed');
    this.#updateDependents(task);
  }

  /** Returns `again` if the task has retries left: it is then pending until `again` is called. */
  fail(id: string, reason: TaskReason): 'again' | 'failed' {
    const task = this.#findIn(id, 'running');
    // probe: task-tries-left
    if (task.attempts <= task.retries) {
      this.#setStatus(task, 'pending');
      return 'again';
    }
    this.#end(task, 'failed', Object.freeze({ ...reason }));
    this.#updateDependents(task);
    return 'failed';
  }

  /** Makes a failed task with retries left ready. */
  again(id: string): void {
    const task = this.#findIn(id, 'pending');
    if (task.attempts === 0) throw new TypeError(`Task ${id} was never started: it is waiting for its dependencies.`);
    this.#makeReady(task);
  }

  /** Skips a task that has not ended. */
  skip(id: string, reason: TaskReason): void {
    const task = this.#findIn(id, 'pending', 'ready', 'running');
    this.#end(task, 'skipped', Object.freeze({ ...reason }));
    this.#updateDependents(task);
  }

  /** Skips all pending and ready tasks. Running tasks may finish. */
  skipRest(reason: TaskReason): void {
    const shared = Object.freeze({ ...reason });
    for (const task of this.#tasks)
      // probe: task-skip-rest
      if (task.status === 'pending' || task.status === 'ready') this.#end(task, 'skipped', shared);
    this.#ready.clear();
  }

  #existingTasks(): KnownTasks {
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

  /** Without a list of assignees, a task may run unassigned, and there is always capacity for it. */
  #leastBusyAssignee(freeCapacity: FreeCapacity): string | null | undefined {
    const { assignees } = this.#options;
    if (assignees === undefined) return null;
    let best: string | undefined;
    let most = 0;
    for (const name of assignees) {
      const room = freeCapacity(name);
      // probe: task-roomiest
      if (room > most) [best, most] = [name, room];
    }
    return best;
  }

  /** Links a new task to its dependencies, some of which may have ended already. */
  #linkDependencies(task: MutableTask): void {
    let cause: TaskReason | null = null;
    let waiting = 0;
    for (const id of task.dependsOn) {
      const dependency = this.#find(id);
      const dependents = this.#dependents[dependency.order];
      if (dependents === undefined) this.#dependents[dependency.order] = [task.order];
      else dependents.push(task.order);
      if (isFinal(dependency.status)) cause ??= blockReason(dependency, this.texts);
      else waiting++;
    }
    this.#unmetCounts[task.order] = waiting;
    if (cause !== null) this.#end(task, 'blocked', cause);
    else if (waiting === 0) this.#readyOrSkip(task);
  }

  /** All dependencies have ended well: the task is ready, or not needed. */
  #readyOrSkip(task: MutableTask): void {
    const reason = task.dependsOn.length === 0 ? null : skipReason(task, this.dependenciesOf(task.id), this.texts);
    if (reason === null) this.#makeReady(task);
    else this.#end(task, 'skipped', reason);
  }

  /** Applies the end of a task to its dependents, and to theirs in turn. */
  #updateDependents(task: MutableTask): void {
    const ended = [task];
    for (let one = ended.pop(); one !== undefined; one = ended.pop()) {
      const cause = blockReason(one, this.texts);
      for (const index of this.#dependents[one.order] ?? []) {
        const dependent = this.#tasks[index]!;
        if (isFinal(dependent.status)) continue;
        // probe: task-tell-dependent
        if (cause !== null) this.#end(dependent, 'blocked', cause);
        else if (--this.#unmetCounts[index]! === 0) this.#readyOrSkip(dependent);
        // probe: task-dependent-ended
        if (isFinal(dependent.status)) ended.push(dependent);
      }
    }
  }

  #makeReady(task: MutableTask): void {
    this.#setStatus(task, 'ready');
    this.#ready.add(task);
  }

  #end(task: MutableTask, status: 'blocked' | 'failed' | 'skipped', reason: TaskReason): void {
    task.reason = reason;
    this.#setStatus(task, status);
  }

  #setStatus(task: MutableTask, status: TaskStatus): void {
    this.#counts[task.status]--;
    this.#counts[status]++;
    task.status = status;
    this.#options.onChange?.(task);
  }
}
