import fc from 'fast-check';
import { expect, test } from 'vitest';
import { act, watch } from './serve-two-run.ts';

test('no byte that a caller gets, or that its model is shown, depends on what another caller does', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(act, { minLength: 2, maxLength: 8, size: 'max' }),
      fc.nat(),
      fc.nat(),
      async (acts, one, other) => {
        expect(await watch(acts, one)).toEqual(await watch(acts, other));
      },
    ),
    { numRuns: 100 },
  ));
