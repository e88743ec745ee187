// The patterns, run on a queue: which results each task sees, and which tasks are skipped.
import { expect, test } from 'vitest';
import type { TaskSpec } from '#contracts';
import { patterns, TaskQueue } from '#core/tasks';

const { debate, fanOut, mapOver, reviewUntil, route, sequence } = patterns;

const task = (title: string, more: Partial<TaskSpec> = {}): TaskSpec => ({ title, description: `${title}.`, ...more });

const graphOf = (specs: readonly TaskSpec[]): Record<string, readonly string[]> =>
  Object.fromEntries(specs.map(({ id, dependsOn }) => [id, dependsOn ?? []]));

/** The tasks that were done, in order, when each gives the answer of `answerOf`. */
const done = (specs: readonly TaskSpec[], answerOf: (id: string) => string = () => 'ok'): readonly string[] => {
  const queue = new TaskQueue();
  queue.add(specs);
  const ids: string[] = [];
  for (let taken = queue.take(() => 1); taken !== undefined; taken = queue.take(() => 1)) {
    ids.push(taken.task.id);
    queue.complete(taken.task.id, answerOf(taken.task.id));
  }
  expect(queue.isDone).toBe(true);
  expect(queue.counts().completed + queue.counts().skipped).toBe(queue.size);
  return ids;
};

// invariants: pattern-ids-fixed, pattern-adds-dependencies
test('in a sequence each step sees the previous one', () => {
  expect(graphOf(sequence([task('A'), task('B', { id: 'mine', dependsOn: ['else'] }), task('C')]))).toEqual({
    'step-1': [],
    mine: ['else', 'step-1'],
    'step-3': ['mine'],
  });
});

test('a fan-out collects all its parts', () =>
  expect(graphOf(fanOut([task('A'), task('B')], task('All', { assignee: 'x' })))).toEqual({
    'part-1': [],
    'part-2': [],
    gather: ['part-1', 'part-2'],
  }));

// invariant: pattern-ids-fixed
test('a map creates one task for each item', () => {
  const make = (item: string, index: number) => task(`${item}${index}`);
  expect(mapOver(['x', 'y'], make)).toEqual([
    { id: 'item-1', title: 'x0', description: 'x0.' },
    { id: 'item-2', title: 'y1', description: 'y1.' },
  ]);
  expect(graphOf(mapOver(['x'], make, task('All'), { prefix: 'my' }))).toEqual({
    'my-item-1': [],
    'my-gather': ['my-item-1'],
  });
});

const talk = {
  motion: 'Cats rule',
  sides: [{ assignee: 'ann' }, { assignee: 'bob', stance: 'Dogs rule' }],
  judge: { assignee: 'cyd' },
} as const;

test('in a debate each side sees only the other’s last speech, and the judge sees all', () => {
  const specs = debate({ ...talk, rounds: 3, prefix: 'd' });
  expect(graphOf(specs)).toEqual({
    'd-round-1-a': [],
    'd-round-1-b': [],
    'd-round-2-a': ['d-round-1-b'],
    'd-round-2-b': ['d-round-1-a'],
    'd-round-3-a': ['d-round-2-b'],
    'd-round-3-b': ['d-round-2-a'],
    'd-verdict': [1, 2, 3].flatMap((round) => [`d-round-${round}-a`, `d-round-${round}-b`]),
  });
  expect(specs.map(({ assignee }) => assignee)).toEqual(['ann', 'bob', 'ann', 'bob', 'ann', 'bob', 'cyd']);
  expect(specs[0]?.description).toContain('for the motion');
  expect(specs[3]?.description).toContain('Dogs rule');
  for (const { description } of specs) expect(description).toContain('Cats rule');
  expect(done(specs)).toHaveLength(7);
});

const review = {
  draft: task('Write', { dependsOn: ['facts'] }),
  review: task('Review', { dependsOn: ['facts'] }),
  rounds: 3,
};
const reviewed = (more: object = {}) => [task('Facts', { id: 'facts' }), ...reviewUntil({ ...review, ...more })];

test('a new draft sees the previous one and its review', () =>
  expect(graphOf(reviewUntil(review))).toEqual({
    'draft-1': ['facts'],
    'review-1': ['facts', 'draft-1'],
    'draft-2': ['facts', 'draft-1', 'review-1'],
    'review-2': ['facts', 'draft-2', 'review-1'],
    'draft-3': ['facts', 'draft-2', 'review-2'],
    'review-3': ['facts', 'draft-3', 'review-2'],
  }));

const all = ['draft-1', 'review-1', 'draft-2', 'review-2', 'draft-3', 'review-3'];

test.each([
  ['review-1', all.slice(0, 2)],
  ['review-2', all.slice(0, 4)],
  ['review-3', all],
  ['no review', all],
])('when %s accepts, no further draft is written', (accepting, expected) =>
  expect(done(reviewed(), (id) => (id === accepting ? 'Accepted!' : 'Change it.'))).toEqual(['facts', ...expected]),
);

test('a review accepts with the given words, and its prompt names the first', () => {
  const specs = reviewed({ accept: ['fine', 'good'] });
  expect(specs[2]?.description).toContain('begin your answer with "fine"');
  expect(done(specs, (id) => (id === 'review-1' ? '**Good**' : 'accepted'))).toHaveLength(3);
});

test('a given id is extended by the round', () =>
  expect(Object.keys(graphOf(reviewUntil({ ...review, draft: task('W', { id: 'w' }), rounds: 2 })))).toEqual([
    'w-1',
    'review-1',
    'w-2',
    'review-2',
  ]));

const routes = {
  router: task('Choose'),
  routes: [
    { name: 'bug', about: 'something is broken', ...task('Fix') },
    { name: 'bug-report', ...task('File') },
    { name: 'Other', ...task('Reply') },
  ],
  answer: task('Answer'),
};

test('a router’s prompt lists the choices', () =>
  expect(route(routes)[0]?.description).toMatch(
    /^Choose\.\n\n.*\n- bug: something is broken\n- bug-report: File\n- Other: Reply$/u,
  ));

test.each([
  ['bug', ['router', 'route-bug', 'answer']],
  ['Bug-report\nbecause', ['router', 'route-bug-report', 'answer']],
  ['**other**', ['router', 'route-Other', 'answer']],
  ['I cannot choose', ['router']],
])('the choice %j is followed', (routerAnswer, expected) => {
  expect(done(route(routes), (id) => (id === 'router' ? routerAnswer : 'ok'))).toEqual(expected);
  expect(graphOf(route(routes))['answer']).toEqual(['route-bug', 'route-bug-report', 'route-Other']);
});

const name =
  (...names: readonly string[]) =>
  () =>
    route({ ...routes, routes: names.map((one) => ({ name: one, ...task('X') })) });

test.each([
  ['A sequence needs at least one step.', () => sequence([])],
  ['A fan-out needs at least one part.', () => fanOut([], task('All'))],
  ['mapOver needs at least one item.', () => mapOver([], () => task('A'))],
  ['rounds must be a whole number from 1 to 20; got 0.', () => reviewUntil({ ...review, rounds: 0 })],
  ['rounds must be a whole number from 1 to 20; got 21.', () => reviewUntil({ ...review, rounds: 21 })],
  ['rounds must be a whole number from 1 to 20; got 1.5.', () => debate({ ...talk, rounds: 1.5 })],
  ['The motion of the debate is empty.', () => debate({ ...talk, motion: ' ', rounds: 1 })],
  ['A debate needs exactly two sides.', () => debate({ ...talk, sides: [{ assignee: 'ann' }] as never, rounds: 1 })],
  ['accept needs at least one word.', () => reviewUntil({ ...review, accept: [] })],
  ['accept contains an empty word.', () => reviewUntil({ ...review, accept: '' })],
  ['A router needs at least one route.', name()],
  ['Two routes are named BUG.', name('bug', 'BUG')],
  ['A route name must be one word of at most 40 letters, digits, "_" and "-"; got "a b".', name('a b')],
  ['Task step-1: title and description must be strings.', () => sequence([{ title: 'A' } as TaskSpec])],
])('rejected: %s', (problem, make) =>
  expect(make).toThrow(expect.objectContaining({ failure: { code: 'tasks_invalid', detail: problem } })),
);
