// What one cell could observe, in order, byte for byte; and where two such records part.
import { hash } from 'node:crypto';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** `mark` is the bytes themselves, or stands for them: then `bytes` makes them. */
export type Sight = {
  readonly sink: string;
  readonly mark: string;
  readonly bytes: string | (() => string);
  readonly length: number;
};

export const sightOf = (sink: string, bytes: string): Sight => ({ sink, mark: bytes, bytes, length: bytes.length });

export class Eye {
  readonly sights: Sight[] = [];
  #requests = 0;

  see(sink: string, bytes: string): void {
    this.sights.push(sightOf(sink, bytes));
  }

  /** A whole request, field names in order included. Gives a mark that every byte of it changes. */
  request(options: LanguageModelV4CallOptions): string {
    const { mark, length, bytes } = markOf(options);
    this.sights.push({ sink: `request ${++this.#requests} to the model`, mark, bytes, length });
    return mark;
  }
}

type Marked = { readonly mark: string; readonly length: number; readonly bytes: () => string };

export const markOf = (options: LanguageModelV4CallOptions): Marked => {
  const { prompt, tools } = options;
  const keys = Object.keys(options);
  // Looked at by name, so that a signal that nobody asks for is not made.
  const rest: unknown[] = [];
  for (const key of keys) if (!apart.has(key)) rest.push(key, options[key as keyof typeof options]);
  let length = 0;
  let text = JSON.stringify([keys, rest]);
  for (const parts of [prompt, tools ?? none])
    for (const part of parts) {
      const known = partOf(part);
      length += known.length;
      text += known.mark;
    }
  const all = { prompt, tools };
  return {
    mark: hash('sha256', text, 'hex'),
    length: length + text.length,
    bytes: () => JSON.stringify([keys, rest, all]),
  };
};

const apart: ReadonlySet<string> = new Set(['abortSignal', 'prompt', 'tools']);

const none: readonly object[] = [];

type KnownPart = { readonly mark: string; readonly length: number };

const known = new WeakMap<object, KnownPart>();

/** Messages and tools are frozen and sent again and again: each is read once. */
const partOf = (part: object): KnownPart => {
  const before = known.get(part);
  if (before !== undefined) return before;
  const json = JSON.stringify(part);
  const made = { mark: hash('sha256', json, 'hex'), length: json.length };
  if (Object.isFrozen(part)) known.set(part, made);
  return made;
};

// ---- where two records part

export type Difference = {
  readonly sink: string;
  readonly offset: number;
  readonly one: string;
  readonly other: string;
};

/** By place. */
export type Sights = ReadonlyMap<string, readonly Sight[]>;

const excerptChars = 80;

export const firstDifference = (one: Sights, other: Sights): Difference | null => {
  for (const place of new Set([...one.keys(), ...other.keys()])) {
    const found = differenceAt(place, one.get(place) ?? [], other.get(place) ?? []);
    if (found !== null) return found;
  }
  return null;
};

const differenceAt = (place: string, one: readonly Sight[], other: readonly Sight[]): Difference | null => {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [a, b] = [one[index] ?? nothing, other[index] ?? nothing];
    if (a.sink === b.sink && a.mark === b.mark) continue;
    const sink = a.sink === b.sink ? a.sink : `${a.sink} | ${b.sink}`;
    const [first, second] = [bytesOf(a), bytesOf(b)];
    const offset = a.sink === b.sink ? firstOffset(first, second) : 0;
    return { sink: `${place}: ${sink}`, offset, one: excerpt(first, offset), other: excerpt(second, offset) };
  }
  return null;
};

const nothing = sightOf('(nothing)', '');

const bytesOf = ({ bytes }: Sight): string => (typeof bytes === 'string' ? bytes : bytes());

const excerpt = (text: string, offset: number): string =>
  text.slice(Math.max(0, offset - excerptChars / 2), offset + excerptChars);

const firstOffset = (one: string, other: string): number => {
  let offset = 0;
  while (offset < one.length && offset < other.length && one[offset] === other[offset]) offset++;
  return offset;
};
