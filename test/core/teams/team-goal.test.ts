import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTeamGoal, describeTeamGoal } from '#base';
import type { TeamGoal } from '#contracts';

const task = { title: 'A', description: 'x' };
const goalOf = (text: string | null, tasks: number | null, planOnly = false): TeamGoal => ({
  goal: text,
  tasks: tasks === null ? null : Array.from({ length: tasks }, () => task),
  answer: true,
  ...(planOnly ? { planOnly } : {}),
});
const wordsOf = (goal: TeamGoal): string => describeTeamGoal(readTeamGoal(JSON.stringify(goal)));

test('a team’s goal text is its goal, its number of tasks, or both', () => {
  expect(wordsOf(goalOf('Bees "and" ants', null))).toBe('Bees "and" ants');
  expect(wordsOf(goalOf(null, 2))).toBe('2 tasks');
  expect(wordsOf(goalOf('Bees', 1))).toBe('Bees (1 task)');
});

test('the text of a goal cannot pass for a plan-only request', () =>
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.constant('","planOnly":true}'), fc.constant('"planOnly":true}')),
      fc.boolean(),
      (text, planOnly) => {
        expect(readTeamGoal(JSON.stringify(goalOf(text, null, planOnly)))).toEqual({
          goal: text,
          tasks: null,
          planOnly,
        });
      },
    ),
  ));
