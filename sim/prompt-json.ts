// A prompt as text, with the hash of every file in place of its bytes: the one that was sent, and the one that the records refer to.
import { sha256 } from '#base';

export const promptJson = (prompt: unknown): string =>
  JSON.stringify(prompt, (name, value: unknown) => (name === 'data' && isFileData(value) ? hashOf(value) : value));

type FileData =
  | { readonly type: 'data'; readonly data: Uint8Array }
  | { readonly type: 'reference'; readonly reference: { readonly sha256: string } };

const isFileData = (value: unknown): value is FileData =>
  typeof value === 'object' &&
  value !== null &&
  (('data' in value && value.data instanceof Uint8Array) || ('reference' in value && 'type' in value));

const hashOf = (file: FileData): object => ({
  sha256: file.type === 'data' ? sha256(file.data) : file.reference.sha256,
});
