// A hundred thousand tasks in the shapes that break recursion and quadratic lists.
import { expect, test } from 'vitest';
import type { TaskSpec } from '#contracts';
import { TaskQueue } from '#core/tasks';

const size = 100_000;
const ids = Array.from({ length: size }, (_, place) => `t${place}`);
const last = size - 1;

const shapes: readonly (readonly [name: string, dependsOn: (place: number) => readonly string[]])[] = [
  ['a chain', (place) => (place === 0 ? [] : [ids[place - 1]!])],
  ['a fan-out with a final task', (place) => (place === 0 ? [] : place === last ? ids.slice(1, last) : [ids[0]!])],
  ['a ladder of diamonds', (place) => ids.slice(Math.max(0, place - 2 - (place % 2)), place - (place % 2))],
];

const queueOf = (dependsOn: (place: number) => readonly string[], turned = false): TaskQueue => {
  const specs = ids.map((id, place): TaskSpec => ({
    id,
    title: `Task ${place}`,
    description: 'Do it.',
    assignee: 'ann',
    dependsOn: dependsOn(place),
  }));
  const queue = new TaskQueue({ assignees: ['ann', 'bob'] });
  queue.add(turned ? specs.reverse() : specs);
  return queue;
};

const always = (): number => 1;

// invariants: queue-linear, graph-linear
test.each(shapes)('%s is completed from end to end', (_name, dependsOn) => {
  const queue = queueOf(dependsOn);
  let mailed = 0;
  for (let taken = queue.take(always); taken !== undefined; taken = queue.take(always)) {
    if (queue.earliestUnstarted('ann') !== undefined) mailed++;
    queue.complete(taken.task.id, 'done');
  }
  expect(queue.counts().completed).toBe(size);
  expect(queue.isDone).toBe(true);
  expect(mailed).toBe(last);
});

// invariant: queue-linear
test.each(shapes)('%s that fails at the root is blocked from end to end', (_name, dependsOn) => {
  const queue = queueOf((place) => (place === 1 ? [ids[0]!] : dependsOn(place)), true);
  queue.take(always);
  queue.fail(ids[0]!, { code: 'failed', text: 'No.' });
  expect(queue.counts()).toMatchObject({ failed: 1, blocked: last });
  expect(queue.isDone).toBe(true);
  expect(queue.get(ids[last]!)?.reason).toMatchObject({ code: 'dependency', task: 't0' });
  expect(queue.earliestUnstarted('ann')).toBeUndefined();
});

test('a chain of conditions is skipped from end to end', () => {
  const queue = new TaskQueue();
  queue.add([
    { id: 't0', title: 'Decide', description: 'Decide.' },
    { id: 't1', title: 'Go', description: 'Go.', dependsOn: ['t0'], when: { task: 't0', is: 'go' } },
    ...ids.slice(2).map((id, place) => ({ id, title: 'Go', description: 'Go.', dependsOn: [ids[place + 1]!] })),
  ]);
  queue.take(always);
  queue.complete('t0', 'stop');
  expect(queue.counts()).toMatchObject({ completed: 1, skipped: last });
});

test('tasks with the same title, added one by one, get different ids', () => {
  const queue = new TaskQueue();
  for (let count = 0; count < 10_000; count++) queue.add([{ title: 'Same', description: 'Do it.' }]);
  expect(queue.get('same-10000')?.order).toBe(9_999);
});
