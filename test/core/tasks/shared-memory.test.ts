// What the coordinator gets at the end.
import { expect, test } from 'vitest';
import { SharedMemory } from '#core/tasks';

const filled = (): SharedMemory => {
  const memory = new SharedMemory();
  memory.write({ id: 'b', title: 'Second', assignee: 'bob', result: 'Two.\nLines.' });
  memory.write({ id: 'a', title: 'First', assignee: null, result: 'One.' });
  return memory;
};

const second = '### Second (by bob)\nTwo.\nLines.';
const first = '### First (by unknown)\nOne.';

test('every result is listed under its title and assignee, in the order written', () =>
  expect(filled().getSummary()).toBe(`${second}\n\n${first}`));

test.each([
  [{}, `${second}\n\n${first}`],
  [{ taskIds: undefined }, `${second}\n\n${first}`],
  [{ taskIds: ['a', 'b'] }, `${second}\n\n${first}`],
  [{ taskIds: ['a', 'a', 'nobody'] }, first],
  [{ taskIds: ['nobody'] }, ''],
  [{ taskIds: [] }, ''],
])('the filter %j returns only the tasks it names', (filter, summary) =>
  expect(filled().getSummary(filter)).toBe(summary),
);

test('an empty memory gives an empty summary', () => expect(new SharedMemory().getSummary()).toBe(''));

test('a task that is written again appears once, in its new position', () => {
  const memory = filled();
  memory.write({ id: 'b', title: 'Second', assignee: 'bob', result: 'New.' });
  expect(memory.getSummary()).toBe(`${first}\n\n### Second (by bob)\nNew.`);
});

test('a title or a name with line breaks stays on its line', () => {
  const memory = new SharedMemory();
  memory.write({ id: 'a', title: 'One\n### Two (by bob)\u2028', assignee: 'x\ry', result: 'R' });
  expect(memory.getSummary()).toBe('### One ### Two (by bob) (by x y)\nR');
});
