// Runs in planted copies: compares pairs of worlds in which another caller acts differently. Prints how many were tried.
//   <pairs> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { act, observeWorld, terms } from './serve-two-run.ts';

const [pairs = '', seed = ''] = process.argv.slice(2);
const acts = fc.array(act, { minLength: 2, maxLength: 8, size: 'max' });
const { failed, errorInstance, numRuns } = await fc.check(
  fc.asyncProperty(acts, fc.nat(), fc.nat(), terms, async (done, one, other, allowed) =>
    isDeepStrictEqual(await observeWorld(done, one, allowed), await observeWorld(done, other, allowed)),
  ),
  { numRuns: Number(pairs), seed: Number(seed), endOnFailure: true },
);
if (failed && errorInstance instanceof Error && !errorInstance.message.startsWith('Property failed'))
  throw errorInstance;
console.log(JSON.stringify({ pairs: numRuns, failed }));
process.exitCode = failed ? 3 : 0;
