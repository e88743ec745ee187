// Names of conversations, and their encoding in paths.
import { CloisterError, sha256 } from '#base';
import type { ConversationRef } from '#contracts';

const charsMax = 100;

export const mainName = 'main';

/** Throws `name_invalid`. */
export const checkName = (name: string): string => {
  const problem = nameProblem(name);
  if (problem === null) return name;
  throw new CloisterError('name_invalid', `The name of a conversation ${problem}.`);
};

const nameProblem = (name: unknown): string | null => {
  if (typeof name !== 'string' || name.trim() === '') return 'is empty';
  if (name.length > charsMax) return `has ${name.length} characters; the limit is ${charsMax}`;
  if (!name.isWellFormed() || /\p{Cc}/u.test(name)) return 'contains unprintable characters';
  return null;
};

/** A string names one of the agent's own conversations; a reference may name another agent's. */
export const conversationRef = (agent: string, requested: string | ConversationRef | undefined): ConversationRef => {
  const ref = typeof requested === 'object' ? requested : { agent, name: requested ?? mainName };
  return { agent: ref.agent, name: checkName(ref.name) };
};

export const describeConversation = ({ agent, name }: ConversationRef): string => `"${name}" of "${agent}"`;

const encodedMax = 150;

/** Encodes a name as one path segment: unique for each name, and without special meaning to any file system. */
export const pathPart = (name: string): string => {
  const encoded = Buffer.from(name)
    .reduce((text, byte) => text + encodedByte(byte), '')
    .replace(/^\./u, '%2E')
    .replace(/\.json$/iu, (end) => `%2E${end.slice(1)}`);
  const safe = reserved.test(encoded) ? `%${encoded.charCodeAt(0).toString(16)}${encoded.slice(1)}` : encoded;
  return safe.length <= encodedMax ? safe : `${safe.slice(0, encodedMax)}%${sha256(name).slice(0, 16)}`;
};

const encodedByte = (byte: number): string => {
  const character = String.fromCharCode(byte);
  return /[\w.-]/u.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
};

/** Names that some file systems reserve for devices. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu;
