// How a run ended, for protocols that have an answer or an error.
import { CloisterError } from '#base';
import type { RunOutcome, ServedRun } from '#contracts';

/** `whole`: else something kept it from being finished, and this is a part of it. */
export type Answer = { readonly text: string; readonly whole: boolean };

/** Throws when there is no answer. What the failure says in its own words stays with the run. */
export const answerOf = ({ status, output, failure }: RunOutcome): Answer => {
  if (output !== '' && status !== 'failed' && status !== 'cancelled')
    return { text: output, whole: status === 'completed' };
  const { code, retryAfterMs } = failure ?? { code: status === 'cancelled' ? 'cancelled' : 'defect' };
  throw new CloisterError(code, undefined, retryAfterMs === undefined ? {} : { retryAfterMs });
};

/** What was done meanwhile, in words; waits for the end of the run. */
export const activityOf = async (run: ServedRun): Promise<string> => {
  let words = '';
  for await (const piece of run.pieces()) if (piece.type === 'activity') words += piece.text;
  return words;
};
