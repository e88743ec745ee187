// Why a request is not served, in words for the person who made it.
import { CloisterError, errorCatalogue } from '#base';
import type { ErrorCode } from '#base';
import { formatDuration } from '#headends/run-view';

/** The words for whatever is not the presser's, whether it exists or not. */
export const notYoursText = 'This is not yours, or it is no longer there.';
export const othersThreadText =
  'This thread belongs to somebody else. Begin your own: mention me in the channel, outside of any thread.';
export const notHereText = 'I do not answer here. Ask whoever set me up where I do.';
export const cannotWriteText = 'I cannot write in this channel. Invite me there, and ask again.';
export const onlyNewestText = 'Only the newest answer of a thread can be retried, and only after it has ended.';

const words: Partial<Record<ErrorCode, string>> = {
  rate_exceeded: 'You have sent too many requests in a short time.',
  allowance_used: 'You have used up what you may spend for now.',
  server_busy: 'Too much is going on right now.',
  server_stopping: 'The server is shutting down.',
  mailbox_full: 'Too many messages wait in this thread.',
  conversation_busy: 'Somebody else works on this conversation right now.',
  agent_unknown: 'The agent that should answer here is not available to you.',
  token_refused: 'You may not use this app.',
  goal_empty: 'There was nothing in your message for me to work on.',
  goal_too_large: 'Your message is too long.',
  context_too_large: 'Your message is too long.',
  budget_refused: 'The budget for one request does not suffice for this agent.',
  question_answered: 'This question was answered already.',
  question_changed: 'What is asked has changed since. Look at the card again.',
  question_stale: 'The agents have changed since this was asked, so no answer can continue the run.',
};

/** In plain words, and when it is worth trying again. Details of internal failures are not told. */
export const refusalText = (error: unknown): string => {
  const { code, retryAfterMs } =
    error instanceof CloisterError ? error.failure : { code: 'defect' as const, retryAfterMs: undefined };
  const { summary, retryable } = errorCatalogue[code];
  const what = words[code] ?? summary;
  if (retryAfterMs !== undefined)
    return `${what} Try again in ${formatDuration(Math.ceil(retryAfterMs / 1000) * 1000)}.`;
  return retryable ? `${what} Try again in a minute.` : what;
};
