// Finds the JSON value in a model's answer.
import type { Json } from './json.ts';

/** Accepts a code fence or other text around the value. */
export const extractJson = (text: string): Json | undefined => {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/u.exec(text);
  for (const candidate of [fenced?.[1] ?? text, between(text, '{', '}'), between(text, '[', ']')]) {
    try {
      return JSON.parse(candidate) as Json;
    } catch {
      // Try the next candidate.
    }
  }
  return undefined;
};

const between = (text: string, open: string, close: string): string =>
  text.slice(Math.max(0, text.indexOf(open)), text.lastIndexOf(close) + 1);
