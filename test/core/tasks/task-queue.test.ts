// The queue in cases that a person can follow; the model test covers the rest.
import { expect, test } from 'vitest';
import type { TaskReason, TaskSpec } from '#contracts';
import { TaskQueue } from '#core/tasks';

const task = (id: string, more: Partial<TaskSpec> = {}): TaskSpec => ({
  id,
  title: `Do ${id}`,
  description: 'Do it.',
  ...more,
});
const after = (id: string, ...dependsOn: readonly string[]): TaskSpec => task(id, { dependsOn });
const failed: TaskReason = { code: 'failed', status: 'failed', error: 'model_missing', text: 'It had no model.' };
const aborted: TaskReason = { code: 'aborted', text: 'It was stopped.' };

const queueOf = (...specs: readonly TaskSpec[]): TaskQueue => {
  const queue = new TaskQueue();
  queue.add(specs);
  return queue;
};

const always = (): number => 1;
const start = (queue: TaskQueue): string | undefined => queue.take(always)?.task.id;
const startAll = (queue: TaskQueue): readonly string[] => {
  const ids: string[] = [];
  for (let id = start(queue); id !== undefined; id = start(queue)) ids.push(id);
  return ids;
};
const states = (queue: TaskQueue): Record<string, string> =>
  Object.fromEntries(Array.from(queue.tasks(), ({ id, status }) => [id, status]));

test('a task has the defaults of its queue unless it overrides them', () => {
  const queue = new TaskQueue({ memoryScope: 'all', retries: 2 });
  const [plain, own] = queue.add([
    task('a'),
    task('b', { memoryScope: 'dependencies', retries: 0, priority: 3, assignee: 'x' }),
  ]);
  expect(plain).toEqual({
    id: 'a',
    order: 0,
    title: 'Do a',
    description: 'Do it.',
    assignee: null,
    dependsOn: [],
    memoryScope: 'all',
    retries: 2,
    priority: 0,
    when: null,
    status: 'ready',
    result: null,
    reason: null,
    attempts: 0,
  });
  expect(own).toMatchObject({ order: 1, memoryScope: 'dependencies', retries: 0, priority: 3, assignee: 'x' });
  expect(queue.get('b')).toBe(own);
  expect(queue.get('c')).toBeUndefined();
});

test('of the ready tasks the highest priority starts first, then the earliest', () =>
  expect(
    startAll(
      queueOf(
        task('a'),
        task('b', { priority: 1 }),
        task('c', { priority: -1 }),
        task('d', { priority: 1 }),
        task('e'),
      ),
    ),
  ).toEqual(['b', 'd', 'a', 'e', 'c']));

test('a member at capacity does not hold up the others', () => {
  const queue = new TaskQueue({ assignees: ['ann', 'bob'] });
  queue.add([task('a', { assignee: 'ann', priority: 9 }), task('b', { assignee: 'bob' }), task('c', { priority: 1 })]);
  const bobOnly = (name: string): number => (name === 'bob' ? 1 : 0);
  expect(queue.take(bobOnly)).toMatchObject({ task: { id: 'c', assignee: 'bob' }, assignee: 'bob' });
  expect(queue.take(bobOnly)?.task.id).toBe('b');
  expect(queue.take(bobOnly)).toBeUndefined();
  expect(queue.get('a')?.status).toBe('ready');
});

test('a task without assignee goes to the member with the most capacity, the first on a tie, and stays with it', () => {
  const queue = new TaskQueue({ assignees: ['ann', 'bob', 'cyd'] });
  queue.add([task('a', { retries: 1 }), task('b')]);
  expect(queue.take((name) => ({ ann: 1, bob: 3, cyd: 3 })[name]!)?.assignee).toBe('bob');
  queue.fail('a', failed);
  queue.again('a');
  expect(queue.take((name) => (name === 'bob' ? 0 : 1))?.task.id).toBe('b');
  expect(queue.get('b')?.assignee).toBe('ann');
  expect(queue.take((name) => (name === 'bob' ? 0 : 1))).toBeUndefined();
  expect(queue.take(always)).toMatchObject({ task: { id: 'a', attempts: 2 }, assignee: 'bob' });
});

test('without a list of members a task without assignee belongs to no one, and there is always capacity for it', () =>
  expect(queueOf(task('a')).take(() => 0)).toMatchObject({ task: { id: 'a' }, assignee: null }));

test('a task is ready when its last dependency has completed', () => {
  const queue = queueOf(after('c', 'a', 'b'), task('a'), task('b'));
  expect(startAll(queue)).toEqual(['a', 'b']);
  queue.complete('b', 'B');
  expect(states(queue)).toEqual({ a: 'running', b: 'completed', c: 'pending' });
  queue.complete('a', '');
  expect(states(queue)).toEqual({ a: 'completed', b: 'completed', c: 'ready' });
  expect(queue.dependenciesOf('c').map(({ result }) => result)).toEqual(['', 'B']);
});

test('a failure blocks its dependents and no others, and names the cause', () => {
  const queue = queueOf(task('a'), after('b', 'a'), after('c', 'b', 'x'), task('x'), after('y', 'x'));
  startAll(queue);
  expect(queue.fail('a', failed)).toBe('failed');
  expect(queue.get('a')).toMatchObject({ status: 'failed', reason: failed });
  const reason = { code: 'dependency', task: 'a', text: 'it depends on a, which failed' };
  for (const id of ['b', 'c']) expect(queue.get(id)).toMatchObject({ status: 'blocked', reason });
  queue.complete('x', 'X');
  expect(states(queue)).toEqual({ a: 'failed', b: 'blocked', c: 'blocked', x: 'completed', y: 'ready' });
  expect(queue.isDone).toBe(false);
  startAll(queue);
  queue.complete('y', 'Y');
  expect(queue.isDone).toBe(true);
  expect(queue.counts()).toEqual({ pending: 0, blocked: 2, ready: 0, running: 0, completed: 2, failed: 1, skipped: 0 });
});

test('a task that cannot be done is skipped with the reason, and its dependents are blocked', () => {
  const queue = queueOf(task('a'), after('b', 'a'));
  queue.skip('a', { code: 'budget', text: 'No money.' });
  expect(queue.get('a')).toMatchObject({ status: 'skipped', reason: { code: 'budget' } });
  expect(queue.get('b')).toMatchObject({
    status: 'blocked',
    reason: { task: 'a', text: 'it depends on a, which was not done' },
  });
  expect(start(queue)).toBeUndefined();
});

test('a task is retried up to its limit, and only on request', () => {
  const queue = queueOf(task('a', { retries: 2 }));
  for (const outcome of ['again', 'again', 'failed']) {
    expect(start(queue)).toBe('a');
    expect(queue.fail('a', failed)).toBe(outcome);
    expect(start(queue)).toBeUndefined();
    if (outcome === 'failed') break;
    expect(queue.get('a')).toMatchObject({ status: 'pending', reason: null });
    queue.again('a');
  }
  expect(queue.get('a')).toMatchObject({ status: 'failed', attempts: 3 });
});

test('skipping the rest skips tasks that have not started, and running ones may continue', () => {
  const queue = queueOf(task('a', { priority: 1 }), task('b'), after('c', 'a'));
  start(queue);
  queue.skipRest(aborted);
  expect(states(queue)).toEqual({ a: 'running', b: 'skipped', c: 'skipped' });
  expect(start(queue)).toBeUndefined();
  queue.complete('a', 'A');
  expect(states(queue)).toEqual({ a: 'completed', b: 'skipped', c: 'skipped' });
  expect(queue.get('c')?.reason).toEqual(aborted);
});

test('tasks may depend on tasks that have ended, whatever their final status', () => {
  const queue = queueOf(task('good'), task('bad'), after('behind', 'bad'), task('left'), task('open'));
  startAll(queue);
  queue.complete('good', 'G');
  queue.fail('bad', failed);
  queue.skip('left', { code: 'condition', text: 'Not needed.' });
  queue.add([
    after('d', 'c', 'open'),
    after('a', 'good', 'left'),
    after('b', 'good', 'behind'),
    after('c', 'b'),
    after('e', 'left'),
    after('f', 'good', 'open'),
  ]);
  expect(states(queue)).toMatchObject({
    a: 'ready',
    b: 'blocked',
    c: 'blocked',
    d: 'blocked',
    e: 'skipped',
    f: 'pending',
  });
  for (const id of ['b', 'c', 'd']) expect(queue.get(id)?.reason?.task).toBe('bad');
  queue.complete('open', 'O');
  expect(queue.get('f')?.status).toBe('ready');
});

// invariant: tasks-all-or-none
test('a list with one bad task adds nothing', () => {
  const queue = queueOf(task('a'));
  expect(() => queue.add([task('b'), after('c', 'nobody')])).toThrow('it depends on "nobody"');
  expect(queue.size).toBe(1);
  expect(queue.get('b')).toBeUndefined();
  queue.add([task('b')]);
  expect([...queue.tasks()].map(({ order }) => order)).toEqual([0, 1]);
});

test('the limits apply to all tasks together, however they were added', () => {
  const queue = new TaskQueue({ tasksMax: 3, depthMax: 2 });
  queue.add([task('a'), after('b', 'a')]);
  expect(() => queue.add([after('c', 'b')])).toThrow(
    'The longest chain of dependent tasks has 3 tasks and ends with "c"; at most 2 are allowed',
  );
  expect(() => queue.add([task('c'), task('d')])).toThrow('The list has 2 tasks, plus 2 existing; at most 3');
  queue.add([task('c')]);
});

const decided = (result: string): TaskQueue => {
  const queue = queueOf(
    task('judge'),
    task('yes', { dependsOn: ['judge'], when: { task: 'judge', is: 'yes' } }),
    task('no', { dependsOn: ['judge'], when: { task: 'judge', not: ['yes', 'maybe'] } }),
    after('behind-yes', 'yes'),
    after('behind-no', 'no'),
    after('both', 'yes', 'no'),
    task('about-yes', { dependsOn: ['judge', 'yes'], when: { task: 'yes', not: 'x' } }),
  );
  start(queue);
  queue.complete('judge', result);
  return queue;
};

test('a condition chooses between tasks, and a skipped task blocks only tasks with no other dependency', () => {
  const queue = decided('Yes, do it.');
  expect(states(queue)).toEqual({
    judge: 'completed',
    yes: 'ready',
    no: 'skipped',
    'behind-yes': 'pending',
    'behind-no': 'skipped',
    both: 'pending',
    'about-yes': 'pending',
  });
  expect(queue.get('no')?.reason).toEqual({
    code: 'condition',
    task: 'judge',
    text: 'the result of judge did not meet its condition',
  });
  expect(queue.get('behind-no')?.reason).toMatchObject({ code: 'condition', task: 'no' });
  start(queue);
  queue.complete('yes', 'done');
  expect(startAll(queue)).toEqual(['behind-yes', 'both', 'about-yes']);
});

test('when every branch is skipped, so is everything after them', () => {
  const queue = decided('Maybe.');
  expect(queue.isDone).toBe(true);
  expect(queue.counts()).toMatchObject({ completed: 1, skipped: 6, blocked: 0 });
});

test('a condition on a skipped task is not met', () => {
  const queue = decided('No.');
  expect(queue.get('about-yes')).toMatchObject({ status: 'skipped', reason: { code: 'condition', task: 'yes' } });
  expect(queue.get('both')?.status).toBe('pending');
});

test('a failed dependency blocks even a task that its condition would skip', () => {
  const queue = queueOf(task('a'), task('x'), task('b', { dependsOn: ['a', 'x'], when: { task: 'a', is: 'yes' } }));
  startAll(queue);
  queue.complete('a', 'no');
  expect(queue.get('b')?.status).toBe('pending');
  queue.fail('x', failed);
  expect(queue.get('b')).toMatchObject({ status: 'blocked', reason: { task: 'x' } });
});

test('mail goes to a member’s earliest task that has not started and still may', () => {
  const queue = new TaskQueue({ assignees: ['ann', 'bob'] });
  queue.add([
    task('free'),
    task('a', { assignee: 'ann', retries: 1 }),
    task('b', { assignee: 'ann', dependsOn: ['a'] }),
  ]);
  queue.add([task('c', { assignee: 'ann', priority: 5 })]);
  const earliest = () => queue.earliestUnstarted('ann')?.id;
  expect(earliest()).toBe('a');
  expect(start(queue)).toBe('c');
  expect(earliest()).toBe('a');
  startAll(queue);
  queue.fail('a', failed);
  expect(earliest()).toBe('b');
  queue.again('a');
  start(queue);
  queue.fail('a', failed);
  expect(earliest()).toBeUndefined();
  queue.add([task('d', { assignee: 'ann' })]);
  expect(earliest()).toBe('d');
  expect(queue.earliestUnstarted('bob')).toBeUndefined();
});

test('a task can be started by id, by another member than the queue would choose, and then stays with it', () => {
  const queue = new TaskQueue({ assignees: ['ann', 'bob'] });
  queue.add([task('a', { retries: 1 }), task('b')]);
  queue.start('a', 'bob');
  queue.fail('a', failed);
  queue.again('a');
  expect(queue.take((name) => (name === 'ann' ? 1 : 0))?.task.id).toBe('b');
  expect(queue.take((name) => (name === 'ann' ? 1 : 0))).toBeUndefined();
  expect(queue.take(always)).toMatchObject({ task: { id: 'a', attempts: 2 }, assignee: 'bob' });
  expect(queue.take(always)).toBeUndefined();
});

const wrongCalls: readonly (readonly [string, (queue: TaskQueue) => unknown])[] = [
  ['There is no task nobody in the queue.', (queue) => queue.complete('nobody', '')],
  ['There is no task nobody in the queue.', (queue) => queue.dependentsOf('nobody')],
  ['There is no task nobody in the queue.', (queue) => queue.dependenciesOf('nobody')],
  ['Task ready is ready, not running.', (queue) => queue.complete('ready', '')],
  ['Task ready is ready, not running.', (queue) => queue.fail('ready', failed)],
  ['Task ready is ready, not pending.', (queue) => queue.again('ready')],
  ['Task done is completed, not running.', (queue) => queue.complete('done', '')],
  ['Task done is completed, not pending or ready or running.', (queue) => queue.skip('done', aborted)],
  ['Task waits is waiting for its dependencies.', (queue) => queue.start('waits', null)],
  ['Task done is completed, not ready or pending.', (queue) => queue.start('done', null)],
  ['Task waits was never started: it is waiting for its dependencies.', (queue) => queue.again('waits')],
];

test.each(wrongCalls)('a misuse throws a defect and changes nothing: %s', (message, call) => {
  const queue = queueOf(task('done', { priority: 1 }), task('ready'), after('waits', 'ready'));
  start(queue);
  queue.complete('done', 'D');
  const before = JSON.stringify([...queue.tasks()]);
  expect(() => call(queue)).toThrow(new TypeError(message));
  expect(JSON.stringify([...queue.tasks()])).toBe(before);
});
