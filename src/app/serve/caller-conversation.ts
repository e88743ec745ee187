// Names of a caller's conversations: prefixed with the caller's name, so that two callers can use the same name.
import { CloisterError } from '#base';
import type { Caller } from '#contracts';

const charsMax = 50;

/** Throws `name_invalid`. A caller's name has no slash, so the result is unique. */
export const callerConversationName = ({ name: caller }: Caller, name: string): string => {
  if (name.trim() === '' || name.length > charsMax || !name.isWellFormed() || /\p{Cc}|\p{Cf}/u.test(name))
    throw new CloisterError('name_invalid', `conversation: expected 1 to ${charsMax} printable characters.`);
  // probe: conversation-key
  return `${caller}/${name}`;
};
