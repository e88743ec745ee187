import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRuns } from '../test-seed.ts';
import { observeSlack, slackAct } from './slack-two-run.ts';

test('no byte that a person in Slack is shown, or that its model is, depends on what another person in the channel does', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(slackAct, { minLength: 2, maxLength: 8, size: 'max' }),
      fc.nat(),
      fc.nat(),
      async (acts, one, other) => {
        expect(await observeSlack(acts, one)).toEqual(await observeSlack(acts, other));
      },
    ),
    { numRuns: testRuns(60) },
  ));
