// The JSON in what a model has answered.
import type { Json } from './json.ts';

/** The JSON value in an answer, with or without a fence or words around it. */
export const extractJson = (text: string): Json | undefined => {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/u.exec(text);
  for (const candidate of [fenced?.[1] ?? text, between(text, '{', '}'), between(text, '[', ']')]) {
    try {
      return JSON.parse(candidate) as Json;
    } catch {
      // Not this one.
    }
  }
  return undefined;
};

const between = (text: string, open: string, close: string): string =>
  text.slice(Math.max(0, text.indexOf(open)), text.lastIndexOf(close) + 1);
