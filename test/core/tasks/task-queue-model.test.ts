// Random graphs and random operations: after every step the queue matches a plain model of it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Task, TaskReason } from '#contracts';
import { isFinal, TaskQueue } from '#core/tasks';
import { ReferenceQueue } from './reference-queue.ts';
import type { Row, Spec } from './reference-queue.ts';

const names = ['ann', 'bob', 'cyd'];
const results = ['yes', 'no'];

/** A task, with random numbers that become its dependencies and condition once the existing tasks are known. */
const draft = fc.record({
  assignee: fc.option(fc.constantFrom(...names), { nil: undefined }),
  priority: fc.option(fc.integer({ min: -1, max: 2 }), { nil: undefined }),
  retries: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
  dependsOn: fc.array(fc.nat(1_000), { maxLength: 3 }),
  when: fc.option(
    fc.record({ which: fc.nat(2), side: fc.constantFrom('is', 'not'), word: fc.constantFrom(...results) }),
    {
      nil: undefined,
      freq: 2,
    },
  ),
});
type Draft = typeof draft extends fc.Arbitrary<infer D> ? D : never;

const batch = fc.record({ drafts: fc.array(draft, { minLength: 1, maxLength: 8 }), turned: fc.boolean() });
type Batch = typeof batch extends fc.Arbitrary<infer B> ? B : never;

const step = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('take' as const) },
    { weight: 4, arbitrary: fc.constant('complete' as const) },
    { weight: 2, arbitrary: fc.constantFrom('fail' as const, 'again' as const, 'add' as const) },
    { weight: 1, arbitrary: fc.constantFrom('skip' as const, 'start' as const) },
  ),
  which: fc.nat(1_000),
  word: fc.constantFrom(...results),
  code: fc.constantFrom('budget' as const, 'condition' as const, 'aborted' as const),
  rest: fc.nat(9).map((one) => one === 0),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const work = fc.record({
  assignees: fc.option(fc.constant(names), { nil: undefined }),
  room: fc.record({ ann: fc.nat(2), bob: fc.nat(2), cyd: fc.nat(2) }),
  batches: fc.array(batch, { minLength: 1, maxLength: 4 }),
  steps: fc.array(step, { maxLength: 50 }),
});

/** Without cycles: each task depends on earlier ones, and then the list may be reversed. */
const specsOf = ({ drafts, turned }: Batch, first: number): readonly Spec[] => {
  const specs = drafts.map((one: Draft, place): Spec => {
    const { assignee, priority, retries, when } = one;
    const before = first + place;
    const dependsOn = before === 0 ? [] : [...new Set(one.dependsOn.map((draw) => `t${draw % before}`))];
    const task = when === undefined ? undefined : dependsOn[when.which % dependsOn.length];
    return {
      id: `t${before}`,
      title: `Task ${before}`,
      description: 'Do it.',
      dependsOn,
      ...(assignee === undefined ? {} : { assignee }),
      ...(priority === undefined ? {} : { priority }),
      ...(retries === undefined ? {} : { retries }),
      ...(when === undefined || task === undefined ? {} : { when: { task, [when.side]: when.word } }),
    };
  });
  return turned ? specs.reverse() : specs;
};

const reasonOf = (code: TaskReason['code']): TaskReason => ({ code, text: 'For a test.' });

const shownTask = (task: Task) => ({
  id: task.id,
  status: task.status,
  assignee: task.assignee,
  attempts: task.attempts,
  result: task.result,
  reason: task.reason === null ? null : { code: task.reason.code, task: task.reason.task ?? null },
});

const shownRow = ({ spec, ...row }: Row) => ({ id: spec.id, ...row });

const compare = (queue: TaskQueue, model: ReferenceQueue): void => {
  expect([...queue.tasks()].map(shownTask)).toEqual(model.rows.map(shownRow));
  for (const [status, count] of Object.entries(queue.counts()))
    expect([status, count]).toEqual([status, model.in(status as Task['status']).length]);
  expect(queue.isDone).toBe(model.in('pending', 'ready', 'running').length === 0);
  for (const name of names) expect(queue.earliestUnstarted(name)?.id).toBe(model.earliestUnstarted(name)?.spec.id);
};

/** The queue and the model side by side: every operation is applied to both. */
const sideBySide = (assignees: readonly string[] | undefined, room: Readonly<Record<string, number>>) => {
  const reported = new Map<string, string>();
  const queue = new TaskQueue({ assignees, onChange: ({ id, status }) => void reported.set(id, status) });
  const model = new ReferenceQueue(assignees);
  const ended = new Map<string, string>();
  const always = (): number => 1;
  const roomLeft = (name: string): number =>
    room[name]! - model.in('running').filter(({ assignee }) => assignee === name).length;

  const take = (roomOf: (assignee: string) => number): boolean => {
    const taken = queue.take(roomOf);
    const row = model.take(roomOf);
    expect(taken === undefined ? undefined : [taken.task.id, taken.assignee]).toEqual(
      row === undefined ? undefined : [row.spec.id, row.assignee],
    );
    for (const dependency of taken === undefined ? [] : queue.dependenciesOf(taken.task.id))
      expect(isFinal(dependency.status)).toBe(true);
    return taken !== undefined;
  };

  /** Both have the same state, and whatever has ended stays unchanged. */
  const check = (): void => {
    compare(queue, model);
    for (const task of queue.tasks()) {
      expect(reported.get(task.id) ?? 'pending').toBe(task.status);
      const before = ended.get(task.id);
      const now = JSON.stringify(shownTask(task));
      if (before !== undefined) expect(now).toBe(before);
      else if (isFinal(task.status)) ended.set(task.id, now);
      expect(task.attempts).toBeLessThanOrEqual(task.retries + 1);
    }
  };

  const add = (specs: readonly Spec[]): void => {
    expect(queue.add(specs).map(({ id }) => id)).toEqual(specs.map(({ id }) => id));
    model.add(specs);
  };

  const rowsFor = (kind: Step['kind']): readonly Row[] => {
    if (kind === 'again') return model.resting();
    if (kind === 'start')
      return [...model.in('ready'), ...model.resting()].filter(({ attempts, spec }) => attempts <= (spec.retries ?? 0));
    return kind === 'skip' ? model.in('pending', 'ready', 'running') : model.in('running');
  };

  const play = ({ kind, which, word, code, rest }: Step): void => {
    if (kind === 'take') return void take(roomLeft);
    if (kind === 'skip' && rest) {
      queue.skipRest(reasonOf('aborted'));
      return model.skip(model.in('pending', 'ready'), 'aborted');
    }
    const rows = rowsFor(kind);
    const row = rows[which % rows.length];
    if (row === undefined) return;
    const { id } = row.spec;
    if (kind === 'complete') {
      queue.complete(id, word);
      model.complete(row, word);
    } else if (kind === 'fail') expect(queue.fail(id, reasonOf('failed'))).toBe(model.fail(row));
    else if (kind === 'again') {
      queue.again(id);
      model.again(row);
    } else if (kind === 'start') {
      const assignee = row.assignee ?? assignees?.[which % assignees.length] ?? null;
      queue.start(id, assignee);
      model.start(row, assignee);
    } else {
      queue.skip(id, reasonOf(code));
      model.skip([row], code);
    }
  };

  /** Completes all remaining tasks. */
  const drain = (): void => {
    const first = { which: 0, word: 'yes', code: 'aborted', rest: false } as const;
    while (!queue.isDone) {
      while (model.resting().length > 0) play({ kind: 'again', ...first });
      while (take(always));
      expect(model.in('running').length).toBeGreaterThan(0);
      while (model.in('running').length > 0) play({ kind: 'complete', ...first });
      check();
    }
  };

  return { queue, model, add, play, check, drain };
};

// invariants: queue-deterministic, queue-ready-after-dependencies, ready-entry-counts-while-ready
test('after every step, every task has the status that a plain model gives it', () =>
  fc.assert(
    fc.property(work, ({ assignees, room, batches, steps }) => {
      const pair = sideBySide(assignees, room);
      const waiting = [...batches];
      const addNext = (): void => {
        const next = waiting.shift();
        if (next !== undefined) pair.add(specsOf(next, pair.model.rows.length));
      };
      addNext();
      for (const one of steps) {
        if (one.kind === 'add') addNext();
        else pair.play(one);
        pair.check();
      }
      pair.drain();
      for (const task of pair.queue.tasks()) expect(isFinal(task.status)).toBe(true);
    }),
    { numRuns: 300 },
  ));

test('many tasks start by priority, then in the order added', () =>
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 60 }), (priorities) => {
      const queue = new TaskQueue();
      queue.add(priorities.map((priority, place) => ({ id: `t${place}`, title: 'T', description: 'D', priority })));
      const started = priorities.map(() => queue.take(() => 1)!.task);
      const sorted = [...started].sort((one, other) => other.priority - one.priority || one.order - other.order);
      expect(started.map(({ id }) => id)).toEqual(sorted.map(({ id }) => id));
      expect(queue.take(() => 1)).toBeUndefined();
    }),
    { numRuns: 100 },
  ));

test('dependencies and dependents agree', () =>
  fc.assert(
    fc.property(fc.array(batch, { minLength: 1, maxLength: 4 }), (batches) => {
      const queue = new TaskQueue();
      for (const one of batches) queue.add(specsOf(one, queue.size));
      const all = [...queue.tasks()];
      for (const task of all) {
        expect(queue.dependenciesOf(task.id).map(({ id }) => id)).toEqual(task.dependsOn);
        const dependents = all.filter(({ dependsOn }) => dependsOn.includes(task.id));
        expect(new Set(queue.dependentsOf(task.id))).toEqual(new Set(dependents));
        expect(queue.dependentsOf(task.id)).toHaveLength(dependents.length);
        expect(queue.sinks().includes(task)).toBe(dependents.length === 0);
      }
    }),
    { numRuns: 100 },
  ));
