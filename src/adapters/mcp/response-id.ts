// Finds the request that an oversized message answers.
import type { TruncatedLine } from './split-lines.ts';

const id = '"id"\\s*:\\s*(\\d+|"[^"\\\\]*")';
const version = '"jsonrpc"\\s*:\\s*"2\\.0"';

// Only the first and last members of the outermost object can be distinguished from nested ones.
const idAtStart = new RegExp(`^\\s*\\{\\s*(?:${version}\\s*,\\s*)?${id}\\s*,`, 'u');
const idAtEnd = new RegExp(`[,{]\\s*${id}\\s*(?:,\\s*${version}\\s*)?\\}\\s*$`, 'u');
const notification = new RegExp(`^\\s*\\{\\s*(?:${version}\\s*,\\s*)?"method"\\s*:`, 'u');

/** The id of the answered request; null when the message is not a response; undefined when that is unknown. */
export const responseIdOf = ({ head, tail }: TruncatedLine): string | number | null | undefined => {
  if (notification.test(head)) return null;
  const found = (idAtStart.exec(head) ?? idAtEnd.exec(tail))?.[1];
  return found === undefined ? undefined : (JSON.parse(found) as string | number);
};
