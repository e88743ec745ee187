// Checks options before they are used. Errors name the option, the value and what was expected.
import { CloisterError, isObject, nearestName, utf8Bytes } from '#base';
import type { RunId } from '#base';
import type { ConversationRef, DialogMessage } from '#contracts';

type Kind = keyof typeof kinds;

const kinds = {
  text: { words: 'a string', fits: (value: unknown) => typeof value === 'string' },
  name: { words: 'a name', fits: (value: unknown) => typeof value === 'string' && value.trim() !== '' },
  flag: { words: 'true or false', fits: (value: unknown) => typeof value === 'boolean' },
  number: { words: 'a number ≥ 0', fits: (value: unknown) => typeof value === 'number' && value >= 0 },
  port: {
    words: 'a whole number from 0 to 65535',
    fits: (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535,
  },
  texts: {
    words: 'a list of strings',
    fits: (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  },
  format: {
    words: 'text, markdown or json',
    fits: (value: unknown) => value === 'text' || value === 'markdown' || value === 'json',
  },
  said: {
    words: 'a list of { by, text }, where by is person or agent',
    fits: (value: unknown) => Array.isArray(value) && value.every((one) => isDialogMessage(one)),
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
  ref: { words: 'a conversation as { agent, name }', fits: (value: unknown) => isRef(value) },
  /** Checked where it is used. */
  any: { words: 'a value', fits: () => true },
  options: { words: 'an object of options', fits: isObject },
} as const;

const isDialogMessage = (value: unknown): boolean => {
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
export const checkOptionType = (field: string, value: unknown, kind: Kind): void => {
  const { words, fits } = kinds[kind];
  if (!fits(value))
    throw new CloisterError('options_invalid', `${field}: expected ${words}; got ${describeValue(value)}.`);
};

export type OptionFields = Readonly<Record<string, Kind>>;

/** All options are optional. `parent`: the name of the option that contains these. Throws `options_invalid`. */
export const checkOptions = (options: unknown, fields: OptionFields, parent = ''): void => {
  checkOptionType(parent || 'options', options, 'options');
  const prefix = parent && `${parent}.`;
  const known = Object.keys(fields);
  for (const field of Object.keys(options as object))
    if (!known.includes(field)) throw new CloisterError('options_invalid', prefix + unknownOption(field, known));
  for (const [field, kind] of Object.entries(fields)) {
    const value = (options as Readonly<Record<string, unknown>>)[field];
    if (value !== undefined) checkOptionType(prefix + field, value, kind);
  }
};

/** A misspelt option, such as a budget, would be ignored silently. */
const unknownOption = (field: string, known: readonly string[]): string => {
  const nearest = nearestName(field, known);
  const hint = nearest === null ? `Known options: ${known.join(', ')}.` : `Did you mean ${nearest}?`;
  return `${field.slice(0, 40)}: unknown option. ${hint}`;
};

/** Throws `options_invalid`. */
export const checkRef = (value: ConversationRef): void => checkOptionType('conversation', value, 'ref');

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

/** Checks a run id from a caller. Throws `options_invalid`. */
export const parseRunId = (run: string): RunId => {
  checkOptionType('run', run, 'name');
  return run as RunId;
};

const contextBytesMax = 4 * 1024 * 1024;
const contextCountMax = 1_000;
/** Messages of a dialog that a caller sends. */
const dialogCountMax = 10_000;

/** `option`: the name for errors. Throws `context_too_large`. */
const checkContext = (option: string, texts: readonly string[], countMax: number): void => {
  if (texts.length > countMax)
    throw new CloisterError('context_too_large', `${option}: ${texts.length} texts; the limit is ${countMax}.`);
  const bytes = texts.reduce((sum, text) => sum + utf8Bytes(text), 0);
  if (bytes > contextBytesMax)
    throw new CloisterError('context_too_large', `${option}: ${bytes} bytes; the limit is ${contextBytesMax}.`);
};

type RedactText = (text: string) => string;

/** Removes secrets from a caller's context. Throws `context_too_large`. */
export const redactContext = (given: readonly string[] = [], redact: RedactText): readonly string[] => {
  const context = given.map(redact).filter((text) => text.trim() !== '');
  checkContext('context', context, contextCountMax);
  return context;
};

/** Removes secrets from a caller's dialog. Throws `context_too_large`. */
export const redactDialog = (given: readonly DialogMessage[] = [], redact: RedactText): readonly DialogMessage[] => {
  const dialog = given.map(({ by, text }) => ({ by, text: redact(text) }));
  checkContext(
    'history',
    dialog.map(({ text }) => text),
    dialogCountMax,
  );
  return dialog;
};

/** Checks context for a running run. Throws `options_invalid` or `context_too_large`. */
export const checkAddedContext = (text: string): void => {
  checkOptionType('text', text, 'text');
  checkContext('text', [text], 1);
};

const describeValue = (value: unknown): string => {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `an object with ${describeKeys(value)}`;
  if (typeof value === 'string') return value.trim() === '' ? 'an empty string' : JSON.stringify(value.slice(0, 40));
  return typeof value === 'function' ? 'a function' : String(value);
};

const describeKeys = (value: object): string => {
  const keys = Object.keys(value);
  return keys.length === 0 ? 'no keys' : keys.slice(0, 5).join(', ').slice(0, 80);
};
