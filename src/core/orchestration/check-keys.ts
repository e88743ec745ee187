// Checks shared by definitions in code. An error names the field and what was expected.
import { nearestName } from '#base';

/** Throws. */
export type RejectField = (field: string, expected: string) => never;

export const checkKeys = (value: object, known: readonly string[], prefix: string, reject: RejectField): void => {
  for (const key of Object.keys(value))
    if (!known.includes(key)) reject(`${prefix}${key}`, `a known key${didYouMeanHint(key, known)}`);
};

/** `<field>: expected …`, with a full stop unless it ends with a question. */
export const expectationText = (field: string, expected: string): string =>
  `${field}: expected ${expected}${expected.endsWith('?') ? '' : '.'}`;

/** `; did you mean …` if the name is close to a known one, otherwise the known names. */
export const didYouMeanHint = (name: string, known: readonly string[]): string => {
  const suggestion = nearestName(name, known);
  return suggestion === null ? `; known keys: ${known.join(', ')}` : `; did you mean "${suggestion}"?`;
};

/** A value shortened for an error message. */
export const describeGot = (value: unknown): string =>
  `got ${typeof value === 'number' ? value : (JSON.stringify(value)?.slice(0, 80) ?? typeof value)}`;
