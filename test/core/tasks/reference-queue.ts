// What a queue should do, as plainly as possible: everything is recomputed, nothing is cached.
import type { TaskReason, TaskSpec, TaskStatus } from '#contracts';

export type Spec = TaskSpec & { readonly id: string };

export type Row = {
  readonly spec: Spec;
  status: TaskStatus;
  assignee: string | null;
  attempts: number;
  result: string | null;
  reason: { readonly code: TaskReason['code']; readonly task: string | null } | null;
};

export class ReferenceQueue {
  rows: Row[] = [];
  readonly assignees: readonly string[] | undefined;

  constructor(assignees: readonly string[] | undefined) {
    this.assignees = assignees;
  }

  row(id: string): Row {
    return this.rows.find(({ spec }) => spec.id === id)!;
  }

  in(...statuses: readonly TaskStatus[]): readonly Row[] {
    return this.rows.filter(({ status }) => statuses.includes(status));
  }

  /** Pending because it has failed, not because it waits for dependencies. */
  resting(): readonly Row[] {
    return this.in('pending').filter(({ attempts }) => attempts > 0);
  }

  dependenciesOf({ spec }: Row): readonly Row[] {
    return (spec.dependsOn ?? []).map((id) => this.row(id));
  }

  add(specs: readonly Spec[]): void {
    for (const spec of specs)
      this.rows.push({
        spec,
        status: 'pending',
        assignee: spec.assignee ?? null,
        attempts: 0,
        result: null,
        reason: null,
      });
    this.settle();
  }

  take(roomOf: (name: string) => number): Row | undefined {
    const roomiest = (): string | null | undefined => {
      if (this.assignees === undefined) return null;
      const most = Math.max(...this.assignees.map(roomOf));
      return most > 0 ? this.assignees.find((name) => roomOf(name) === most) : undefined;
    };
    const takerOf = (row: Row) =>
      row.assignee === null ? roomiest() : roomOf(row.assignee) > 0 ? row.assignee : undefined;
    const priorityOf = ({ spec }: Row) => spec.priority ?? 0;
    const row = [...this.in('ready')]
      .sort((one, other) => priorityOf(other) - priorityOf(one) || this.rows.indexOf(one) - this.rows.indexOf(other))
      .find((one) => takerOf(one) !== undefined);
    if (row === undefined) return undefined;
    this.start(row, takerOf(row)!);
    return row;
  }

  start(row: Row, assignee: string | null): void {
    row.assignee = assignee;
    row.attempts++;
    row.status = 'running';
  }

  complete(row: Row, result: string): void {
    row.status = 'completed';
    row.result = result;
    this.settle();
  }

  fail(row: Row): 'again' | 'failed' {
    if (row.attempts <= (row.spec.retries ?? 0)) {
      row.status = 'pending';
      return 'again';
    }
    row.status = 'failed';
    row.reason = { code: 'failed', task: null };
    this.settle();
    return 'failed';
  }

  again(row: Row): void {
    row.status = 'ready';
  }

  skip(rows: readonly Row[], code: TaskReason['code']): void {
    for (const row of rows) {
      row.status = 'skipped';
      row.reason = { code, task: null };
    }
    this.settle();
  }

  earliestUnstarted(assignee: string): Row | undefined {
    return this.in('pending', 'ready').find((row) => row.attempts === 0 && row.spec.assignee === assignee);
  }

  private settle(): void {
    const seen = new Set<Row>();
    const visit = (row: Row): void => {
      if (seen.has(row)) return;
      seen.add(row);
      const dependencies = this.dependenciesOf(row);
      dependencies.forEach(visit);
      if (row.status === 'pending' && row.attempts === 0) this.decide(row, dependencies);
    };
    this.rows.forEach(visit);
  }

  private decide(row: Row, dependencies: readonly Row[]): void {
    const left = ({ status, reason }: Row) => status === 'skipped' && reason?.code === 'condition';
    const bad = dependencies.find((one) => ['failed', 'blocked', 'skipped'].includes(one.status) && !left(one));
    if (bad !== undefined) {
      row.status = 'blocked';
      row.reason = { code: 'dependency', task: bad.status === 'blocked' ? bad.reason!.task : bad.spec.id };
      return;
    }
    if (!dependencies.every((one) => one.status === 'completed' || left(one))) return;
    const { when } = row.spec;
    const says = when === undefined ? null : this.row(when.task).result;
    const wanted =
      when === undefined || (says !== null && (when.is === undefined ? says !== when.not : says === when.is));
    const allLeft = dependencies.length > 0 && dependencies.every(left);
    if (!allLeft && wanted) row.status = 'ready';
    else {
      row.status = 'skipped';
      row.reason = { code: 'condition', task: allLeft ? dependencies[0]!.spec.id : when!.task };
    }
  }
}
