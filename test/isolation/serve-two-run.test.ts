import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRuns } from '../test-seed.ts';
import { act, observeWorld } from './serve-two-run.ts';

test('no byte that a caller gets, or that its model is shown, depends on what another caller does', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(act, { minLength: 2, maxLength: 8, size: 'max' }),
      fc.nat(),
      fc.nat(),
      async (acts, one, other) => {
        expect(await observeWorld(acts, one)).toEqual(await observeWorld(acts, other));
      },
    ),
    { numRuns: testRuns(100) },
  ));
