// A message is one line of JSON metadata followed by its text, unescaped.

/** `decodeMessage` returns the text as a field beside the others. */
export const encodeMessage = (head: object, text: string): string => `${JSON.stringify(head)}\n${text}`;

/** Throws if the content has no metadata line. */
export const decodeMessage = (content: string): object & { readonly text: string } => {
  const end = content.indexOf('\n');
  return { ...(JSON.parse(content.slice(0, Math.max(0, end))) as object), text: content.slice(end + 1) };
};
