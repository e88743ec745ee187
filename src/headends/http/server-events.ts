// Encodes server-sent events.
//
//   sse-text-stays-in-event. No text can break out of its event: each line becomes its own field, and line ends are removed
//       from names and ids.
import type { ServerEvent } from '#contracts';

export const encodeEvent = ({ event, id, data }: ServerEvent): string => {
  let text = '';
  if (event !== undefined) text += `event: ${oneLine(event)}\n`;
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  // JSON contains no line ends; other texts may.
  if (!lineEnd.test(data)) return `${text}data: ${data}\n\n`;
  for (const line of data.split(lineEnd)) text += `data: ${line}\n`;
  return `${text}\n`;
};

/** A comment that shows that the connection is alive; clients ignore it. */
export const keepAlive = ': keep-alive\n\n';

const lineEnd = /\r\n|\r|\n/u;

const oneLine = (text: string): string => text.replace(/[\r\n\0]/gu, ' ');
