import { format as known } from '@cfworker/json-schema';

/** Unknown formats are not checked. Each known one takes time that is linear in the text. */
export const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ...Object.entries(known),
  // Not a format of JSON Schema, and the library's expression for it takes exponential time.
  ['url', known['uri']!],
]);
