// A simple, slow model of a task graph as the contract describes it, without code of the runtime.
import type { MemoryScope, TaskCondition, TaskSpec, TaskStatus } from '#contracts';

export type ModelTask = {
  readonly id: string;
  readonly order: number;
  readonly title: string;
  readonly description: string;
  readonly dependsOn: readonly string[];
  readonly memoryScope: MemoryScope;
  readonly retries: number;
  readonly priority: number;
  readonly when: TaskCondition | null;
  /** The member that the request names. */
  readonly requestedAssignee: string | null;
  assignee: string | null;
  status: TaskStatus;
  attempts: number;
  result: string | null;
  /** Why it did not complete, and the tasks that may have caused it. */
  code: string | null;
  causes: readonly string[];
};

type Rules = { readonly memoryScope: MemoryScope; readonly retries: number };

export type Capacity = {
  readonly members: readonly string[];
  readonly of: (member: string) => number;
};

export class TeamModel {
  readonly tasks: ModelTask[] = [];
  readonly #rules: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  get(id: string): ModelTask | undefined {
    return this.tasks.find((task) => task.id === id);
  }

  /** Adds all tasks or none. */
  add(specs: readonly TaskSpec[], members: readonly string[]): boolean {
    const ids = [...this.tasks.map(({ id }) => id), ...specs.map(({ id }) => id ?? '')];
    const fits = specs.every(
      ({ id = '', assignee, dependsOn = [] }) =>
        ids.indexOf(id) === ids.lastIndexOf(id) &&
        (assignee === undefined || members.includes(assignee)) &&
        dependsOn.every((one) => one !== id && ids.includes(one)),
    );
    if (!fits) return false;
    for (const { id = '', assignee = null, ...spec } of specs)
      this.tasks.push({
        id,
        order: this.tasks.length,
        title: spec.title,
        description: spec.description,
        dependsOn: spec.dependsOn ?? [],
        memoryScope: spec.memoryScope ?? this.#rules.memoryScope,
        retries: spec.retries ?? this.#rules.retries,
        priority: spec.priority ?? 0,
        when: spec.when ?? null,
        requestedAssignee: assignee,
        assignee,
        status: 'pending',
        attempts: 0,
        result: null,
        code: null,
        causes: [],
      });
    this.#propagate();
    return true;
  }

  /** The most urgent ready task that has a free member: highest priority first, then the earliest. */
  next(room: Capacity): { readonly task: ModelTask; readonly assignee: string } | null {
    const ready = this.tasks
      .filter(({ status }) => status === 'ready')
      .toSorted((one, other) => other.priority - one.priority || one.order - other.order);
    for (const task of ready) {
      const assignee = task.assignee ?? freestMember(room);
      if (assignee !== null && room.of(assignee) > 0) return { task, assignee };
    }
    return null;
  }

  start(task: ModelTask, assignee: string): void {
    Object.assign(task, { assignee, status: 'running' });
    task.attempts++;
  }

  complete(task: ModelTask, result: string): void {
    Object.assign(task, { status: 'completed', result });
    this.#propagate();
  }

  end(task: ModelTask, status: 'failed' | 'skipped', code: string): void {
    Object.assign(task, { status, code });
    this.#propagate();
  }

  /** Skips all tasks that nobody works on, including those that wait for a retry. */
  skipRest(): void {
    for (const task of this.tasks)
      if (task.status === 'pending' || task.status === 'ready')
        Object.assign(task, { status: 'skipped', code: 'aborted' });
  }

  /** The results that a task gets if it starts now. */
  resultsFor({ memoryScope, dependsOn }: ModelTask): readonly ModelTask[] {
    const among = memoryScope === 'all' ? this.tasks : dependsOn.map((id) => this.get(id)!);
    return among.filter(({ status }) => status === 'completed');
  }

  /** Applies the ends so far to the tasks that have not started, until nothing changes. */
  #propagate(): void {
    for (let changed = true; changed;) {
      changed = false;
      for (const task of this.tasks) {
        if (task.status !== 'pending' || task.attempts > 0) continue;
        const before = task.dependsOn.map((id) => this.get(id)!);
        const bad = before.filter(endedBadly);
        if (bad.length > 0) {
          const causes = bad.flatMap((one) => (one.status === 'blocked' ? one.causes : [one.id]));
          Object.assign(task, { status: 'blocked', code: 'dependency', causes });
        } else if (before.every(hasEnded)) {
          const isNeeded = isWanted(task, before);
          Object.assign(task, isNeeded ? { status: 'ready' } : { status: 'skipped', code: 'condition' });
        } else continue;
        changed = true;
      }
    }
  }
}

const freestMember = ({ members, of }: Capacity): string | null => {
  const most = Math.max(...members.map(of));
  return most <= 0 ? null : members.find((one) => of(one) === most)!;
};

export const hasEnded = ({ status }: { readonly status: TaskStatus }): boolean =>
  ['completed', 'failed', 'blocked', 'skipped'].includes(status);

/** Ended in a way that blocks its dependents. */
const endedBadly = (task: ModelTask): boolean =>
  hasEnded(task) && task.status !== 'completed' && !(task.status === 'skipped' && task.code === 'condition');

const isWanted = ({ when }: ModelTask, before: readonly ModelTask[]): boolean => {
  if (before.length > 0 && before.every(({ status }) => status === 'skipped')) return false;
  if (when === null) return true;
  const result = before.find(({ id }) => id === when.task)?.result ?? null;
  if (result === null) return false;
  const line = result.trimStart().split('\n')[0]!.toLowerCase();
  const says = (words: string | readonly string[]): boolean =>
    [words].flat().some((word) => new RegExp(`^[^\\p{L}\\p{N}]*${word}(?![\\p{L}\\p{N}]|-\\p{L})`, 'u').test(line));
  return when.is === undefined ? !says(when.not ?? []) : says(when.is);
};
