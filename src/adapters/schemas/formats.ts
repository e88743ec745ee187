import { createRequire } from 'node:module';
import type * as Library from '@cfworker/json-schema';

type Formats = ReadonlyMap<string, Format>;

type Format = { readonly matches: (text: string) => boolean; readonly steps: (text: string) => number };

let loaded: Formats | undefined;

/** Unknown formats are not checked. Each known one takes time that is linear in the text. Loaded when a schema has one. */
export const formatNamed = (name: string): Format | undefined => {
  loaded ??= loadFormats();
  return loaded.get(name);
};

const loadFormats = (): Formats => {
  const { format } = createRequire(import.meta.url)('@cfworker/json-schema') as typeof Library;
  // `url` is not a format of JSON Schema, and the library's expression for it takes exponential time.
  const formats = [...Object.entries(format), ['url', format['uri']!] as const];
  return new Map(
    formats.map(([name, matches]) => [name, { matches, steps: name === 'regex' ? regexSteps : charSteps }]),
  );
};

const charSteps = ({ length }: string): number => length;

/** JavaScript reads a table of Unicode for each property that an expression names, and sorts what a class lists. */
const regexSteps = (text: string): number =>
  text.length ** 2 / 64 + (text.length > 4_000 ? 0 : (text.match(/\\p\{/giu)?.length ?? 0) * 1_000);
