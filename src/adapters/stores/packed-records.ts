// How the text of a record is stored: as it is, or packed (deflate with a dictionary of what all records have in common).
//
//   packed-text-identical. Packing changes how a record is stored, never its text: hashes, archives and seals are over the text.
//   packed-alone. Each record is packed by itself, with a dictionary that holds nothing of any run. So damage to one leaves the others
//       readable, a deleted run leaves nothing behind, and no run can learn of another from how long its records are.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { FrameRow } from './chain.ts';
import { recordDictionary } from './record-dictionary.ts';

/** Shorter text is stored as it is: packing it costs as much time as writing it, and saves little. */
const packedCharsMin = 256;

/** So is longer text: the thread that writes packs, and all runs wait for it. */
const packedBytesMax = 64 * 1024;

/** The first byte of what is packed: how. */
const firstDictionary = 1;

const dictionary = Buffer.from(recordDictionary);

/** Forks are found by the text of their records (see `sqlite-deletions.ts`). */
const forkMark = '"type":"fork"';

/** What is stored for the text of a record. */
export const packRecord = (body: string): string | Uint8Array => {
  if (body.length < packedCharsMin || body.length > packedBytesMax || body.includes(forkMark)) return body;
  const bytes = Buffer.from(body);
  if (bytes.length > packedBytesMax) return body;
  const packed = deflateRawSync(bytes, { dictionary, level: 3, chunkSize: 4096 });
  return packed.length + 1 < bytes.length ? Buffer.concat([Buffer.of(firstDictionary), packed]) : body;
};

/** The text of what is stored; what is stored if it cannot be unpacked, as everything that reads it reports damage by itself. */
export const unpackRecord = (stored: unknown): unknown => {
  if (!(stored instanceof Uint8Array) || stored[0] !== firstDictionary) return stored;
  try {
    // The limit is for bytes that somebody else has written.
    return inflateRawSync(stored.subarray(1), { dictionary, maxOutputLength: packedBytesMax }).toString();
  } catch {
    return stored;
  }
};

export function* unpackRows(rows: Iterable<Readonly<Record<string, unknown>>>): Iterable<FrameRow> {
  for (const { no, body, hash } of rows) yield { no, body: unpackRecord(body), hash };
}
