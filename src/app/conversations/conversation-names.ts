// Names of conversations, and how names become parts of paths.
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
  if (name.length > charsMax) return `has ${name.length} characters; at most ${charsMax} are taken`;
  if (!name.isWellFormed() || /\p{Cc}/u.test(name)) return 'holds characters that cannot be shown';
  return null;
};

/** A name among the agent's own, or somebody else's conversation. */
export const conversationRef = (agent: string, asked: string | ConversationRef | undefined): ConversationRef => {
  const ref = typeof asked === 'object' ? asked : { agent, name: asked ?? mainName };
  return { agent: ref.agent, name: checkName(ref.name) };
};

export const inWords = ({ agent, name }: ConversationRef): string => `"${name}" of "${agent}"`;

const encodedMax = 150;

/** One part of a path, and another one for each name: nothing in it means anything to a file system. */
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

/** Names that some file systems keep for devices. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu;
