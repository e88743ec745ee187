// Names of the conversations of a server's callers: prefixed with the caller's name, so that two callers can use the same name.
import { CloisterError } from '#base';

/** How long a name may be that a caller chooses. */
export const callerNameCharsMax = 50;

/** A caller's name has no slash, so no two callers have the same prefix, and no prefix begins with another one. */
export const callerPrefix = (caller: string): string => `${caller}/`;

/** Throws `name_invalid`. */
export const callerConversationName = (caller: string, name: string): string => {
  if (name.trim() === '' || name.length > callerNameCharsMax || !name.isWellFormed() || /\p{Cc}|\p{Cf}/u.test(name))
    throw new CloisterError('name_invalid', `conversation: expected 1 to ${callerNameCharsMax} printable characters.`);
  // probe: conversation-key
  return `${callerPrefix(caller)}${name}`;
};
