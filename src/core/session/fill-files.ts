// Puts the bytes of files into a request, in place of their references.
//
//   sent-bytes-match-hash. The bytes of a file are sent only if they have the hash that crossed and that the prompt's hash covers.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import { CloisterError, sha256 } from '#base';

type ReadBlob = (ref: string) => Promise<Uint8Array>;

/** Rejects with `store_damaged`. */
export const fillFiles = async (
  prompt: readonly LanguageModelV4Message[],
  readBlob: ReadBlob,
): Promise<LanguageModelV4Message[]> => {
  const filled: LanguageModelV4Message[] = [];
  for (const message of prompt) filled.push(message.role === 'user' ? await fillMessage(message, readBlob) : message);
  return filled;
};

type UserMessage = Extract<LanguageModelV4Message, { readonly role: 'user' }>;

const fillMessage = async (message: UserMessage, readBlob: ReadBlob): Promise<UserMessage> => {
  const content: UserMessage['content'] = [];
  for (const item of message.content)
    if (item.type === 'file' && item.data.type === 'reference') {
      const data = await readFile(item.data.reference['sha256'] ?? '', readBlob);
      content.push({ ...item, data: { type: 'data', data } });
    } else content.push(item);
  return { ...message, content };
};

const readFile = async (ref: string, readBlob: ReadBlob): Promise<Uint8Array> => {
  const bytes = await readBlob(ref).catch(() => null);
  if (bytes === null || sha256(bytes) !== ref)
    throw new CloisterError('store_damaged', `The file with the hash ${ref} is missing or was changed.`);
  return bytes;
};
