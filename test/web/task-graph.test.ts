// A team's run as a graph.
import { expect, test } from 'vitest';
import { depthsOf, nodeFigures, taskGraphOf, taskSentence } from '../../web/src/panes/task-graph.ts';
import { nodeInDirection } from '../../web/src/panes/graph-moves.ts';
import { crossed, ended, started, viewOf } from './view.ts';
import type { Given } from './view.ts';

const task = (id: string, status: string, more: object = {}): Given => ({
  type: 'task',
  task: id,
  title: id.toUpperCase(),
  assignee: `for-${id}`,
  dependsOn: [],
  status,
  attempt: 1,
  reason: null,
  ...more,
});

const childStart = (child: string): Given => ({
  type: 'child-start',
  child,
  childAgent: child,
  tool: child,
  op: 1,
});

const run = (id: string, cell: string, more: object = {}): readonly Given[] => [
  started(cell, 'root', { goal: `# Task: ${id}` }),
  childStart(cell),
  crossed('goal', 'root', cell, 50, { grant: 'goal' }),
  task(id, 'running', more),
];

const finish = (id: string, cell: string, bytes: number, more: object = {}): readonly Given[] => [
  crossed('result', cell, 'root', bytes),
  ended(cell),
  task(id, 'completed', more),
];

const dependsOn = { dependsOn: ['facts'] };

/** As a team with a coordinator records it: a plan, two tasks at once, one that depends on the first, and the answer. */
const planned: readonly Given[] = [
  started('root', null, { team: { goal: 'g', tasks: null } }),
  started('plan', 'root', { agent: 'editor' }),
  ended('plan'),
  task('facts', 'ready'),
  task('licence', 'ready'),
  task('page', 'pending', dependsOn),
];

const done: readonly Given[] = [
  ...planned,
  ...run('facts', 'c1'),
  ...run('licence', 'c2'),
  ...finish('licence', 'c2', 114),
  ...finish('facts', 'c1', 227),
  started('c3', 'root', { goal: '# Task: page' }),
  childStart('c3'),
  crossed('goal', 'root', 'c3', 57),
  crossed('dependency', 'root', 'c3', 234, { grant: 'dependencies' }),
  task('page', 'running', dependsOn),
  ...finish('page', 'c3', 163, dependsOn),
  started('answer', 'root', { agent: 'editor' }),
  crossed('dependency', 'root', 'answer', 234, { grant: 'all' }),
  crossed('dependency', 'root', 'answer', 115, { grant: 'all' }),
  crossed('dependency', 'root', 'answer', 158, { grant: 'all' }),
  crossed('result', 'answer', 'root', 136),
  ended('answer'),
];

const edgesOf = (events: readonly Given[]) =>
  taskGraphOf(viewOf(events), []).edges.map(({ from, to, crossing }) => `${from} > ${to} ${crossing?.bytes ?? '-'}`);

test('tasks stand in columns by depth, between the team and its answer', () => {
  const { nodes, columns } = taskGraphOf(viewOf(done), []);
  expect(nodes.map(({ id, column }) => `${id} ${column}`)).toEqual([
    'team 0',
    'task facts 1',
    'task licence 1',
    'task page 2',
    'answer 3',
  ]);
  expect(columns).toEqual(['Team', 'At once', 'After FACTS', 'Answer']);
  expect(nodes[0]).toMatchObject({ title: 'root', who: 'plan by editor', status: 'completed' });
});

test('a line to a task begins where its content comes from: the team, or the task it depends on, never the plan', () => {
  expect(edgesOf(done)).toEqual([
    'team > task facts 50',
    'team > task licence 50',
    'team > task page 57',
    'task facts > task page 234',
    'task facts > answer 234',
    'task licence > answer 115',
    'task page > answer 158',
  ]);
});

test('what has not crossed yet is a line without a size', () => {
  expect(edgesOf(planned)).toContain('task facts > task page -');
  expect(taskGraphOf(viewOf(planned), []).nodes.at(-1)).toMatchObject({
    id: 'answer',
    status: 'pending',
    who: 'editor',
  });
});

test('a task that may see everything has lines from what was done before it started, and from nothing else', () => {
  const events = [
    ...planned.slice(0, 3),
    task('a', 'ready'),
    task('b', 'ready'),
    task('c', 'pending', { dependsOn: ['a'] }),
    ...run('a', 'ca'),
    ...run('b', 'cb'),
    ...finish('a', 'ca', 1),
    started('cc', 'root', { goal: '# Task: c' }),
    childStart('cc'),
    crossed('dependency', 'root', 'cc', 9, { grant: 'all' }),
    task('c', 'running', { dependsOn: ['a'] }),
    ...finish('b', 'cb', 2),
  ];
  expect(edgesOf(events).filter((line) => line.includes('> task c '))).toEqual([
    'team > task c -',
    'task a > task c 9',
  ]);
});

test('a team without a coordinator has no answer of its own', () => {
  const events = [started('root', null), task('a', 'ready'), ...run('a', 'ca')];
  expect(taskGraphOf(viewOf(events), []).nodes.map(({ id }) => id)).toEqual(['team', 'task a']);
});

test('an earlier attempt at a task is not taken for the answer', () => {
  const events = [...planned, ...run('facts', 'c1'), ended('c1', { status: 'failed' }), ...run('facts', 'c9')];
  const { nodes } = taskGraphOf(viewOf(events), []);
  expect(nodes.find(({ id }) => id === 'answer')?.cell).toBeNull();
  expect(nodes.find(({ id }) => id === 'task facts')?.cell?.cell).toBe('c9');
});

test('a run without tasks has no graph', () => {
  expect(taskGraphOf(viewOf([started('root', null)]), []).nodes).toEqual([]);
});

test('a damaged list of tasks, with a circle or an unknown name, still has depths', () => {
  const depths = depthsOf([
    { id: 'a', dependsOn: ['b', 'gone'] },
    { id: 'b', dependsOn: ['a'] },
    { id: 'c', dependsOn: ['c'] },
  ]);
  expect([...depths.values()].every((depth) => depth >= 0 && depth < 3)).toBe(true);
  expect(depths.size).toBe(3);
});

test('a box says how long its task took and how much came out, or how it stands', () => {
  const { nodes } = taskGraphOf(viewOf(done), []);
  expect(nodeFigures(nodes[1]!, 0)).toMatch(/^\d+ ms, 227 B$/u);
  expect(
    nodeFigures({ ...nodes[1]!, status: 'running', cell: { ...nodes[1]!.cell!, endedAt: null, spentMs: null } }, 2006),
  ).toBe('Working, 2.0 s');
  expect(nodeFigures({ ...nodes[1]!, status: 'blocked', cell: null }, 0)).toBe('Blocked');
});

test('the sentence counts the tasks by their states', () => {
  expect(taskSentence(viewOf(done).tasks.values())).toBe('3 tasks, 3 done.');
  expect(taskSentence(viewOf(planned).tasks.values())).toBe('3 tasks, 1 waiting, 2 ready.');
});

test('arrow keys go to the nearest box in their direction, and stay where there is none', () => {
  const box = (id: string, column: number, y: number) => ({ id, column, x: column * 200, y, width: 100, height: 50 });
  const nodes = [box('a', 0, 50), box('b', 1, 0), box('c', 1, 60), box('d', 3, 0)];
  expect(nodeInDirection(nodes, 'a', 'ArrowRight')).toBe('c');
  expect(nodeInDirection(nodes, 'c', 'ArrowUp')).toBe('b');
  expect(nodeInDirection(nodes, 'c', 'ArrowRight')).toBe('d');
  expect(nodeInDirection(nodes, 'd', 'ArrowLeft')).toBe('b');
  expect(nodeInDirection(nodes, 'd', 'ArrowRight')).toBeUndefined();
  expect(nodeInDirection(nodes, 'gone', 'ArrowRight')).toBe('a');
});
