// Checks a token file: who may use a server, and what for.
import { json, listOf, object, readShape, readWhole, string } from '#base/shapes';
import { tokenShape } from '#contracts';
import type { Problem, TokenEntry } from '#contracts';
import { readJsonFile } from './read-json-file.ts';
import type { JsonFile } from './read-json-file.ts';

/** The entries are read one by one, so that those without problems can be checked against each other. */
const fileShape = {
  ...object({ tokens: { ...listOf(json()), expected: 'a list of tokens' } }, { $schema: string() }),
  expected: 'an object: { "tokens": [ … ] }',
};

type CheckedTokens = {
  /** An entry with problems leaves a gap. */
  readonly entries: readonly (TokenEntry | undefined)[];
  readonly problems: readonly Problem[];
  /** Adds a problem, for a caller that knows what is served. */
  readonly add: JsonFile['add'];
};

export const checkTokenFile = (name: string, content: string): CheckedTokens => {
  const file = readJsonFile(name, content);
  const tokens = file.value === undefined ? [] : (readShape(fileShape, file.value, file)?.tokens ?? []);
  const entries = tokens.map((entry, index) => readWhole(tokenShape, entry, file, ['tokens', index]));
  return { entries, problems: file.problems, add: file.add };
};
