// What processes of one database tell each other by NOTIFY, as text: a first line that says what it is and who says it, then one line each.
import type { RunId } from '#base';

export type Interest = 'frames' | 'live';

type ChannelMessage =
  | { readonly is: 'signals' }
  /** Somebody follows these runs now. */
  | { readonly is: 'interest'; readonly from: string; readonly runs: readonly (readonly [Interest, RunId])[] }
  /** These runs have new frames. */
  | { readonly is: 'frames'; readonly from: string; readonly runs: readonly RunId[] }
  | { readonly is: 'live'; readonly from: string; readonly pieces: readonly (readonly [RunId, string])[] }
  /** A part of a piece that is too long for one message. */
  | { readonly is: 'part'; readonly from: string; readonly part: LivePart };

export type LivePart = {
  readonly run: RunId;
  readonly id: number;
  readonly nth: number;
  readonly of: number;
  readonly text: string;
};

/** PostgreSQL takes 8000. */
const bytesMax = 7_900;

/** A character takes up to three bytes. */
const partChars = 2_500;

export const interestMessages = (from: string, runs: readonly (readonly [Interest, RunId])[]): readonly string[] =>
  packLines(
    `interest ${from}`,
    runs.map(([what, run]) => `${what} ${run}`),
  );

export const framesMessages = (from: string, runs: readonly RunId[]): readonly string[] =>
  packLines(`frames ${from}`, runs);

/** `pieces`: JSON. `nextId` numbers those that are cut. In order. */
export const liveMessages = (
  from: string,
  pieces: readonly (readonly [RunId, string])[],
  nextId: () => number,
): readonly string[] => {
  const messages: string[] = [];
  let lines: string[] = [];
  const flush = (): void => {
    messages.push(...packLines(`live ${from}`, lines));
    lines = [];
  };
  for (const [run, text] of pieces) {
    if (Buffer.byteLength(text) < bytesMax / 2) {
      lines.push(`${run} ${text}`);
      continue;
    }
    flush();
    const [parts, id] = [cutText(text), nextId()];
    for (const [nth, part] of parts.entries())
      messages.push(`part ${from} ${run} ${id} ${nth} ${parts.length}\n${part}`);
  }
  flush();
  return messages;
};

/** No character is cut in half. */
const cutText = (text: string): readonly string[] => {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    let end = Math.min(text.length, from + partChars);
    if (end < text.length && /[\ud800-\udbff]/u.test(text.charAt(end - 1))) end--;
    parts.push(text.slice(from, end));
    from = end;
  }
  return parts;
};

const packLines = (head: string, lines: readonly string[]): readonly string[] => {
  const messages: string[] = [];
  let message = head;
  for (const line of lines) {
    if (message !== head && Buffer.byteLength(message) + Buffer.byteLength(line) + 1 > bytesMax) {
      messages.push(message);
      message = head;
    }
    message += `\n${line}`;
  }
  return message === head ? messages : [...messages, message];
};

/** Undefined for what this build does not know. */
export const parseMessage = (text: string): ChannelMessage | undefined => {
  const [head = '', ...lines] = text.split('\n');
  const [is = '', from = '', run = '', id, nth, of] = head.split(' ');
  switch (is) {
    case 's':
      return { is: 'signals' };
    case 'interest':
      return { is: 'interest', from, runs: lines.map((line) => line.split(' ') as unknown as [Interest, RunId]) };
    case 'frames':
      return { is: 'frames', from, runs: lines as RunId[] };
    case 'live':
      return { is: 'live', from, pieces: lines.map(splitPiece) };
    case 'part': {
      const part = { run: run as RunId, id: Number(id), nth: Number(nth), of: Number(of), text: lines.join('\n') };
      return { is: 'part', from, part };
    }
  }
  return undefined;
};

const splitPiece = (line: string): readonly [RunId, string] => {
  const at = line.indexOf(' ');
  return [line.slice(0, at) as RunId, line.slice(at + 1)];
};
