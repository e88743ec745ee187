// Finds the JSON value in a model's answer.
import { readExactJson } from './exact-json.ts';
import type { ExactJson } from './exact-json.ts';
import type { Json } from './json.ts';

/**
 * The values that the answer may stand for, with or without a code fence or other text around them; none if it holds no JSON. A part
 * of a value is not another value. Two of them stand side by side in the text, so the caller decides which one is meant.
 */
export const readJsonAnswer = (text: string): readonly ExactJson[] => {
  const whole = readExactJson(fencedText(text) ?? text);
  if (whole !== undefined) return [whole];
  const spans = [spanOf(text, '{', '}'), spanOf(text, '[', ']')].sort((one, other) => one.from - other.from);
  const found: ExactJson[] = [];
  let readTo = 0;
  for (const { from, to } of spans) {
    const value = from < readTo || to <= from ? undefined : readExactJson(text.slice(from, to));
    if (value === undefined) continue;
    found.push(value);
    readTo = to;
  }
  return found;
};

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

type Span = { readonly from: number; readonly to: number };

const spanOf = (text: string, open: string, close: string): Span => {
  const from = text.indexOf(open);
  return from < 0 ? { from: text.length, to: 0 } : { from, to: text.lastIndexOf(close) + 1 };
};
