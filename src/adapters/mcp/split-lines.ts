// Splits bytes into lines.
//
//   mcp-line-bounded. It never buffers more than one line of the allowed size; of a longer line it keeps both ends and skips
//       the rest.
import { lineEndBytes } from './limits.ts';

/** The two ends of a line that was too long to keep. */
export type TruncatedLine = { readonly head: string; readonly tail: string; readonly bytes: number };

type LineEvents = {
  /** One line, without its line feed. */
  line(bytes: Buffer): void;
  tooLong(line: TruncatedLine): void;
};

const lineFeed = 10;

export const splitLines = (bytesMax: number, events: LineEvents): ((chunk: Uint8Array) => void) => {
  let parts: Buffer[] = [];
  let bytes = 0;
  let skipped: { head: Buffer; tail: Buffer } | undefined;

  const keep = (piece: Buffer): void => {
    bytes += piece.length;
    if (skipped !== undefined) {
      skipped.tail = takeTail([skipped.tail, piece]);
    } else if (bytes > bytesMax) {
      parts.push(piece);
      skipped = { head: takeHead(parts), tail: takeTail(parts) };
      parts = [];
    } else if (piece.length > 0) {
      parts.push(piece);
    }
  };

  const truncated = (): void => {
    const [line, ends, size] = [parts, skipped, bytes];
    parts = [];
    skipped = undefined;
    bytes = 0;
    if (ends === undefined) events.line(line.length === 1 ? line[0]! : Buffer.concat(line));
    else events.tooLong({ head: ends.head.toString(), tail: ends.tail.toString(), bytes: size });
  };

  return (chunk) => {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let at = buffer.indexOf(lineFeed); at !== -1; at = buffer.indexOf(lineFeed, from)) {
      keep(buffer.subarray(from, at));
      truncated();
      from = at + 1;
    }
    keep(buffer.subarray(from));
  };
};

/** Copies, so that the source chunks can be freed. */
const takeHead = (parts: readonly Buffer[]): Buffer => {
  let head: Buffer = Buffer.alloc(0);
  for (const part of parts) {
    if (head.length >= lineEndBytes) break;
    head = Buffer.concat([head, part.subarray(0, lineEndBytes - head.length)]);
  }
  return head;
};

const takeTail = (parts: readonly Buffer[]): Buffer => {
  let tail: Buffer = Buffer.alloc(0);
  for (const part of parts.toReversed()) {
    if (tail.length >= lineEndBytes) break;
    tail = Buffer.concat([part.subarray(-(lineEndBytes - tail.length)), tail]);
  }
  return tail;
};
