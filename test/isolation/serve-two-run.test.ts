import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRuns } from '../test-seed.ts';
import { act, observeWorld, terms } from './serve-two-run.ts';

test('no byte that a caller gets, or that its model is shown, depends on what another caller does', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(act, { minLength: 2, maxLength: 8, size: 'max' }),
      fc.nat(),
      fc.nat(),
      terms,
      async (acts, one, other, allowed) => {
        expect(await observeWorld(acts, one, allowed)).toEqual(await observeWorld(acts, other, allowed));
      },
    ),
    { numRuns: testRuns(100) },
  ));
