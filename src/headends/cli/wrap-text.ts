// Wraps text to the terminal.
import { sanitizeLine, width } from './sanitize-text.ts';

/**
 * Sanitizes foreign text and wraps it to lines of at most `columns` columns: the first line starts with `first`, the others with
 * `hang` spaces. A word that is longer than a line, such as a path, is not broken.
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
