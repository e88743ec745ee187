// Every invalid list of tasks is rejected with a message; every valid one is parsed as intended.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { TaskSpec } from '#contracts';
import { checkTasks, parseTasks, TaskQueue } from '#core/tasks';
import type { KnownTasks } from '#core/tasks';

const task = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  title: `Do ${id}`,
  description: 'Do it.',
  ...more,
});
const after = (id: string, ...dependsOn: string[]) => ({ ...task(id), dependsOn });

const knownOf = (depths: Readonly<Record<string, number>>): KnownTasks => ({
  size: Object.keys(depths).length,
  has: (id) => Object.hasOwn(depths, id),
  keys: () => Object.keys(depths),
  depthOf: (id) => depths[id]!,
});

const check = (specs: unknown, limits: TaskLimits = {}, known = {}) => checkTasks(specs, knownOf(known), limits);

const keys = 'id, title, description, assignee, dependsOn, memoryScope, retries, priority, when';
const roster = { assignees: ['ann', 'bob'] };

type TaskLimits = Parameters<typeof checkTasks>[2];
type Case = readonly [problem: string, specs: unknown, limits?: TaskLimits];
const cases: readonly Case[] = [
  ['Tasks must be a list; got an object.', {}],
  ['Tasks must be a list; got null.', null],
  ['Tasks must be a list; got "a, b".', 'a, b'],
  ['The list of tasks is empty.', []],
  ['Task 1: it must be an object with a title and a description; got "a".', ['a']],
  ['Task 2: it must be an object with a title and a description; got a list.', [task('a'), []]],
  ['Task 2: it must be an object with a title and a description; got nothing.', [task('a'), ...Array(1), task('b')]],
  ['Task 1 (a): unknown key "dependson". Did you mean "dependsOn"?', [task('a', { dependson: [] })]],
  [`Task 1 (a): unknown key "x". Known keys: ${keys}.`, [task('a', { x: 1 })]],
  ['Task 1: title is missing.', [{ description: 'Do it.' }]],
  ['Task 1 ("  "): title is empty.', [{ title: '  ', description: 'Do it.' }]],
  ['Task 1: title must be a string; got 5.', [{ title: 5, description: 'Do it.' }]],
  ['Task 1 (a): title has 201 characters; at most 200 are allowed.', [task('a', { title: 'x'.repeat(201) })]],
  ['Task 1 (a): title must be on one line.', [task('a', { title: 'x\ny' })]],
  ['Task 1 (a): title must be on one line.', [task('a', { title: 'x\u2028y' })]],
  ['Task 1 ("Go"): description is missing.', [{ title: 'Go', description: null }]],
  ['Task 1 (a): description is empty.', [task('a', { description: '\n' })]],
  ['Task 1 (a): description must be a string; got a list.', [task('a', { description: ['x'] })]],
  [
    'Task 1 (a): description has 1000002 bytes; at most 1000000 are allowed.',
    [task('a', { description: 'é'.repeat(500_001) })],
  ],
  ['Task 1 ("Do x y"): id must be 1 to 80 letters, digits, ".", "_" or "-"; got "x y".', [task('x y')]],
  ['Task 1 ("Do "): id must be 1 to 80 letters, digits, ".", "_" or "-"; got "".', [task('')]],
  ['Task 1 ("Go"): id must be a string (quote it in YAML); got 7.', [{ id: 7, title: 'Go', description: 'Do it.' }]],
  ['Task 2 (a): task 1 also has the id "a".', [task('a'), task('a')]],
  ['Task 1 (old): a task with the id "old" already exists.', [task('old')]],
  [
    'Task 2 (b): it depends on "gather-fact", which does not exist. Did you mean "gather-facts"?',
    [task('gather-facts'), after('b', 'gather-fact')],
  ],
  [
    'Task 2 (b): it depends on "Gather facts!", which does not exist. Did you mean "gather-facts"?',
    [task('gather-facts'), after('b', 'Gather facts!')],
  ],
  ['Task 1 (b): it depends on "x", which does not exist.', [after('b', 'x')]],
  ['Task 1 (b): it depends on "odl", which does not exist. Did you mean "old"?', [after('b', 'odl')]],
  ['Task 1 (a): it depends on itself.', [after('a', 'a')]],
  ['Task 2 (b): dependsOn names "a" twice.', [task('a'), after('b', 'a', 'a')]],
  ['Task 1 (a): dependsOn must be a list of ids; got "b".', [task('a', { dependsOn: 'b' }), task('b')]],
  ['Task 1 (a): dependsOn must name tasks by id; got 3.', [task('a', { dependsOn: [3] })]],
  ['Tasks depend on each other in a cycle, each on the next: a → b → a.', [after('a', 'b'), after('b', 'a')]],
  [
    'Tasks depend on each other in a cycle, each on the next: a → c → b → a.',
    [after('x', 'b'), after('a', 'c'), after('b', 'y', 'a'), after('c', 'b'), task('y'), after('z', 'x')],
  ],
  [
    'Task 1 (a): there is no member "bbo". Did you mean "bob"? Members: ann, bob.',
    [task('a', { assignee: 'bbo' })],
    roster,
  ],
  ['Task 1 (a): there is no member "zoe". Members: ann, bob.', [task('a', { assignee: 'zoe' })], roster],
  ['Task 1 (a): assignee must be a name; got 1.', [task('a', { assignee: 1 })]],
  ['Task 1 (a): assignee is empty.', [task('a', { assignee: '' })]],
  ['There is no member to assign a task to.', [task('a')], { assignees: [] }],
  ['Task 1 (a): memoryScope must be "dependencies" or "all"; got "none".', [task('a', { memoryScope: 'none' })]],
  [
    'Task 1 (a): memoryScope "all" is not allowed here; name what it needs in dependsOn.',
    [task('a', { memoryScope: 'all' })],
    { allowAll: false },
  ],
  ...[-1, Number.NaN, 11, 1.5, '1', Infinity].map((retries): Case => [
    `Task 1 (a): retries must be a whole number from 0 to 10; got ${typeof retries === 'string' ? '"1"' : retries}.`,
    [task('a', { retries })],
  ]),
  ...[Number.NaN, -Infinity, true].map((priority): Case => [
    `Task 1 (a): priority must be a number; got ${priority}.`,
    [task('a', { priority })],
  ]),
  [
    'Task 2 (b): when.task "a" must also be listed in dependsOn.',
    [task('a'), task('b', { when: { task: 'a', is: 'yes' } })],
  ],
  ...(
    [
      ['when must have either "is" or "not"; it has neither.', { task: 'a' }],
      ['when must have either "is" or "not"; it has both.', { task: 'a', is: 'x', not: 'y' }],
      ['when must be an object with "task" and either "is" or "not"; got "a".', 'a'],
      ['when.task must be the id of a task; got nothing.', { is: 'x' }],
      ['when has an unknown key "isnt". Known keys: task, is, not.', { task: 'a', not: 'x', isnt: 'y' }],
      ...[[], '', ['x', ' '], 3, 'x'.repeat(201), 'x\ny'].map(
        (is) =>
          [
            `when.is must be a word or a list of words of at most 200 characters; got ${
              Array.isArray(is) ? 'a list' : JSON.stringify(is).replace(/x{59,}"/u, `${'x'.repeat(59)}…"`)
            }.`,
            { task: 'a', is },
          ] as const,
      ),
    ] as const
  ).map(([problem, when]): Case => [`Task 2 (b): ${problem}`, [task('a'), task('b', { dependsOn: ['a'], when })]]),
  ['The list has 2 tasks, plus 1 existing; at most 2 are allowed.', [task('a'), task('b')], { tasksMax: 2 }],
  [
    'The longest chain of dependent tasks has 3 tasks and ends with "c"; at most 2 are allowed. Let more tasks run in parallel.',
    [task('a'), after('b', 'a'), after('c', 'b', 'a')],
    { depthMax: 2 },
  ],
  [
    'The longest chain of dependent tasks has 3 tasks and ends with "b"; at most 2 are allowed. Let more tasks run in parallel.',
    [after('a', 'old'), after('b', 'a')],
    { depthMax: 2 },
  ],
];

test.each(cases)('%s', (problem, specs, limits) =>
  expect(check(specs, limits as TaskLimits | undefined, { old: 1 })).toEqual([problem]),
);

test('lists at the maximum depth and length are accepted', () => {
  expect(check([after('a', 'old'), after('b', 'a')], { depthMax: 3, tasksMax: 3 }, { old: 1 })).toEqual([]);
  expect(check([task('a', { description: 'é'.repeat(500_000), title: 'x'.repeat(200), retries: 10 })])).toEqual([]);
  expect(check([task('x'.repeat(80), { memoryScope: 'all', priority: -2.5 })])).toEqual([]);
});

test('ten problems are listed, and the number of the others', () => {
  const bad = (count: number) => check(Array.from({ length: count }, (_, place) => task(`t${place}`, { retries: -1 })));
  expect(bad(10)).toHaveLength(10);
  expect(bad(11)).toHaveLength(11);
  expect(bad(11).at(-1)).toBe('There is 1 more problem.');
  expect(bad(1_000).at(-1)).toBe('There are 990 more problems.');
});

test('each of several cycles is reported', () => {
  const problems = check([after('a', 'b'), after('b', 'a'), after('c', 'a', 'd'), after('d', 'e'), after('e', 'd')]);
  expect(problems.map((problem) => problem.replace(/.*: /u, ''))).toEqual(['a → b → a.', 'd → e → d.']);
});

// invariants: tasks-check-linear, graph-linear
test('a cycle of fifty thousand tasks is reported in a short message', () => {
  const size = 50_000;
  const [problem, ...others] = check(
    Array.from({ length: size }, (_, place) => after(`t${place}`, `t${(place + 1) % size}`)),
  );
  expect(others).toEqual([]);
  expect(problem).toMatch(/: t0 → t1 → .* → t18 → … 49980 more … → t49999 → t0\.$/u);
});

// invariant: tasks-check-linear
test('ten thousand wrong dependencies are reported in a short message', () => {
  const problems = check(
    Array.from({ length: 10_000 }, (_, place) => after(`task-number-${place}`, `task-numbr-${place}`)),
  );
  expect(problems).toHaveLength(11);
  expect(problems[3]).toContain('Did you mean "task-number-3"?');
});

// invariant: tasks-given-id-stays
test('missing ids are derived from the titles, and given ones are kept', () => {
  const titles = ['Gather facts', 'Gather  Facts!', 'Étude № 2', '日本', '…', 'x '.repeat(60), `${'y'.repeat(39)} z`];
  const specs = [
    { id: 'gather-facts-2', title: 'Mine', description: 'Do it.' },
    ...titles.map((title) => ({ title, description: 'Do it.' })),
  ];
  expect(parseTasks(specs, knownOf({ 'task-2': 1 })).map(({ id }) => id)).toEqual([
    'gather-facts-2',
    'gather-facts',
    'gather-facts-3',
    'etude-no-2',
    'task',
    'task-3',
    'x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x',
    'y'.repeat(39),
  ]);
});

test('a task may depend on one whose id is derived from its title', () => {
  const queue = new TaskQueue();
  queue.add([{ title: 'Gather facts', description: 'Do it.' }]);
  queue.add([{ title: 'Gather facts', description: 'Do it.', dependsOn: ['gather-facts'] }]);
  expect(queue.dependenciesOf('gather-facts-2').map(({ id }) => id)).toEqual(['gather-facts']);
});

test('null counts as omitted', () => {
  const nothing = {
    id: null,
    assignee: null,
    dependsOn: null,
    memoryScope: null,
    retries: null,
    priority: null,
    when: null,
  };
  expect(parseTasks([{ ...nothing, title: 'Go', description: 'Do it.' }])).toEqual([
    { id: 'go', title: 'Go', description: 'Do it.', dependsOn: [] },
  ]);
});

test('the parsed list is read-only, and independent of the given one', () => {
  const given = { ...after('b', 'a', 'x'), when: { task: 'a', is: ['yes'] } };
  const [, read, one] = parseTasks([task('a'), given, after('x', 'a')]);
  given.dependsOn.push('c');
  given.when.is.push('no');
  expect(read).toEqual({ ...after('b', 'a', 'x'), when: { task: 'a', is: ['yes'] } });
  for (const part of [read, read!.dependsOn, read!.when, read!.when!.is, one!.dependsOn])
    expect(Object.isFrozen(part)).toBe(true);
});

test('a list with problems throws with all of them', () => {
  const bad = [after('a', 'a'), task('b', { retries: -1 })];
  const expected = new CloisterError('tasks_invalid', check(bad).join('\n'));
  expect(check(bad)).toHaveLength(2);
  expect(() => parseTasks(bad)).toThrow(expected);
  expect(() => new TaskQueue().add(bad as readonly TaskSpec[])).toThrow(expected);
});

const oddValue = fc.oneof(
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom('a', 'b', '__proto__', 'constructor', ['a'], ['a', 'b'], { task: 'a', is: 'x' }, 'all', 3),
);
const oddTask = fc.oneof(
  { weight: 1, arbitrary: oddValue },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom('a', 'b', 'c', '__proto__'),
        fc.dictionary(fc.constantFrom(...keys.split(', '), 'more'), oddValue, { maxKeys: 2 }),
      )
      .map(([id, more]) => ({ ...task(id), ...more })),
  },
);

test('any values give either problems or a list that a queue accepts', () =>
  fc.assert(
    fc.property(fc.array(oddTask, { maxLength: 5 }), (specs) => {
      const problems = checkTasks(specs);
      for (const problem of problems) expect(problem.length).toBeLessThan(1_000);
      if (problems.length === 0) expect(new TaskQueue().add(specs as readonly TaskSpec[])).toHaveLength(specs.length);
      else expect(() => new TaskQueue().add(specs as readonly TaskSpec[])).toThrow(CloisterError);
    }),
    { numRuns: 500 },
  ));

test('a random graph is rejected exactly when it has a cycle, and the reported path is one', () =>
  fc.assert(
    fc.property(fc.array(fc.uniqueArray(fc.nat(9), { maxLength: 2 }), { minLength: 10, maxLength: 10 }), (edges) => {
      const specs = edges.map((to, from) => after(`${from}`, ...to.filter((one) => one !== from).map(String)));
      const reach = (from: string, seen = new Set<string>()): Set<string> => {
        for (const next of specs[Number(from)]!.dependsOn) if (!seen.has(next)) reach(next, seen.add(next));
        return seen;
      };
      const problems = checkTasks(specs);
      expect(problems.length > 0).toBe(specs.some(({ id }) => reach(id).has(id)));
      for (const problem of problems) {
        const path = problem.replace(/^.*: |\.$/gu, '').split(' → ');
        expect(path[0]).toBe(path.at(-1));
        path.slice(1).forEach((to, place) => expect(specs[Number(path[place])]!.dependsOn).toContain(to));
      }
    }),
    { numRuns: 300 },
  ));
