/** One line of JSON metadata, then the text, unescaped. `contracts/crossing-content.ts` reads it. */
export const encodeMessage = (head: object, text: string): string => `${JSON.stringify(head)}\n${text}`;
