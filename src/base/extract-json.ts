// Finds the JSON value in a model's answer.
import type { Json } from './json.ts';

/** Accepts a code fence or other text around the value. */
export const extractJson = (text: string): Json | undefined => {
  for (const candidate of [fencedText(text) ?? text, between(text, '{', '}'), between(text, '[', ']')]) {
    try {
      return JSON.parse(candidate) as Json;
    } catch {
      // Try the next candidate.
    }
  }
  return undefined;
};

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

const between = (text: string, open: string, close: string): string =>
  text.slice(Math.max(0, text.indexOf(open)), text.lastIndexOf(close) + 1);
