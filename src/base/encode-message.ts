// A text with a line of JSON before it: what is said of it, and then the text as it is, without a character escaped.

/** When it is read back, the text is a field like the others. */
export const encodeMessage = (head: object, text: string): string => `${JSON.stringify(head)}\n${text}`;

/** Throws for what has no such line. */
export const decodeMessage = (content: string): object & { readonly text: string } => {
  const end = content.indexOf('\n');
  return { ...(JSON.parse(content.slice(0, Math.max(0, end))) as object), text: content.slice(end + 1) };
};
