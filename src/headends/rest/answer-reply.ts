// Waits for an agent's answer to a message, and returns it as a reply.
import { httpStatus } from '#headends/shared';
import { CloisterError } from '#base';
import type { Answer, RouteReply, RunSession } from '#contracts';
import { restAnswerJson } from './run-json.ts';

export const answerReply = (run: string, answer: Answer): RouteReply => {
  const body = restAnswerJson(run, answer);
  const { error, text } = answer;
  return error === null || text !== '' ? { status: 200, body } : { status: httpStatus(error), body, code: error };
};

/** Without a message, waits for the answer to the first one. If the client disconnects, only the wait ends; the message stays. */
export const awaitAnswer = async (
  session: RunSession,
  message: string | undefined,
  signal: AbortSignal,
): Promise<Answer> => {
  try {
    return await session.answer(message, { signal });
  } catch (error) {
    throw withoutErrorDetail(error);
  }
};

/** If the run failed, the client gets the error code but not the detail, which may hold content of a cell. */
const withoutErrorDetail = (error: unknown): unknown => {
  if (!(error instanceof CloisterError) || error.code === 'cell_ended' || error.code === 'mail_unknown') return error;
  return new CloisterError(error.code);
};
