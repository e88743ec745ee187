// What an agent of a run answers to a message.
import { httpStatus } from '#headends/shared';
import { CloisterError } from '#base';
import type { Answer, RouteReply, RunSession } from '#contracts';
import { restAnswerJson } from './run-json.ts';

export const answerReply = (run: string, answer: Answer): RouteReply => {
  const body = restAnswerJson(run, answer);
  const { error, text } = answer;
  return error === null || text !== '' ? { status: 200, body } : { status: httpStatus(error), body, code: error };
};

/** Without a message: to the one that it was spawned with. Whoever goes away waits no longer; the message stays. */
export const answerTo = async (
  session: RunSession,
  message: string | undefined,
  signal: AbortSignal,
): Promise<Answer> => {
  try {
    return await session.answer(message, { signal });
  } catch (error) {
    throw ofRun(error);
  }
};

/** When no answer can come any more, why the run failed is told, but not what its cells were told. */
const ofRun = (error: unknown): unknown => {
  if (!(error instanceof CloisterError) || error.code === 'cell_ended' || error.code === 'mail_unknown') return error;
  return new CloisterError(error.code);
};
