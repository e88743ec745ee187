// Code blocks in Markdown, line by line.

export type Fence = {
  readonly indent: string;
  /** Backticks or tildes, at most 8: it is repeated in each message that the block continues in. */
  readonly mark: string;
  readonly info: string;
  /** As long as in the text. */
  readonly marks: number;
};

/** Also as the first line of a list item. */
const opening = /^([ >]{0,20}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})?)(`{3,}(?=[^`]*$)|~{3,})(.*)$/u;
const marksMax = 8;

/** Undefined if this line begins no code block. */
export const openFence = (line: string): Fence | undefined => {
  const [, indent = '', marks = '', info = ''] = opening.exec(line) ?? [];
  return marks === '' ? undefined : { indent, mark: marks.slice(0, marksMax), info, marks: marks.length };
};

export const closesFence = (line: string, { mark, marks }: Fence): boolean => {
  const closing = line.replace(/^[ >]*/u, '').trimEnd();
  return closing.length >= marks && closing === mark[0]!.repeat(closing.length);
};

/** The code block that is open where the text is cut. A line counts from its end on. */
export const fenceAt = (text: string, end: number): Fence | undefined => {
  let fence: Fence | undefined;
  for (let start = 0; start <= end;) {
    const lineEnd = endOfLine(text, start);
    const line = text.slice(start, lineEnd).trimEnd();
    if (start + line.length > end) break;
    if (fence === undefined) fence = openFence(line);
    else if (closesFence(line, fence)) fence = undefined;
    start = lineEnd + 1;
  }
  return fence;
};

export const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
};

/** The first line of a message that begins inside the block. */
export const reopenFence = (fence: Fence | undefined): string =>
  fence === undefined ? '' : `${fence.mark}${/^\s*[\w+#.-]{1,20}/u.exec(fence.info)?.[0].trim() ?? ''}\n`;

/** The last line of a message that ends inside the block. */
export const closeFence = (fence: Fence | undefined): string => (fence === undefined ? '' : `\n${fence.mark}`);

/** What `reopenFence` and `closeFence` can add. */
export const fenceCharsMax = 2 * marksMax + 22;
