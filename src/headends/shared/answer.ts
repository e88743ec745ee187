// How a run ended, for protocols that return either an answer or an error.
import { CloisterError } from '#base';
import type { ClientCall, RunOutcome, ServedRun, SpentTokens } from '#contracts';

/** `whole`: false if something kept the run from finishing; `text` is then a partial answer. */
type ServedAnswer = { readonly text: string; readonly whole: boolean };

/** Throws if there is no answer. The detail of the failure stays with the run; only its code is passed on. */
export const answerFromOutcome = ({ status, output, failure }: RunOutcome): ServedAnswer => {
  if (output !== '' && status !== 'failed' && status !== 'cancelled')
    return { text: output, whole: status === 'completed' };
  const { code, retryAfterMs } = failure ?? { code: status === 'cancelled' ? 'cancelled' : 'defect' };
  throw new CloisterError(code, undefined, retryAfterMs === undefined ? {} : { retryAfterMs });
};

/** The name that the ids of an answer are built from. A run with client tools takes several requests, so each answer gets a number. */
export const answerName = ({ run, nth }: ServedRun): string => (nth === undefined ? run : `${run}_${nth}`);

/** How the answer to one request ends. `calls`: calls of the client's tools that the run waits for; if there are any, there is no answer yet. */
export type AnswerEnd = {
  readonly spent: SpentTokens;
  readonly answer: ServedAnswer;
  readonly calls: readonly ClientCall[];
};

/** Call it after reading the pieces, if they are read at all. Throws if there is no answer. */
export const awaitAnswerEnd = async (run: ServedRun): Promise<AnswerEnd> => {
  const pause = (await run.pause?.()) ?? null;
  if (pause !== null) return { ...pause, answer: { text: '', whole: pause.partial !== true } };
  const outcome = await run.outcome;
  return { spent: outcome.spent, answer: answerFromOutcome(outcome), calls: [] };
};

type CollectedAnswer = { readonly text: string; readonly activity: string };

/**
 * What a client that waits for the whole answer gets besides it: the activity of sub-agents and tools, if that is shown, and the text that
 * came before calls of its own tools.
 */
export const collectPieces = async (run: ServedRun, activity: boolean): Promise<CollectedAnswer> => {
  const collected = { text: '', activity: '' };
  if (!activity && run.pause === undefined) return collected;
  for await (const { type, text } of run.pieces()) if (type === 'text' || activity) collected[type] += text;
  return collected;
};
