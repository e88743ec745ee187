// Finds the JSON value in a model's answer.
import { readExactJson } from './exact-json.ts';
import type { ExactJson } from './exact-json.ts';
import type { Json } from './json.ts';
import { endOfString } from './strict-json.ts';

/**
 * The values that the answer may stand for, with or without a code fence or other text around them; none if it holds no JSON. A part
 * of a value is not another value, even if that value is broken or cut off. They stand side by side in the text, so the caller
 * decides which one is meant.
 */
export const readJsonAnswer = (text: string): readonly ExactJson[] => {
  const whole = readExactJson(fencedText(text) ?? text);
  if (whole !== undefined) return [whole];
  const found: ExactJson[] = [];
  for (let at = nextStart(text, 0); at < text.length && found.length <= valuesMax;) {
    const end = endOfValue(text, at);
    // Cut off: whatever follows is a part of it.
    if (end === null) break;
    const value = readExactJson(text.slice(at, end));
    if (value !== undefined) found.push(value);
    at = nextStart(text, end);
  }
  return found;
};

/** Each of them is checked, and a check may be slow. */
const valuesMax = 32;

/** The one value in the answer without problems, as text with its keys in the order given; or what is wrong. */
export const findJsonAnswer = (
  text: string,
  problemsOf: (value: Json) => readonly string[],
): { readonly json: string } | { readonly problems: readonly string[] } => {
  const found = readJsonAnswer(text);
  if (found.length > valuesMax) return { problems: [severalValues] };
  const values = found.map((one) => {
    // probe: json-answer-problems
    if (one.problems.length > 0) return one;
    return { ...one, problems: problemsOf(one.value) };
  });
  const fitting = values.filter(({ problems }) => problems.length === 0);
  // probe: json-answer-value
  if (fitting.length === 1) return { json: fitting[0]!.text };
  if (fitting.length > 1) return { problems: [severalValues] };
  return { problems: (values[0]?.problems ?? ['The answer is not JSON.']).slice(0, 10) };
};

const severalValues = 'The answer holds more than one JSON value.';

/** The first value that the answer may stand for, even one that could not be passed on unchanged. */
export const extractJson = (text: string): Json | undefined => readJsonAnswer(text)[0]?.value;

/** What stands between two fences on lines of their own. Not a regular expression: on many empty lines it took minutes. */
const fencedText = (text: string): string | undefined => {
  const whole = text.trim();
  if (whole.length < 2 * fence.length || !whole.startsWith(fence) || !whole.endsWith(fence)) return undefined;
  const inner = whole.slice(fence.length, -fence.length);
  const body = inner.startsWith('json') ? inner.slice('json'.length) : inner;
  const [before, after] = [body.length - body.trimStart().length, body.trimEnd().length];
  const isOnOwnLines = body.slice(0, before).includes('\n') && body.slice(after).includes('\n');
  return isOnOwnLines ? body.trim() : undefined;
};

const fence = '```';

/** Where the next object or array seems to start; the length of the text if none does. Brackets of ordinary text are passed over. */
const nextStart = (text: string, from: number): number => {
  start.lastIndex = from;
  return start.exec(text)?.index ?? text.length;
};

const start = /\{(?=\s{0,1000}["}])|\[(?=\s{0,1000}[[{"\]\d-]|\s{0,1000}(?:true|false|null)\b)/gu;

/** The position after the bracket that closes the one at `from`; null if there is none. */
const endOfValue = (text: string, from: number): number | null => {
  let open = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') at = endOfString(text, at);
    else if (char === '{' || char === '[') open++;
    else if ((char === '}' || char === ']') && --open === 0) return at + 1;
  }
  return null;
};
