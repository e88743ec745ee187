// Reads one small text file, or reports why it cannot. Never blocks: a pipe or device is refused.
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';

const bytesMax = 1_000_000;

export type TextFile =
  /** `id` is the same for every path to the file. */
  | { readonly kind: 'text'; readonly text: string; readonly id: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'problem'; readonly message: string };

/** Synchronous: most of the files do not exist, and asynchronous lookups would take longer. */
export const readText = (path: string): TextFile => {
  let file: number | undefined;
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return { kind: 'absent' };
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file, { bigint: true });
    if (!stat.isFile()) return problem('Not a regular file; replace it with one.');
    if (stat.size > bytesMax) return problem(`The file is larger than the limit of ${bytesMax} bytes.`);
    return { kind: 'text', text: decode(readFileSync(file)), id: `${stat.dev}:${stat.ino}` };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return problem('The file is not valid UTF-8; save it as UTF-8.');
    return problem(`The file cannot be read (${code}); check its permissions.`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

const problem = (message: string): TextFile => ({ kind: 'problem', message });

/** Drops a byte order mark. */
const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
