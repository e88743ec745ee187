// One small text file, or why it cannot be had. Never waits: a pipe or device of that name is refused.
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';

const bytesMax = 1_000_000;

export type TextFile =
  /** `id` is the same however the file was reached. */
  | { readonly kind: 'text'; readonly text: string; readonly id: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'problem'; readonly message: string };

/** At once: most of the files that are looked for are not there, and asking for them one by one is what takes time. */
export const readText = (path: string): TextFile => {
  let file: number | undefined;
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return { kind: 'absent' };
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file, { bigint: true });
    if (!stat.isFile()) return problem('It is not a regular file; put one in its place.');
    if (stat.size > bytesMax) return problem(`It is larger than ${bytesMax} bytes, more than a configuration needs.`);
    return { kind: 'text', text: decode(readFileSync(file)), id: `${stat.dev}:${stat.ino}` };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return problem('It is not UTF-8 text; save it as UTF-8.');
    return problem(`It cannot be read (${code}); check its permissions.`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

const problem = (message: string): TextFile => ({ kind: 'problem', message });

/** Without the mark that some editors begin a file with. */
const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
