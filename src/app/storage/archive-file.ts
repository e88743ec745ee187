// One run as one compressed file: its records exactly as the log has them, and the blobs that they name.
//
//   archive-byte-for-byte. The records come back as they were, byte for byte: the chain over them ends with the same hash.
//   archive-checked-whole. A file that is damaged, cut or not an archive is refused before anything of it is used.
import { gunzipSync, gzipSync } from 'node:zlib';
import { CloisterError, isName, sha256 } from '#base';
import type { Hash, RunId } from '#base';

export type ArchivedRun = {
  readonly run: RunId;
  readonly head: Hash;
  readonly bodies: readonly string[];
  /** By their hashes. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
};

export const archiveSuffix = '.cloister.gz';

const archiveFormat = 1;

/** The same run always gives the same bytes. */
export const encodeArchive = ({ run, head, bodies, blobs }: ArchivedRun): Uint8Array => {
  const header = { cloister: 'run', format: archiveFormat, run, frames: bodies.length, head, blobs: blobs.size };
  const stored = [...blobs].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = [
    JSON.stringify(header),
    ...bodies,
    ...stored.map(([ref, bytes]) => JSON.stringify({ ref, base64: Buffer.from(bytes).toString('base64') })),
  ];
  const text = `${lines.join('\n')}\n`;
  return gzipSync(`${text}${JSON.stringify({ sha256: sha256(text) })}\n`);
};

/** Throws `archive_invalid`. Whether the records form the chain that the header names is for the store to check. */
export const decodeArchive = (bytes: Uint8Array): ArchivedRun => {
  const text = unpack(bytes);
  const end = text.lastIndexOf('\n', text.length - 2) + 1;
  const [first = '', ...lines] = text.slice(0, end).split('\n').slice(0, -1);
  const header = readHeader(first);
  if (readObject(text.slice(end))['sha256'] !== sha256(text.slice(0, end)))
    throw invalid('It is damaged or was cut: its last line does not fit the others.');
  const { frames } = header;
  const blobs = new Map(lines.slice(frames).map(readBlob));
  if (lines.length !== frames + header.blobs || blobs.size !== header.blobs)
    throw invalid('It does not have the lines that its first one says.');
  return { run: header.run, head: header.head, bodies: lines.slice(0, frames), blobs };
};

const unpack = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(gunzipSync(bytes));
  } catch {
    throw invalid('It is not compressed text, or was cut.');
  }
};

const readHeader = (line: string) => {
  const { cloister, format, run, frames, head, blobs } = readObject(line);
  if (cloister !== 'run') throw invalid('It was not written by Cloister.');
  if (format !== archiveFormat)
    throw invalid(
      `It has format ${String(format)}; this build reads format ${archiveFormat}. Use the build that wrote it.`,
    );
  const isWhole = (count: unknown): count is number =>
    typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
  if (typeof run !== 'string' || !isName(run) || typeof head !== 'string' || !isWhole(frames) || !isWhole(blobs))
    throw invalid('Its first line is damaged.');
  return { run: run as RunId, head: head as Hash, frames, blobs };
};

const readBlob = (line: string): readonly [string, Uint8Array] => {
  const { ref, base64 } = readObject(line);
  const bytes = Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64');
  if (typeof ref !== 'string' || sha256(bytes) !== ref) throw invalid('A file in it is damaged.');
  return [ref, bytes];
};

const readObject = (line: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Reported below.
  }
  throw invalid('It was not written by Cloister, or is damaged.');
};

const invalid = (detail: string): CloisterError => new CloisterError('archive_invalid', detail);
