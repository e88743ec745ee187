// Says what is wrong with what a program hands over, before anything is done with it: which option, what it is, what to give.
import { CloisterError, isObject, nearestName, utf8Bytes } from '#base';
import type { RunId } from '#base';
import type { ConversationRef, DialogMessage } from '#contracts';

type Kind = keyof typeof kinds;

const kinds = {
  text: { words: 'text', fits: (value: unknown) => typeof value === 'string' },
  name: { words: 'a name', fits: (value: unknown) => typeof value === 'string' && value.trim() !== '' },
  flag: { words: 'true or false', fits: (value: unknown) => typeof value === 'boolean' },
  number: { words: 'a number from 0 on', fits: (value: unknown) => typeof value === 'number' && value >= 0 },
  port: {
    words: 'a whole number from 0 to 65535',
    fits: (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535,
  },
  texts: {
    words: 'a list of texts',
    fits: (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  },
  format: {
    words: 'text, markdown or json',
    fits: (value: unknown) => value === 'text' || value === 'markdown' || value === 'json',
  },
  said: {
    words: 'a list of { by, text }, by person or agent',
    fits: (value: unknown) => Array.isArray(value) && value.every((one) => isSaid(one)),
  },
  tools: {
    words: 'a list of tools',
    fits: (value: unknown) => Array.isArray(value) && value.every((one) => isObject(one)),
  },
  signal: { words: 'an AbortSignal', fits: (value: unknown) => value instanceof AbortSignal },
  conversation: {
    words: 'the name of a conversation, or { agent, name }',
    fits: (value: unknown) => typeof value === 'string' || isRef(value),
  },
  ref: { words: 'a conversation, as { agent, name }', fits: (value: unknown) => isRef(value) },
  /** Looked at by those who take it. */
  any: { words: 'a value', fits: () => true },
  options: { words: 'an object of options', fits: isObject },
} as const;

const isSaid = (value: unknown): boolean => {
  if (!isObject(value)) return false;
  const { by, text } = value as Partial<DialogMessage>;
  return (by === 'person' || by === 'agent') && typeof text === 'string';
};

const isRef = (value: unknown): boolean => {
  if (!isObject(value)) return false;
  const { agent, name } = value as Partial<ConversationRef>;
  return typeof agent === 'string' && typeof name === 'string';
};

/** Throws `options_invalid`. */
export const checkOptionTypes = (field: string, value: unknown, kind: Kind): void => {
  const { words, fits } = kinds[kind];
  if (!fits(value)) throw new CloisterError('options_invalid', `${field}: expected ${words}; got ${inShort(value)}.`);
};

export type OptionFields = Readonly<Record<string, Kind>>;

/** Options that may all be left out; `of`: where they stand among others. Throws `options_invalid`. */
export const checkOptions = (options: unknown, fields: OptionFields, of = ''): void => {
  checkOptionTypes(of || 'options', options, 'options');
  const prefix = of && `${of}.`;
  const known = Object.keys(fields);
  for (const field of Object.keys(options as object))
    if (!known.includes(field)) throw new CloisterError('options_invalid', prefix + unknownOption(field, known));
  for (const [field, kind] of Object.entries(fields)) {
    const value = (options as Readonly<Record<string, unknown>>)[field];
    if (value !== undefined) checkOptionTypes(prefix + field, value, kind);
  }
};

/** One that is misspelt would be passed over without a word: a budget, for example. */
const unknownOption = (field: string, known: readonly string[]): string => {
  const meant = nearestName(field, known);
  const hint = meant === null ? `Known are ${known.join(', ')}.` : `Did you mean ${meant}?`;
  return `${field.slice(0, 40)}: there is no such option. ${hint}`;
};

/** Throws `options_invalid`. */
export const checkRef = (value: ConversationRef): void => checkOptionTypes('conversation', value, 'ref');

export const runOptions = {
  budget: 'any',
  schema: 'any',
  signal: 'signal',
  context: 'texts',
  conversation: 'conversation',
  format: 'format',
  history: 'said',
  tools: 'tools',
  caller: 'name',
} as const;

/** The id of a run, as somebody gave it. Throws `options_invalid`. */
export const runId = (run: string): RunId => {
  checkOptionTypes('run', run, 'name');
  return run as RunId;
};

const contextBytesMax = 4 * 1024 * 1024;
const contextCountMax = 1_000;
/** Messages of a dialog that a caller tells. */
const saidCountMax = 10_000;

/** What is given to know at once, as which option. Throws `context_too_large`. */
const checkContext = (option: string, texts: readonly string[], countMax: number): void => {
  if (texts.length > countMax)
    throw new CloisterError('context_too_large', `${option}: ${texts.length} texts; at most ${countMax} are taken.`);
  const bytes = texts.reduce((sum, text) => sum + utf8Bytes(text), 0);
  if (bytes > contextBytesMax)
    throw new CloisterError('context_too_large', `${option}: ${bytes} bytes; at most ${contextBytesMax} are taken.`);
};

type Clean = (text: string) => string;

/** What a caller gives to know, without secrets. Throws `context_too_large`. */
export const redactedContext = (given: readonly string[] = [], clean: Clean): readonly string[] => {
  const context = given.map(clean).filter((text) => text.trim() !== '');
  checkContext('context', context, contextCountMax);
  return context;
};

/** What a caller tells of a dialog, without secrets. Throws `context_too_large`. */
export const redactedDialog = (given: readonly DialogMessage[] = [], clean: Clean): readonly DialogMessage[] => {
  const said = given.map(({ by, text }) => ({ by, text: clean(text) }));
  checkContext(
    'history',
    said.map(({ text }) => text),
    saidCountMax,
  );
  return said;
};

/** What is given to a run under way. Throws `options_invalid` or `context_too_large`. */
export const checkGivenContext = (text: string): void => {
  checkOptionTypes('text', text, 'text');
  checkContext('text', [text], 1);
};

const inShort = (value: unknown): string => {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `an object with ${keysIn(value)}`;
  if (typeof value === 'string') return value.trim() === '' ? 'an empty text' : JSON.stringify(value.slice(0, 40));
  return typeof value === 'function' ? 'a function' : String(value);
};

const keysIn = (value: object): string => {
  const keys = Object.keys(value);
  return keys.length === 0 ? 'nothing in it' : keys.slice(0, 5).join(', ').slice(0, 80);
};
