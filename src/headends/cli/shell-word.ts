// Foreign text as one shell word, safe to paste.
import { sanitizeLine } from './sanitize-text.ts';

export const shellWord = (text: string): string => (/^[\w./@%+=:-]+$/u.test(text) ? sanitizeLine(text) : quoted(text));

/** In double quotes, unless the shell would interpret something inside them. */
export const shellText = (text: string): string => {
  const line = sanitizeLine(text);
  return /["$`\\!]/u.test(line) ? quoted(line) : `"${line}"`;
};

const quoted = (text: string): string => `'${sanitizeLine(text).replaceAll("'", String.raw`'\''`)}'`;
