// Checks options before they are used. Errors name the option, the value and what was expected.
import { CloisterError, isObject, utf8Bytes } from '#base';
import type { RunId } from '#base';
import {
  either,
  boolean,
  listOf,
  object,
  openObject,
  pattern,
  problemText,
  problemsIn,
  string,
  valueOf,
} from '#base/shapes';
import type { Shape, ShapeFields, ShapePath, ShapeProblem } from '#base/shapes';
import { answerFormatShape, dialogMessageShape } from '#contracts';
import type { ConversationRef, DialogMessage } from '#contracts';

type Kind = keyof typeof kinds;

const name = pattern('\\S', 'a name');

const kinds = {
  text: string(),
  name,
  flag: boolean(),
  texts: { ...listOf(string()), expected: 'a list of strings' },
  format: answerFormatShape,
  said: { ...listOf(dialogMessageShape), expected: 'a list of { by, text }, where by is person or agent' },
  tools: { ...listOf(valueOf<object>('a tool', isObject)), expected: 'a list of tools' },
  signal: valueOf<AbortSignal>('an AbortSignal', (value) => value instanceof AbortSignal),
  conversation: either(
    'the name of a conversation, or { agent, name }',
    string(),
    openObject({ agent: string(), name: string() }),
  ),
  ref: { ...openObject({ agent: string(), name: string() }), expected: 'a conversation as { agent, name }' },
  /** Checked where it is used. */
  any: valueOf('a value', () => true),
  options: valueOf<object>('an object of options', isObject),
} as const;

/** Throws `options_invalid`. */
export const checkOptionType = (field: string, value: unknown, kind: Kind | Shape): void =>
  refuse(problemsIn(typeof kind === 'string' ? kinds[kind] : kind, value, { inCode: true }), [field]);

const refuse = ([problem]: readonly ShapeProblem[], at: ShapePath): void => {
  if (problem === undefined) return;
  const text = problemText({ ...problem, path: [...at, ...problem.path] }, 'option', 'options');
  throw new CloisterError('options_invalid', text);
};

export type OptionFields = Readonly<Record<string, Kind | Shape>>;

/** All options are optional. A misspelt one, such as a budget, would be ignored silently. Throws `options_invalid`. */
export const checkOptions = (options: unknown, fields: OptionFields): void => {
  const shapes = Object.entries(fields).map(([field, kind]) => [field, typeof kind === 'string' ? kinds[kind] : kind]);
  refuse(problemsIn(optionsShape(Object.fromEntries(shapes) as ShapeFields), options, { inCode: true }), []);
};

/** An object of options, all of them optional. */
export const optionsShape = (fields: ShapeFields): Shape => ({
  ...object({}, fields),
  expected: 'an object of options',
});

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
