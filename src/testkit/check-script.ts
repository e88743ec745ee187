// Validates a script of unknown shape, and reports everything that is wrong with it.
import { CloisterError } from '#base';
import {
  checkExpectedFields,
  checkValue,
  describeScriptValue,
  expectAmount,
  expectAnything,
  expectCount,
  expectObject,
  expectBoolean,
  expectList,
  expectOneOf,
  expectString,
  expectInteger,
} from './check-fields.ts';
import type { ExpectValue, ExpectedFields, ReportProblem, ScriptPath } from './check-fields.ts';
import type { ScriptLine, ScriptedReply, ScriptWithSettings } from './script.ts';

/** Finds the row of a path in the text of a script. */
type FindRow = (path: ScriptPath) => number | undefined;

/** Thrown for a script that is not valid. */
export class ScriptError extends CloisterError {
  /** Each is `<where>: <what>`. */
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super('script_invalid', problems.join('\n'));
    this.name = 'ScriptError';
    this.message = `The rehearsal script is invalid.\n${problems.join('\n')}`;
    this.problems = problems;
  }
}

export const checkScript = (script: unknown, findRow: FindRow = () => undefined): ScriptWithSettings => {
  const problems: string[] = [];
  const note: ReportProblem = (path, problem) => problems.push(`${describePath(path, findRow)}: ${problem}`);
  const settings: unknown = Array.isArray(script) ? { lines: script } : script;
  if (checkExpectedFields(settings, [], scriptFields, note)) {
    if (settings['lines'] === undefined) note([], 'expected lines; got nothing.');
    if (Array.isArray(settings['lines'])) checkLines(settings['lines'], note);
    if (settings['price'] !== undefined) checkPrice(settings['price'], note);
  }
  if (problems.length > 0) throw new ScriptError(problems);
  return settings as ScriptWithSettings;
};

/** Checks what a function in a script returned. */
export const checkFunctionReply = (reply: unknown, index: number): ScriptedReply => {
  const problems: string[] = [];
  const path = ['lines', index, 'reply()'];
  checkReply(reply, path, (at, problem) => problems.push(`${describePath(at, () => undefined)}: ${problem}`));
  if (problems.length > 0) throw new ScriptError(problems);
  return toReply(reply as string | ScriptedReply);
};

export const toReply = (reply: string | ScriptedReply): ScriptedReply =>
  typeof reply === 'string' ? { text: reply } : reply;

/** Returns a regular expression without state (no `g` or `y` flag), or null if the text is not one. */
export const parsePattern = (pattern: RegExp | string): RegExp | null => {
  const [, source, flags] =
    typeof pattern === 'string' ? (/^\/(.+)\/([a-z]*)$/su.exec(pattern) ?? []) : [null, pattern.source, pattern.flags];
  if (source === undefined || flags === undefined) return null;
  try {
    return new RegExp(source, flags.replaceAll(/[gy]/gu, ''));
  } catch {
    return null;
  }
};

const describePath = (path: ScriptPath, findRow: FindRow): string => {
  const row = findRow(path);
  const keys = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  const name = keys === '' ? 'the script' : keys.replace(/^\./u, '');
  return row === undefined ? name : `line ${row}, ${name}`;
};

const faultNames = ['network', 'timeout', 'cut', 'end', 'error', 'malformed', 'empty'];
const finishReasons = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'interrupted', 'other'];

const expectFault: ExpectValue = (value) =>
  typeof value === 'number'
    ? Number.isInteger(value) && value >= 400 && value <= 599
      ? null
      : 'an HTTP status from 400 to 599'
    : expectOneOf(faultNames)(value) === null
      ? null
      : `an HTTP status from 400 to 599, or ${faultNames.join(', ')}`;

const expectPattern: ExpectValue = (value) =>
  (typeof value === 'string' || value instanceof RegExp) && parsePattern(value) !== null
    ? null
    : 'a regular expression, such as /weather in \\w+/i';

const scriptFields: ExpectedFields = {
  lines: expectList,
  strict: expectBoolean,
  modelId: expectString,
  price: expectObject,
  contextTokens: expectCount,
  maxOutputTokens: expectCount,
};
const priceFields: ExpectedFields = {
  input: expectAmount,
  output: expectAmount,
  cacheRead: expectAmount,
  cacheWrite: expectAmount,
};
const lineFields: ExpectedFields = { when: expectAnything, times: expectCount, reply: expectAnything };
const whenFields: ExpectedFields = {
  agent: expectString,
  turn: expectCount,
  text: expectString,
  pattern: expectPattern,
};
const replyFields: ExpectedFields = {
  text: expectString,
  pieces: expectList,
  reasoning: expectString,
  calls: expectList,
  usage: (value) => (value === 'none' ? null : expectObject(value)),
  finish: expectOneOf(finishReasons),
  delayMs: expectAmount,
  pieceDelayMs: expectAmount,
  fault: expectFault,
  retryAfterMs: expectAmount,
};
const callFields: ExpectedFields = { tool: expectString, args: expectObject, id: expectString };
const usageFields: ExpectedFields = {
  input: expectInteger,
  output: expectInteger,
  cacheRead: expectInteger,
  cacheWrite: expectInteger,
};

const checkPrice = (price: unknown, note: ReportProblem): void => {
  if (!checkExpectedFields(price, ['price'], priceFields, note)) return;
  for (const key of ['input', 'output'])
    if (price[key] === undefined) note(['price'], `expected ${key}, in USD per million tokens; got nothing.`);
};

const checkLines = (lines: readonly unknown[], note: ReportProblem): void => {
  for (const [index, line] of lines.entries()) {
    const path = ['lines', index];
    if (!checkExpectedFields(line, path, lineFields, note)) continue;
    const { when, reply } = line as Partial<ScriptLine>;
    if (when !== undefined && typeof when !== 'function')
      checkExpectedFields(when, [...path, 'when'], whenFields, note);
    if (reply === undefined) note(path, 'expected a reply; got nothing.');
    else if (typeof reply !== 'function') checkReply(reply, [...path, 'reply'], note);
  }
};

const checkReply = (reply: unknown, path: ScriptPath, note: ReportProblem): void => {
  if (typeof reply === 'string') return;
  if (!checkExpectedFields(reply, path, replyFields, note)) return;
  const { text, pieces, reasoning, calls, usage, fault, retryAfterMs } = reply;
  if (text !== undefined && pieces !== undefined) note(path, 'expected text or pieces; got both.');
  if ([text, pieces, reasoning, calls, fault].every((part) => part === undefined))
    note(path, 'expected at least one of text, pieces, reasoning, calls, fault; got none.');
  if (retryAfterMs !== undefined && typeof fault !== 'number')
    note([...path, 'retryAfterMs'], `expected a fault that is an HTTP status; got ${describeScriptValue(fault)}.`);
  if (Array.isArray(pieces))
    for (const [index, piece] of pieces.entries()) checkValue(piece, [...path, 'pieces', index], expectString, note);
  if (Array.isArray(calls))
    for (const [index, call] of calls.entries()) checkCall(call, [...path, 'calls', index], note);
  if (usage !== undefined && usage !== 'none') checkUsage(usage, [...path, 'usage'], note);
};

const checkCall = (call: unknown, path: ScriptPath, note: ReportProblem): void => {
  if (checkExpectedFields(call, path, callFields, note) && call['tool'] === undefined)
    note(path, 'expected the name of a tool; got nothing.');
};

const checkUsage = (usage: unknown, path: ScriptPath, note: ReportProblem): void => {
  if (expectObject(usage) !== null || !checkExpectedFields(usage, path, usageFields, note)) return;
  const { input, cacheRead = 0, cacheWrite = 0 } = usage;
  if (typeof input === 'number' && Number(cacheRead) + Number(cacheWrite) > input)
    note(path, 'expected cacheRead and cacheWrite to be parts of input; got more than input.');
};
