// Waits for the answer to a message.
import { CloisterError } from '#base';
import type { Answer, RunSession } from '#contracts';
import { followAnswer } from './frame-reader.ts';
import type { OutsideMessages } from './outside-messages.ts';
import { caughtUp } from './run-feed.ts';
import type { RunFeed } from './run-feed.ts';

type Readers = { readonly feed: RunFeed; readonly outside: OutsideMessages };

/** `message`: undefined for the one that the run was spawned with. `isEarly`: it is not in the log yet. */
type AwaitedMessage = {
  readonly message: string | undefined;
  readonly isEarly: boolean;
  readonly signal: AbortSignal | undefined;
};

/** Rejects if no answer can come any more, and with `cancelled` if the signal is aborted. */
export const receiveAnswer = async (
  { run, outcome }: Pick<RunSession, 'run' | 'outcome'>,
  { feed, outside }: Readers,
  { message, isEarly, signal }: AwaitedMessage,
): Promise<Answer> => {
  const known = message === undefined ? undefined : feed.followAnswer(message);
  const fold = known?.fold ?? followAnswer(message ?? null);
  const claim = outside.claim(fold);
  const reader = feed.open(claim);
  const stop = (): void => reader.close();
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for await (const found of feed.follow(reader, known?.past)) {
      if (found === caughtUp) {
        if (message !== undefined && !isEarly && !fold.isMessageKnown)
          throw new CloisterError('mail_unknown', `Run ${run} has no message "${message.slice(0, 80)}".`);
      } else if ('noAnswer' in found) throw new CloisterError('cell_ended', found.noAnswer);
      else return found;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  claim.leave();
  if (signal?.aborted === true) throw new CloisterError('cancelled');
  const { status, failure } = await outcome;
  const detail = `Run ${run} ended (${status}) without answering the message.`;
  throw new CloisterError(failure?.code ?? 'cell_ended', failure?.detail ? `${detail} ${failure.detail}` : detail);
};
