import { styleText } from 'node:util';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DrawableTask } from '#contracts';
import { finalGraphLines, graphLines } from '../../../src/headends/cli/shared/graph-lines.ts';
import { width as widthOf } from '../../../src/headends/cli/shared/sanitize-text.ts';
import { escape } from './driver.ts';

const statuses = ['running', 'failed', 'ready', 'blocked', 'pending', 'skipped', 'completed'] as const;
type GraphView = Parameters<typeof graphLines>[1];
const plain: GraphView = { width: 80, height: Infinity, paint: (_style, text) => text };
const painted: GraphView['paint'] = (style, text) => styleText(style, text, { validateStream: false });

const task = (id: string, changes: Partial<DrawableTask> = {}): DrawableTask => ({
  id,
  title: `Task ${id}`,
  assignee: 'worker',
  dependsOn: [],
  status: 'pending',
  ...changes,
});

const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        `${escape}[2J`,
        `${escape}]0;owned\u0007`,
        '\u009B31m',
        '\r',
        '\n',
        '\t',
        '\u202E',
        '\uD800',
        '界',
        '👩‍👩‍👧',
        'é',
        '❤️',
      ),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.lorem({ maxCount: 4 }),
    ),
    { maxLength: 10 },
  )
  .map((parts) => parts.join(''));

const graph: fc.Arbitrary<readonly DrawableTask[]> = fc
  .array(
    fc.record({
      title: hostileText,
      assignee: fc.option(hostileText),
      status: fc.constantFrom(...statuses),
      before: fc.array(fc.nat({ max: 40 }), { maxLength: 7 }),
      why: fc.option(hostileText),
    }),
    { maxLength: 30, size: 'max' },
  )
  .map((drafts) =>
    drafts.map(({ before, why, ...draft }, place) => ({
      ...draft,
      id: `t${place}`,
      dependsOn: before.map((far) => `t${far}`),
      reason: why === null ? null : { code: 'failed' as const, text: why },
    })),
  );

const views = fc.record({
  width: fc.integer({ min: 1, max: 130 }),
  height: fc.oneof(fc.integer({ min: 0, max: 35 }), fc.constant(Infinity)),
});
const drawings = { graphLines, finalGraphLines };
const colours = new RegExp(String.raw`${escape}\[\d+m`, 'gu');
const obeyed = /\p{Cc}|[\u202A-\u202E\u2066-\u2069]|\p{Cs}/u;

// invariants: graph-lines-fit, graph-lines-sanitized
test('no line is wider than the width, there are at most height lines, and no text controls the terminal', () => {
  fc.assert(
    fc.property(graph, views, fc.constantFrom(...Object.values(drawings)), (tasks, view, draw) => {
      const lines = draw(tasks, { ...view, paint: painted }).map((line) => line.replace(colours, ''));
      expect(lines).toEqual(draw(tasks, { ...view, paint: plain.paint }));
      expect(lines.length).toBeLessThanOrEqual(view.height);
      expect(lines.filter((line) => widthOf(line) > view.width)).toEqual([]);
      expect(lines.filter((line) => obeyed.test(line))).toEqual([]);
    }),
  );
});

test('every task has a line, or is counted in the last one', () => {
  fc.assert(
    fc.property(graph, views, fc.constantFrom(...Object.values(drawings)), (tasks, view, draw) => {
      const lines = draw(tasks, { ...plain, height: view.height, width: 200 });
      const isWhole = tasks.length <= view.height;
      expect(lines).toHaveLength(Math.min(tasks.length, view.height));
      const digits = isWhole || view.height === 0 ? [] : [...lines.at(-1)!.matchAll(/\d+/gu)];
      const counted = digits.reduce((sum, [number]) => sum + Number(number), isWhole ? 0 : -1);
      expect(view.height === 0 || lines.length + counted === tasks.length).toBe(true);
    }),
  );
});

test('tasks are listed layer by layer, each with its dependencies', () => {
  const tasks = [
    task('last', { dependsOn: ['b', 'c'] }),
    task('b', { dependsOn: ['a'], status: 'running' }),
    task('a', { status: 'completed', assignee: null }),
    task('c', { dependsOn: ['a', 'unknown', 'c'], status: 'ready' }),
    task('d', { dependsOn: ['a'], status: 'failed', reason: { code: 'failed', text: 'no answer' } }),
    task('e', { dependsOn: ['d'], status: 'blocked', reason: { code: 'dependency', text: 'd has failed' } }),
  ];
  expect(graphLines(tasks, plain)).toEqual([
    '✓ ─ Task a',
    '● ┌ Task b     worker',
    '○ │ Task c     worker',
    '✗ └ Task d     worker  no answer',
    '· ┌ Task last  worker  after Task b, Task c',
    '⊘ └ Task e     worker  d has failed',
  ]);
  expect(graphLines(tasks, { ...plain, width: 24 })).toEqual([
    '✓ ─ Task a',
    '● ┌ Task b',
    '○ │ Task c',
    '✗ └ Task d',
    '· ┌ Task last',
    '⊘ └ Task e',
  ]);
});

test('with little room running and failed tasks are shown first, then ready ones, and the rest is counted', () => {
  const tasks = statuses.toReversed().flatMap((status) => [1, 2, 3].map((at) => task(`${status} ${at}`, { status })));
  const shown = (height: number) => graphLines(tasks, { ...plain, height }).map((line) => line.slice(4).split('  ')[0]);
  expect(shown(8).slice(0, -1)).toEqual([
    'Task ready 1',
    'Task failed 1',
    'Task failed 2',
    'Task failed 3',
    'Task running 1',
    'Task running 2',
    'Task running 3',
  ]);
  const sums = (height: number) => graphLines(tasks, { ...plain, height }).at(-1);
  expect(sums(8)).toBe('… 2 ready, 3 blocked, 3 waiting, 3 skipped, 3 done');
  expect(sums(1)).toBe('… 3 running, 3 failed, 3 ready, 3 blocked, 3 waiting, 3 skipped, 3 done');
  expect(sums(21)).toBe('● └ Task running 3    worker');
});

test('a task with many dependencies names the first ones and counts all', () => {
  const before = Array.from({ length: 1200 }, (_, at) => task(String(at), { status: 'running' }));
  const gather = task('gather', { dependsOn: before.map(({ id }) => id), status: 'pending' });
  const done = task('done', { status: 'completed' });
  const [line] = graphLines([gather, ...before], { ...plain, width: 200 }).slice(-1);
  expect(line).toMatch(/after 1,200: Task 0, Task 1, Task 2, Task 3, Task 4, …$/u);
  expect(graphLines([done, task('x', { dependsOn: ['done'] })], plain).at(-1)).toBe('· ─ Task x     worker');
});

test('at the end each task has its status, and a reason unless it completed', () => {
  const reason = { code: 'budget', text: 'it would have cost more than there is' } as const;
  const tasks = [
    task('b', { status: 'skipped', reason, dependsOn: ['a'] }),
    task('a', { status: 'completed', reason, assignee: null }),
  ];
  expect(finalGraphLines(tasks, plain)).toEqual([
    '- skipped   Task b  worker  it would have cost more than there is',
    '✓ completed Task a',
  ]);
});

test('20,000 tasks in a chain, and tasks in a cycle, are shown', () => {
  const chain = Array.from({ length: 20_000 }, (_, at) =>
    task(String(at), { dependsOn: at === 0 ? [] : [String(at - 1)] }),
  );
  expect(graphLines(chain, { ...plain, height: 3 }).at(-1)).toBe('… 19,998 waiting');
  expect(graphLines(chain, plain).at(-1)).toContain('after Task 19998');
  const circle = [task('a', { dependsOn: ['b'] }), task('b', { dependsOn: ['a'] })];
  expect(graphLines(circle, plain)).toHaveLength(2);
});
