// How a run ended, for protocols that have an answer or an error.
import { CloisterError } from '#base';
import type { ClientCall, RunOutcome, ServedRun, SpentTokens } from '#contracts';

/** `whole`: else something kept it from being finished, and this is a part of it. */
export type ServedAnswer = { readonly text: string; readonly whole: boolean };

/** Throws when there is no answer. What the failure says in its own words stays with the run. */
export const answerOf = ({ status, output, failure }: RunOutcome): ServedAnswer => {
  if (output !== '' && status !== 'failed' && status !== 'cancelled')
    return { text: output, whole: status === 'completed' };
  const { code, retryAfterMs } = failure ?? { code: status === 'cancelled' ? 'cancelled' : 'defect' };
  throw new CloisterError(code, undefined, retryAfterMs === undefined ? {} : { retryAfterMs });
};

/** What answers to requests are named by: a run may take several. */
export const answerName = ({ run, nth }: ServedRun): string => (nth === undefined ? run : `${run}_${nth}`);

/** With what the answer to a request ends. `calls`: of the client's tools, whose results the run waits for; then there is no answer yet. */
export type AnswerEnd = {
  readonly spent: SpentTokens;
  readonly answer: ServedAnswer;
  readonly calls: readonly ClientCall[];
};

/** After its pieces, if those are read. Throws when there is no answer. */
export const endOf = async (run: ServedRun): Promise<AnswerEnd> => {
  const pause = (await run.pause?.()) ?? null;
  if (pause !== null) return { ...pause, answer: { text: '', whole: true } };
  const outcome = await run.outcome;
  return { spent: outcome.spent, answer: answerOf(outcome), calls: [] };
};

type CollectedAnswer = { readonly text: string; readonly activity: string };

/**
 * What a client that waits for the whole answer is told besides: what was done meanwhile, if that is shown, and what was said on the way
 * to calls of its own tools.
 */
export const collectPieces = async (run: ServedRun, activity: boolean): Promise<CollectedAnswer> => {
  const heard = { text: '', activity: '' };
  if (!activity && run.pause === undefined) return heard;
  for await (const { type, text } of run.pieces()) if (type === 'text' || activity) heard[type] += text;
  return heard;
};
