// Foreign text as one word of a shell, safe to be pasted.
import { sanitizeLine } from './sanitize-text.ts';

export const shellWord = (text: string): string => (/^[\w./@%+=:-]+$/u.test(text) ? sanitizeLine(text) : quoted(text));

/** In the quotes that people use, unless a shell would read something into them. */
export const shellText = (text: string): string => {
  const line = sanitizeLine(text);
  return /["$`\\!]/u.test(line) ? quoted(line) : `"${line}"`;
};

const quoted = (text: string): string => `'${sanitizeLine(text).replaceAll("'", String.raw`'\''`)}'`;
