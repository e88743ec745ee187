// What one cell could observe, in order, byte for byte; and where two such records part.
import { hash } from 'node:crypto';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** `mark` is the bytes themselves, or stands for them: then `bytes` makes them. */
export type Observation = {
  readonly sink: string;
  readonly mark: string;
  readonly bytes: string | (() => string);
  readonly length: number;
};

export const createObservation = (sink: string, bytes: string): Observation => ({
  sink,
  mark: bytes,
  bytes,
  length: bytes.length,
});

export class Observer {
  readonly sights: Observation[] = [];
  #requests = 0;
  readonly #messages = new ReadParts();
  readonly #tools: ReadParts;

  /** `tools`: those that other sessions of the agent have sent, which are mostly the same. */
  constructor(tools = new ReadParts()) {
    this.#tools = tools;
  }

  record(sink: string, bytes: string): void {
    this.sights.push(createObservation(sink, bytes));
  }

  /** A whole request, field names in order included. Gives a mark that every byte of it changes. */
  request(options: LanguageModelV4CallOptions): string {
    const { prompt, tools } = options;
    const keys = Object.keys(options);
    // Looked at by name, so that a signal that nobody asks for is not made.
    const rest: unknown[] = [];
    for (const key of keys) if (!apart.has(key)) rest.push(key, options[key as keyof typeof options]);
    const [messages, listed] = [this.#messages.read(prompt), this.#tools.read(tools ?? none)];
    const text = JSON.stringify([keys, rest]) + messages.marks + listed.marks;
    const mark = hash('sha256', text, 'hex');
    const bytes = (): string => JSON.stringify([keys, rest, prompt, tools]);
    const length = text.length + messages.length + listed.length;
    this.sights.push({ sink: `request ${++this.#requests} to the model`, mark, bytes, length });
    return mark;
  }
}

const apart: ReadonlySet<string> = new Set(['abortSignal', 'prompt', 'tools']);

const none: readonly object[] = [];

/** Messages and tools are frozen and sent again and again: each is read once. */
export class ReadParts {
  readonly #parts: object[] = [];
  readonly #marks: string[] = [];
  readonly #lengths: number[] = [];

  read(parts: readonly object[]): { readonly marks: string; readonly length: number } {
    let [marks, length] = ['', 0];
    parts.forEach((part, index) => {
      if (this.#parts[index] !== part || !Object.isFrozen(part)) {
        const json = JSON.stringify(part);
        this.#parts[index] = part;
        this.#marks[index] = hash('sha256', json, 'base64url');
        this.#lengths[index] = json.length;
      }
      marks += this.#marks[index]!;
      length += this.#lengths[index]!;
    });
    return { marks, length };
  }
}

// ---- where two records part

export type Difference = {
  readonly sink: string;
  readonly offset: number;
  readonly one: string;
  readonly other: string;
};

/** By place. */
export type Observations = ReadonlyMap<string, readonly Observation[]>;

const excerptChars = 80;

export const firstDifference = (one: Observations, other: Observations): Difference | null => {
  for (const place of new Set([...one.keys(), ...other.keys()])) {
    const found = differenceAt(place, one.get(place) ?? [], other.get(place) ?? []);
    if (found !== null) return found;
  }
  return null;
};

const differenceAt = (place: string, one: readonly Observation[], other: readonly Observation[]): Difference | null => {
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

const nothing = createObservation('(nothing)', '');

const bytesOf = ({ bytes }: Observation): string => (typeof bytes === 'string' ? bytes : bytes());

const excerpt = (text: string, offset: number): string =>
  text.slice(Math.max(0, offset - excerptChars / 2), offset + excerptChars);

const firstOffset = (one: string, other: string): number => {
  let offset = 0;
  while (offset < one.length && offset < other.length && one[offset] === other[offset]) offset++;
  return offset;
};
