// Server-sent events as bytes.
//
//   E1. Whatever a text holds, it stays inside its event: each of its lines is a field of its own, and names and ids have no line ends.
import type { ServerEvent } from '#contracts';

export const encodeEvent = ({ event, id, data }: ServerEvent): string => {
  let text = '';
  if (event !== undefined) text += `event: ${oneLine(event)}\n`;
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  // JSON has no line ends of its own; other texts may.
  if (!lineEnd.test(data)) return `${text}data: ${data}\n\n`;
  for (const line of data.split(lineEnd)) text += `data: ${line}\n`;
  return `${text}\n`;
};

/** Keeps a connection from being taken for dead; no client shows it. */
export const keepAlive = ': keep-alive\n\n';

const lineEnd = /\r\n|\r|\n/u;

const oneLine = (text: string): string => text.replace(/[\r\n\0]/gu, ' ');
