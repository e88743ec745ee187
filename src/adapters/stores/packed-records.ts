// How the text of a record is stored: as it is, or packed with a dictionary of what all records have in common.
//
//   packed-text-identical. Packing changes how a record is stored, never its text: hashes, archives and seals are over the text.
//   packed-alone. Each record is packed by itself, with a dictionary that holds nothing of any run. So damage to one leaves the others
//       readable, a deleted run leaves nothing behind, and no run can learn of another from how long its records are.
import type { FrameRow } from './chain.ts';
import { TextPacker } from './pack-text.ts';
import { recordDictionary } from './record-dictionary.ts';

/** Shorter text is stored as it is. So is text that is too long for the packer: the thread that writes packs, and all runs wait for it. */
const packedCharsMin = 256;

/** The first byte of what is packed: how. */
const firstDictionary = 1;

const packer = new TextPacker(recordDictionary);

/** Forks are found by the text of their records (see `sqlite-deletions.ts`). */
const forkMark = '"type":"fork"';

/** What is stored for the text of a record. */
export const packRecord = (body: string): string | Uint8Array => {
  if (body.length < packedCharsMin || body.includes(forkMark)) return body;
  const packed = packer.pack(body, firstDictionary);
  return packed === null || packed.length >= body.length ? body : packed;
};

/** The text of what is stored; what is stored if it cannot be unpacked: whoever reads it then finds that it is damaged. */
export const unpackRecord = (stored: unknown): unknown =>
  stored instanceof Uint8Array && stored[0] === firstDictionary ? (packer.unpack(stored, 1) ?? stored) : stored;

export function* unpackRows(rows: Iterable<Readonly<Record<string, unknown>>>): Iterable<FrameRow> {
  for (const { no, body, hash } of rows) yield { no, body: unpackRecord(body), hash };
}
