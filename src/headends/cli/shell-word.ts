// Foreign text as one word of a shell, safe to be pasted.
import { oneLine } from './text.ts';

export const shellWord = (text: string): string => (/^[\w./@%+=:-]+$/u.test(text) ? oneLine(text) : quoted(text));

/** In the quotes that people use, unless a shell would read something into them. */
export const shellText = (text: string): string => {
  const line = oneLine(text);
  return /["$`\\!]/u.test(line) ? quoted(line) : `"${line}"`;
};

const quoted = (text: string): string => `'${oneLine(text).replaceAll("'", String.raw`'\''`)}'`;
