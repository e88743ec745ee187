// The options of a run, and the limits of the context that comes with them.
import { CloisterError, isObject, utf8Bytes } from '#base';
import { checkOptionType, either, listOf, openObject, string, valueOf } from '#base/shapes';
import { answerFormatShape, dialogMessageShape } from '#contracts';
import type { DialogMessage } from '#contracts';

export const runOptions = {
  budget: 'any',
  schema: 'any',
  signal: 'signal',
  context: 'texts',
  conversation: either(
    'the name of a conversation, or { agent, name }',
    string(),
    openObject({ agent: string(), name: string() }),
  ),
  format: answerFormatShape,
  history: { ...listOf(dialogMessageShape), expected: 'a list of { by, text }, where by is person or agent' },
  tools: { ...listOf(valueOf<object>('a tool', isObject)), expected: 'a list of tools' },
  caller: 'name',
} as const;

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
