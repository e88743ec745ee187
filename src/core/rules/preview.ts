// preview@1: the beginning of a text that is too long to show whole.

/** Cuts by UTF-8 bytes without splitting a character. */
export const cutBytes = (text: string, bytesMax: number): string => {
  // A character has at least one byte, so what comes later cannot be shown. It may be megabytes.
  const bytes = Buffer.from(text.length > bytesMax ? text.slice(0, bytesMax + 1) : text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
};

/** How much of a long text is shown. */
export const previewBytesMax = 1_200;

/** The beginning of the text, and how to read the rest by name. */
export const preview = (text: string, name: string, shownBytes = previewBytesMax): string => {
  const { shown, more } = splitPreview(text, name, shownBytes);
  return `${shown}\n[${more}]`;
};

export const splitPreview = (text: string, name: string, shownBytes: number): { shown: string; more: string } => {
  const shown = cutBytes(text, shownBytes);
  const [size, from] = [Buffer.byteLength(text), Buffer.byteLength(shown)];
  return {
    shown,
    more: `${size} bytes total, first ${from} shown. Read more with read_output {"name": "${name}", "from": ${from}}.`,
  };
};

/** The most bytes shown of each of several texts. It depends on their number, not on how long the others are. */
export const bytesForEach = (bytesMax: number, count: number): number =>
  Math.max(Math.min(bytesMax, 80), Math.floor(bytesMax / Math.max(1, count)));

/** `<tool>_001.<ext>`: the n-th output of that tool in its cell. */
export const outputName = (tool: string, nth: number, extension: string): string =>
  `${tool}_${String(nth).padStart(3, '0')}.${extension}`;
