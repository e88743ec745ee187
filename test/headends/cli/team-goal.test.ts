import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TeamGoal } from '#contracts';
import { goalWords, plansOnly } from '../../../src/headends/cli/team-goal.ts';

const task = { title: 'A', description: 'x' };
const goalOf = (said: string | null, tasks: number | null, planOnly = false): TeamGoal => ({
  goal: said,
  tasks: tasks === null ? null : Array.from({ length: tasks }, () => task),
  answer: true,
  ...(planOnly ? { planOnly } : {}),
});

test('what a team was asked is its goal, its number of tasks, or both', () => {
  expect(goalWords(JSON.stringify(goalOf('Bees "and" ants', null)))).toBe('Bees "and" ants');
  expect(goalWords(JSON.stringify(goalOf(null, 2)))).toBe('2 tasks');
  expect(goalWords(JSON.stringify(goalOf('Bees', 1)))).toBe('Bees (1 task)');
});

test('of a goal that was cut anywhere, the words are the beginning of what was asked', () =>
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), fc.nat({ max: 100 }), (said, left) => {
      const whole = JSON.stringify(goalOf(said.toWellFormed(), 3));
      const start = '{"goal":"'.length;
      const cut = whole.slice(0, start + (left % (whole.length - start)));
      expect(
        said.toWellFormed().startsWith(
          goalWords(cut)
            .toWellFormed()
            .replace(/\uFFFD$/u, ''),
        ),
      ).toBe(true);
    }),
  ));

test('any other goal stays as it is, whatever it looks like', () =>
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.json(), fc.constantFrom('{"goal":1}', '{"goal":{}}', '{"goal":"x"}')),
      (text) => {
        expect(goalWords(text)).toBe(text);
      },
    ),
  ));

test('whether only a plan was asked for cannot be said by the words of a goal', () =>
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.constant('","planOnly":true}'), fc.constant('"planOnly":true}')),
      fc.boolean(),
      (said, planOnly) => {
        expect(plansOnly(JSON.stringify(goalOf(said, null, planOnly)))).toBe(planOnly);
      },
    ),
  ));
