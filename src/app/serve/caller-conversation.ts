// The conversations of a caller: kept under a name that holds the caller's, so equal names of two callers are two.
import { CloisterError } from '#base';
import type { Caller } from '#contracts';

const charsMax = 50;

/** Throws `name_invalid`. A caller's name has no slash, so no two pairs give one name. */
export const conversationOf = ({ name: caller }: Caller, name: string): string => {
  if (name.trim() === '' || name.length > charsMax || !name.isWellFormed() || /\p{Cc}|\p{Cf}/u.test(name))
    throw new CloisterError('name_invalid', `conversation: expected 1 to ${charsMax} characters that can be shown.`);
  // probe: conversation-key
  return `${caller}/${name}`;
};
