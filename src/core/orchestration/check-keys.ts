// How a definition in code is told what is wrong with it: the field, and what was expected.
import { nearestName } from '#base';

/** Throws. */
export type RejectField = (field: string, expected: string) => never;

export const checkKeys = (value: object, known: readonly string[], prefix: string, wrong: RejectField): void => {
  for (const key of Object.keys(value))
    if (!known.includes(key)) wrong(`${prefix}${key}`, `a known key${didYouMeanHint(key, known)}`);
};

/** `; did you mean …` for a name that is nearly one of these. */
export const didYouMeanHint = (name: string, known: readonly string[]): string => {
  const meant = nearestName(name, known);
  return meant === null ? `; known are ${known.join(', ')}` : `; did you mean "${meant}"?`;
};

/** A value as a message shows it: short. */
export const describeGot = (value: unknown): string =>
  `got ${typeof value === 'number' ? value : (JSON.stringify(value)?.slice(0, 80) ?? typeof value)}`;
