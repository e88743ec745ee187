// Runs in planted copies: compares pairs of worlds in which another person in the channel acts differently. Prints how many were tried.
//   <pairs> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { observeSlack, slackAct } from './slack-two-run.ts';

const [pairs = '', seed = ''] = process.argv.slice(2);
const acts = fc.array(slackAct, { minLength: 2, maxLength: 8, size: 'max' });
const { failed, errorInstance, numRuns } = await fc.check(
  fc.asyncProperty(acts, fc.nat(), fc.nat(), async (done, one, other) =>
    isDeepStrictEqual(await observeSlack(done, one), await observeSlack(done, other)),
  ),
  { numRuns: Number(pairs), seed: Number(seed), endOnFailure: true },
);
if (failed && errorInstance instanceof Error && !errorInstance.message.startsWith('Property failed'))
  throw errorInstance;
console.log(JSON.stringify({ pairs: numRuns, failed }));
process.exitCode = failed ? 3 : 0;
