import { createRequire } from 'node:module';
import type * as Library from '@cfworker/json-schema';

type Formats = ReadonlyMap<string, (text: string) => boolean>;

let loaded: Formats | undefined;

/** Unknown formats are not checked. Each known one takes time that is linear in the text. Loaded when a schema has one. */
export const formatNamed = (name: string): ((text: string) => boolean) | undefined => {
  loaded ??= loadFormats();
  return loaded.get(name);
};

const loadFormats = (): Formats => {
  const { format } = createRequire(import.meta.url)('@cfworker/json-schema') as typeof Library;
  // `url` is not a format of JSON Schema, and the library's expression for it takes exponential time.
  return new Map([...Object.entries(format), ['url', format['uri']!]]);
};
