// Whose answer a message was that is too large to read.
import type { TruncatedLine } from './split-lines.ts';

const id = '"id"\\s*:\\s*(\\d+|"[^"\\\\]*")';
const version = '"jsonrpc"\\s*:\\s*"2\\.0"';

// Only the first and the last members of the outermost object can be told from what lies deeper.
const atTheHead = new RegExp(`^\\s*\\{\\s*(?:${version}\\s*,\\s*)?${id}\\s*,`, 'u');
const atTheTail = new RegExp(`[,{]\\s*${id}\\s*(?:,\\s*${version}\\s*)?\\}\\s*$`, 'u');
const notification = new RegExp(`^\\s*\\{\\s*(?:${version}\\s*,\\s*)?"method"\\s*:`, 'u');

/** The id of the request that it answers; null when it answers none; undefined when that cannot be told. */
export const responseIdOf = ({ head, tail }: TruncatedLine): string | number | null | undefined => {
  if (notification.test(head)) return null;
  const found = (atTheHead.exec(head) ?? atTheTail.exec(tail))?.[1];
  return found === undefined ? undefined : (JSON.parse(found) as string | number);
};
