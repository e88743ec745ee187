// Checks commands for a run before anything is done.
import { withChildren } from '#app/agents';
import { CloisterError, nearestName, utf8Bytes, isObject } from '#base';
import { checkOptionType, checkOptions, either, listOf, openObject, pattern, string, valueOf } from '#base/shapes';
import type { OptionFields } from '#base/shapes';
import { answerFormatShape, dialogMessageShape } from '#contracts';
import type {
  Agent,
  Category,
  RouteChoice,
  RunCommand,
  RunCommandName,
  DialogMessage,
  StoredDialogMessage,
} from '#contracts';
import { mailBytesMax } from '#core/session';
import { checkAnswer } from './check-answer.ts';
import { keyedMessagePattern } from './keyed-messages.ts';
import { readAttachments } from './read-attachments.ts';

/**
 * The command as data that nobody can change any more: each field is read once, so what was checked is what is carried out.
 * `root`: the definition of the run's root; without it, topics are not checked. Throws `options_invalid`, `context_too_large` or `mail_invalid`.
 */
export const readRunCommand = <K extends RunCommandName>(
  given: RunCommand<K>,
  root: Agent | undefined,
): RunCommand<K> => {
  const command = copyOf(given);
  const { do: name, ...fields } = command;
  if (typeof name !== 'string' || !Object.hasOwn(checks, name))
    throw new CloisterError('options_invalid', `do: expected one of ${Object.keys(checks).join(', ')}.`);
  checkOptions(fields, commandFields[name]);
  checks[name](command, root);
  return command;
};

/** A getter, or a list that the caller keeps, could change after the check. */
const copyOf = <T extends object>(given: T): T => {
  checkOptionType('command', given, 'options');
  return Object.fromEntries(Object.entries(given).map(([field, value]) => [field, copyOfField(field, value)])) as T;
};

const copyOfField = (field: string, value: unknown): unknown => {
  if (typeof value !== 'object') return value;
  try {
    return structuredClone(value);
  } catch {
    throw new CloisterError('options_invalid', `${field}: expected plain data.`);
  }
};

export const routeFields = { categories: 'texts', segments: 'any' } as const;

export const spawnFields = {
  agent: 'name',
  goal: 'text',
  parent: 'name',
  workflow: 'name',
  topics: 'texts',
  metadata: 'any',
} as const;

const commandFields: { readonly [K in RunCommandName]: OptionFields } = {
  cancel: {},
  'add-context': { text: 'text' },
  'refresh-share': { child: 'name' },
  send: { text: 'text', to: 'name', topic: 'name', id: pattern(keyedMessagePattern, 'the id of a keyed message') },
  route: { from: 'name', to: 'texts', ...routeFields },
  'forward-topic': { topic: 'name' },
  confirm: { message: 'text' },
  spawn: spawnFields,
  // The team checks them, against the tasks it has.
  'add-tasks': { tasks: 'any' },
  finish: { name: 'name' },
  // The run checks them, against the tools it has.
  'add-tools': { tools: 'any', timeoutMs: 'any' },
  // Whoever takes the answer has checked who may give it.
  answer: {
    frame: 'any',
    by: 'text',
    right: 'text',
    id: 'text',
    allow: 'flag',
    sha256: 'text',
    args: 'any',
    reason: 'text',
    remember: 'text',
  },
};

/** What the types of its fields do not say. */
const checks: { readonly [K in RunCommandName]: (command: RunCommand<K>, root: Agent | undefined) => void } = {
  cancel: () => undefined,
  'add-context': ({ text }) => checkAddedContext(text),
  'refresh-share': ({ child }) => checkOptionType('child', child, 'name'),
  send: ({ text, to, topic }, root) => {
    checkMessageText(text);
    if (to !== undefined && topic !== undefined)
      throw invalid('Set either `to` (one agent) or `topic` (all subscribers), not both.');
    if (topic !== undefined && root !== undefined) checkTopic(topic, topicsBelow(root, 'hear'), 'subscribes to');
  },
  route: (command) => {
    checkOptionType('from', command.from, 'name');
    checkOptionType('to', command.to, 'texts');
    checkRouteChoice(command);
  },
  'forward-topic': ({ topic }, root) => {
    checkOptionType('topic', topic, 'name');
    if (root !== undefined) checkTopic(topic, topicsBelow(root, 'say'), 'publishes to');
  },
  confirm: ({ message }) => checkOptionType('message', message, 'text'),
  spawn: ({ agent, metadata = {} }) => {
    checkOptionType('agent', agent, 'name');
    const isPlain = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
    if (!isPlain || Object.values(metadata).some((note) => typeof note !== 'string'))
      throw new CloisterError('options_invalid', 'metadata: expected an object whose values are texts.');
  },
  'add-tasks': () => undefined,
  finish: () => undefined,
  'add-tools': () => undefined,
  answer: (answer) => checkAnswer(answer, answer.right === 'caller'),
};

const invalid = (detail: string): CloisterError => new CloisterError('mail_invalid', detail);

const checkMessageText = (text: string): void => {
  checkOptionType('text', text, 'text');
  if (text.trim() === '') throw invalid('The message is empty.');
  const bytes = utf8Bytes(text);
  if (bytes > mailBytesMax) throw invalid(`The message has ${bytes} bytes; the limit is ${mailBytesMax}.`);
};

const topicsBelow = (root: Agent, way: 'hear' | 'say'): readonly string[] => [
  ...new Set([...withChildren([root])].flatMap(({ permissions: { topics } }) => topics[way])),
];

/** `known`: the topics in the agents' definitions; `verb`: what the agents do with a topic. */
export const checkTopic = (topic: string, known: readonly string[], verb: string): void => {
  checkOptionType('topic', topic, 'name');
  if (known.includes(topic)) return;
  const nearest = nearestName(topic, known);
  const available = known.length === 0 ? 'There are no topics.' : `Topics: ${known.join(', ')}.`;
  throw invalid(
    `No agent here ${verb} ${JSON.stringify(topic.slice(0, 80))}. ${nearest === null ? '' : `Did you mean "${nearest}"? `}${available}`,
  );
};

const categories: readonly Category[] = ['SYSTEM', 'CONTEXT', 'DIALOG', 'TOOLS'];

const checkRouteChoice = (choice: RouteChoice): void => {
  const { categories: chosen = [], segments = [] } = choice;
  if (!Array.isArray(segments) || segments.some((one) => !Number.isInteger(one)))
    throw invalid('segments: expected a list of segment numbers, as shown by `explain`.');
  const wrong = chosen.find((one) => !categories.includes(one));
  if (wrong !== undefined) throw invalid(`categories: "${wrong}" is not one of ${categories.join(', ')}.`);
  if (chosen.length + segments.length === 0) throw invalid('Set `categories` or `segments`.');
};

// The options of a run, and the limits of the context that comes with them.
export const runOptions = {
  budget: 'any',
  schema: 'any',
  signal: 'signal',
  context: 'texts',
  system: 'texts',
  attachments: 'any',
  conversation: either(
    'the name of a conversation, or { agent, name }',
    string(),
    openObject({ agent: string(), name: string() }),
  ),
  format: answerFormatShape,
  history: { ...listOf(dialogMessageShape), expected: 'a list of { by, text }, where by is person or agent' },
  tools: { ...listOf(valueOf<object>('a tool', isObject)), expected: 'a list of tools' },
  // Checked without showing values: they are secrets.
  env: 'any',
  caller: 'name',
  only: { ...openObject({ run: string() }, { requestHash: string() }), expected: '{ run, requestHash? }' },
} as const;

const contextBytesMax = 4 * 1024 * 1024;
const contextCountMax = 1_000;
/** Messages of a dialog that a caller sends. */
const dialogCountMax = 10_000;

/** `option`: the name for errors. Throws `context_too_large`. */
const checkContext = (option: string, texts: readonly string[], countMax: number): void => {
  if (texts.length > countMax)
    throw new CloisterError('context_too_large', `${option}: ${texts.length} texts; the limit is ${countMax}.`);
  checkContextSize(
    option,
    texts.reduce((sum, text) => sum + utf8Bytes(text), 0),
  );
};

/** Throws `context_too_large`. */
export const checkContextSize = (option: string, bytes: number): void => {
  if (bytes > contextBytesMax)
    throw new CloisterError('context_too_large', `${option}: ${bytes} bytes; the limit is ${contextBytesMax}.`);
};

type RedactText = (text: string) => string;

/** Removes secrets from a caller's context or instructions. Throws `context_too_large`. */
export const redactTexts = (
  option: 'context' | 'system',
  given: readonly string[] = [],
  redact: RedactText,
): readonly string[] => {
  const texts = given.map(redact).filter((text) => text.trim() !== '');
  checkContext(option, texts, contextCountMax);
  return texts;
};

/** Removes secrets from a caller's dialog. Throws `context_too_large`. */
export const redactDialog = (
  given: readonly DialogMessage[] = [],
  redact: RedactText,
): { readonly dialog: readonly StoredDialogMessage[]; readonly blobs: readonly Uint8Array[] } => {
  const blobs: Uint8Array[] = [];
  const dialog = given.map(({ by, text, attachments = [] }, index): StoredDialogMessage => {
    if (attachments.length === 0) return { by, text: redact(text) };
    if (by === 'agent')
      throw new CloisterError(
        'attachment_refused',
        `history[${index}].attachments: only messages of a person can have files.`,
      );
    const read = readAttachments(`history[${index}].attachments`, attachments, redact);
    blobs.push(...read.blobs);
    return { by, text: redact(text), attachments: read.attachments };
  });
  const texts = dialog.flatMap(({ text, attachments = [] }) => [
    text,
    ...attachments.flatMap((one) => ('text' in one ? [one.text] : [])),
  ]);
  checkContext('history', texts, dialogCountMax);
  return { dialog, blobs };
};

/** Checks context for a running run. Throws `options_invalid` or `context_too_large`. */
const checkAddedContext = (text: string): void => {
  checkOptionType('text', text, 'text');
  checkContext('text', [text], 1);
};
