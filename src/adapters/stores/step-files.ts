// Step files and offloaded outputs: files for people, made from frames on request.
//
//   step-file-path-checked. A name becomes a path segment only after `isName`; no symlink is followed.
//   step-file-catalogue-text. The error detail of a child stays in its cell: the parent's file contains only the text of the
//       catalogue.
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCatalogue, isName, unknownKind, isObject } from '#base';
import type { CellId, Failure, Json, JsonObject, RunId } from '#base';
import { decodeEnvelope, decodeMail } from '#contracts';
import type { Frame, RecordOf, StoredOutput, CrossingContent, ReceiveResult } from '#contracts';
import { firstChars, findGoal } from './run-facts.ts';

type StepFile = {
  readonly cell: CellId;
  readonly folder: 'history' | 'outputs';
  readonly name: string;
  /** Text, or the reference of a blob. */
  readonly content: string | { readonly ref: string };
};

const observationCharsMax = 2000;
const goalCharsMax = 50;

/** The files of a run as its frames have them. */
export const projectSteps = (frames: readonly Frame[]): readonly StepFile[] => {
  const fold = openStepFold();
  const files = new Map<string, StepFile>();
  for (const frame of frames) {
    for (const file of fold(frame)) files.set(`${file.cell}/${file.folder}/${file.name}`, file);
  }
  return [...files.values()];
};

/** Takes the frames of one run in order and returns the files that each one changes. */
const openStepFold = (): ((frame: Frame) => readonly StepFile[]) => {
  const openSteps = new Map<string, Step>();
  const mail = openMailFold();
  return (frame) => {
    const { record } = frame;
    const received = mail(frame);
    if (record.type === 'begin') {
      const step = beginStep(frame, record);
      if (step === undefined) return [];
      openSteps.set(`${frame.cell}/${record.op}`, step);
      return step.child ? [historyFile(frame.cell, step)] : [];
    }
    if (record.type === 'post') return postFile(frame, record);
    if (record.type !== 'settle') return [];
    const key = `${frame.cell}/${record.op}`;
    const step = openSteps.get(key);
    if (step === undefined) return [];
    openSteps.delete(key);
    return step.child ? [historyFile(frame.cell, endChild(step, record))] : endTool(frame, step, record, received);
  };
};

/** A post begins and settles in one record. */
const postFile = (frame: Frame, record: RecordOf<'post'>): readonly StepFile[] => {
  const { op, name, about, ok, value, failure } = record;
  const step = beginStep(frame, { type: 'begin', op, do: 'step', name, about });
  return step === undefined ? [] : endTool(frame, step, { type: 'settle', op, ok, value, failure });
};

/** Writes one file below `<folder>/runs/<run>`. False when it is there already, null when it could not be written. */
export const writeStepFile = (
  folder: string,
  run: RunId,
  file: Omit<StepFile, 'content'> & { readonly content: Uint8Array },
): boolean | null => {
  const segments = ['runs', run, file.cell, file.folder, file.name];
  if (!segments.every(isName)) return null;
  try {
    makeFolders(folder, segments.slice(0, -1));
    return writeRegularFile(join(folder, ...segments), file.content);
  } catch {
    return null;
  }
};

type Begin = RecordOf<'begin'>;
type Settle = RecordOf<'settle'>;

type Step = {
  readonly no: number;
  readonly child: boolean;
  readonly toolName: string;
  readonly args: JsonObject;
  readonly observation: string;
  readonly outcomeRef: string | null;
  readonly success: boolean;
  readonly error: string | null;
  readonly at: number;
};

const beginStep = (frame: Frame, record: Begin): Step | undefined => {
  const no = record.about?.['step'];
  if (typeof no !== 'number' || !Number.isInteger(no) || no < 1) return undefined;
  const start = { no, observation: '', outcomeRef: null, success: true, error: null, at: frame.at };
  const { birth } = record;
  switch (record.do) {
    case 'child': {
      if (birth === undefined) return undefined;
      const goal = firstChars(findGoal(frame, birth.cell), goalCharsMax);
      const observation =
        goal === '' ? `Spawned ${birth.agent}, which waits for messages` : `Spawned ${birth.agent} with goal: ${goal}`;
      const args = { child_id: birth.cell };
      return { ...start, child: true, toolName: 'agent:spawn', args, observation, outcomeRef: birth.cell };
    }
    case 'step':
    case 'sleep':
    case 'ask':
    case 'receive': {
      const { tool, args, argsChars } = record.about ?? {};
      const toolName = typeof tool === 'string' ? tool : record.name;
      return { ...start, child: false, toolName, args: minimalArgs(args, argsChars !== undefined) };
    }
    default:
      return unknownKind(record.do, undefined);
  }
};

const endChild = (step: Step, record: Settle): Step => {
  const outcome = record.ended?.outcome;
  const failure = record.failure ?? outcome?.failure ?? null;
  const answered = outcome === undefined || outcome.status === 'completed' || outcome.status === 'partial';
  const error = failure === null ? null : `${failure.code}: ${errorCatalogue[failure.code].summary}`;
  return { ...step, success: record.ok && answered, error };
};

const endTool = (frame: Frame, step: Step, record: Settle, received?: string): readonly StepFile[] => {
  const { text, output } = toolValue(record.value);
  const ended = historyFile(frame.cell, {
    ...step,
    observation: firstChars(received ?? text, observationCharsMax),
    outcomeRef: output === undefined ? null : `outputs/${output.name}`,
    success: record.ok,
    error: record.failure === undefined ? null : failureText(record.failure),
    at: frame.at,
  });
  if (output === undefined) return [ended];
  return [{ cell: frame.cell, folder: 'outputs', name: output.name, content: { ref: output.ref } }, ended];
};

const toolValue = (value: Json | undefined): { text: string; output?: StoredOutput } => {
  const { text, output } = (value ?? {}) as { text?: Json; output?: Partial<StoredOutput> };
  const shownText = typeof text === 'string' ? text : '';
  if (typeof output?.name !== 'string' || typeof output.ref !== 'string' || !isName(output.name))
    return { text: shownText };
  return { text: shownText, output: output as StoredOutput };
};

const failureText = ({ code, detail }: Failure): string => `${code}: ${detail ?? errorCatalogue[code].summary}`;

const historyFile = (cell: CellId, step: Step): StepFile => {
  const id = `step_${String(step.no).padStart(3, '0')}`;
  const content = {
    id,
    tool_name: step.toolName,
    minimal_args: step.args,
    observation: step.observation,
    outcome_ref: step.outcomeRef,
    success: step.success,
    error: step.error,
    timestamp_ms: step.at,
  };
  return { cell, folder: 'history', name: `${id}.json`, content: `${JSON.stringify(content, null, 2)}\n` };
};

const makeFolders = (folder: string, segments: readonly string[]): void => {
  let path = folder;
  for (const segment of segments) {
    path = join(path, segment);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(path, { mode: 0o700 });
    else if (!found.isDirectory()) throw new Error(`${path} is not a folder.`);
  }
};

/**
 * Returns whether it had another content. Does not follow a link at the end of the path, and does not wait for the other end of a
 * pipe.
 */
const writeRegularFile = (path: string, bytes: Uint8Array): boolean => {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const isNew = lstatSync(path, { throwIfNoEntry: false }) === undefined;
  const descriptor = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw new Error(`${path} is not a file.`);
    if (!isNew && stat.size === bytes.length && readFileSync(descriptor).equals(bytes)) return false;
    ftruncateSync(descriptor);
    for (let written = 0; written < bytes.length;)
      written += writeSync(descriptor, bytes, written, bytes.length - written, written);
    return true;
  } finally {
    closeSync(descriptor);
  }
};

// The arguments of a call in its step file: always an object, also if the log holds only the beginning of their text.
/** `args`: as recorded; if it was cut, a text that ends with `…`. Text that is not an object is under the key `input`. */
const minimalArgs = (args: Json | undefined, isCut: boolean): JsonObject => {
  if (typeof args !== 'string') return isObject(args) ? args : {};
  if (args.trim() === '') return {};
  return parseObject(isCut ? closeJson(args.slice(0, -1)) : args) ?? { input: args };
};

const parseObject = (text: string): JsonObject | null => {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
};

/** What is whole in the beginning of a JSON text, and the beginning of the text value that it was cut in. */
const closeJson = (cut: string): string => {
  let closers = '';
  let isInText = false;
  /** The text up to the newest comma, closed. */
  let whole = cut.trimStart().startsWith('{') ? '{}' : '';
  for (let at = 0; at < cut.length; at++) {
    const char = cut[at]!;
    if (char === '"') isInText = !isInText;
    else if (isInText && char === '\\') at++;
    else if (isInText) continue;
    else if (char === '{' || char === '[') closers = (char === '{' ? '}' : ']') + closers;
    else if (char === '}' || char === ']') closers = closers.slice(1);
    else if (char === ',') whole = cut.slice(0, at) + closers;
  }
  if (!isInText) return whole;
  // Not within an escape or a surrogate pair.
  const text = `${cut.replace(/\\(?:u[\da-f]{0,3})?$/iu, '').toWellFormed()}…"${closers}`;
  return parseObject(text) === null ? whole : text;
};

// What a `receive` handed out, as text for a step file. The messages themselves are in earlier frames.
/** Takes the frames of one run in order. For the end of a `receive` it returns what was received. */
type ReceivedMailFold = (frame: Frame) => string | undefined;

const textCharsMax = 2000;

const openMailFold = (): ReceivedMailFold => {
  const unread = new Map<string, string>();
  const receives = new Set<string>();
  return ({ cell, record, contents = [] }) => {
    for (const content of contents) {
      const line = describeContent(content);
      if (line !== null) unread.set(`${content.cell}/${content.seq}`, line);
    }
    if (record.type === 'begin' && record.do === 'receive') receives.add(`${cell}/${record.op}`);
    if (record.type !== 'settle' || !receives.delete(`${cell}/${record.op}`) || !record.ok) return undefined;
    const result = record.value as unknown as ReceiveResult;
    const lines = result.messages.map((seq) => unread.get(`${cell}/${seq}`) ?? '');
    for (const seq of [...result.messages, ...(result.expired ?? [])]) unread.delete(`${cell}/${seq}`);
    return [headline(result), ...lines].join('\n');
  };
};

/** Null if it is not mail for the cell that holds it. */
const describeContent = ({ cell, to, kind, content }: CrossingContent): string | null => {
  if (cell !== to) return null;
  if (kind === 'result') {
    const { agent_id: sender = 'An agent', status, output } = decodeEnvelope(content);
    return firstChars(`${sender} has ended (${status}): ${output}`, textCharsMax);
  }
  if (kind !== 'message' && kind !== 'broadcast') return null;
  const { agent_id: sender, message_type: type, topic, text } = decodeMail(content);
  const from = `${type === 'answer' ? 'Answer' : 'Message'} from ${sender ?? 'the user'}`;
  return firstChars(`${from}${topic === undefined ? '' : ` on topic ${topic}`}: ${text}`, textCharsMax);
};

const headline = ({ messages, missing = [], unknown, timedOut }: ReceiveResult): string => {
  if (unknown !== undefined) return `Unknown ${unknown.topic === true ? 'topic' : 'agent'} "${unknown.name}".`;
  const count = `Received ${messages.length === 1 ? '1 message' : `${messages.length} messages`}`;
  const absent = missing.length === 0 ? '' : ` Nothing from: ${missing.join(', ')}.`;
  return `${count}${timedOut === true ? ' before the timeout' : ''}.${absent}`;
};
