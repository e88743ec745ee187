// Words on lines that fit the terminal.
import { sanitizeLine, width } from './sanitize-text.ts';

/**
 * Foreign text made harmless, on lines of at most so many columns: the first one begins with `first`, the others with as
 * many spaces as `hang` says. A word that is longer than a line, such as a path, is left whole.
 */
export const wrapText = (first: string, text: string, columns: number, hang = 4): readonly string[] => {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of sanitizeLine(text).split(' ')) {
    if (!isEmpty && width(line) + 1 + width(word) > columns) {
      lines.push(line);
      line = ' '.repeat(hang);
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line.trimEnd()];
};
