// Conversations of a server's callers. Their names are prefixed with the caller's name, so that two callers can use the same name.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { RunReport } from './runtime.ts';
import type { RunSummary } from './store.ts';

/** One turn of a conversation. */
export type CallerTurn = Pick<RunSummary, 'run' | 'agent' | 'goal' | 'startedAt' | 'endedAt' | 'spent'> & {
  readonly status: RunReport['status'] | 'damaged';
  readonly output: string;
  /** The runs that were this turn at some time, oldest first, with the one that counts. */
  readonly versions: readonly RunId[];
  /** Set for a turn of the conversation that this one was branched from, up to the checkpoint. */
  readonly inherited?: true;
};

/** How long a name may be that a caller chooses. */
export const callerNameCharsMax = 50;

/**
 * A token's name has no slash, and that of a person in Slack has one, at the same place. So no two callers have the same prefix, and no
 * prefix begins with another one.
 */
export const callerPrefix = (caller: string): string => `${caller}/`;

/** Throws `name_invalid`. */
export const callerConversationName = (caller: string, name: string): string => {
  if (name.trim() === '' || name.length > callerNameCharsMax || !name.isWellFormed() || /\p{Cc}|\p{Cf}/u.test(name))
    throw new CloisterError('name_invalid', `conversation: expected 1 to ${callerNameCharsMax} printable characters.`);
  // probe: conversation-key
  return `${callerPrefix(caller)}${name}`;
};
