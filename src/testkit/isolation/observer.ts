// What one cell could observe, in order and byte for byte, and where two such lists differ.
import { hash } from 'node:crypto';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** `fingerprint` is the bytes themselves or a hash of them; in the latter case, `bytes` computes them. */
export type Observation = {
  readonly sink: string;
  readonly fingerprint: string;
  readonly bytes: string | (() => string);
  readonly length: number;
};

export const createObservation = (sink: string, bytes: string): Observation => ({
  sink,
  fingerprint: bytes,
  bytes,
  length: bytes.length,
});

export class Observer {
  readonly observations: Observation[] = [];
  #requests = 0;
  readonly #messages = new PartCache();
  readonly #tools: PartCache;

  /** `tools`: a cache shared by the sessions of an agent, which mostly send the same tools. */
  constructor(tools = new PartCache()) {
    this.#tools = tools;
  }

  record(sink: string, bytes: string): void {
    this.observations.push(createObservation(sink, bytes));
  }

  /** Records a complete request, including its field names in order. Returns a fingerprint that depends on every byte. */
  request(options: LanguageModelV4CallOptions): string {
    const { prompt, tools } = options;
    const keys = Object.keys(options);
    // Read by name, so that the getter of an unused abort signal is not called.
    const rest: unknown[] = [];
    for (const key of keys) if (!excludedKeys.has(key)) rest.push(key, options[key as keyof typeof options]);
    const [messages, listed] = [this.#messages.read(prompt), this.#tools.read(tools ?? none)];
    const text = JSON.stringify([keys, rest]) + messages.fingerprints + listed.fingerprints;
    const fingerprint = hash('sha256', text, 'hex');
    const bytes = (): string => JSON.stringify([keys, rest, prompt, tools]);
    const length = text.length + messages.length + listed.length;
    this.observations.push({ sink: `request ${++this.#requests} to the model`, fingerprint, bytes, length });
    return fingerprint;
  }
}

const excludedKeys: ReadonlySet<string> = new Set(['abortSignal', 'prompt', 'tools']);

const none: readonly object[] = [];

/** Messages and tools are frozen and sent repeatedly, so each is serialized only once. */
export class PartCache {
  readonly #parts: object[] = [];
  readonly #fingerprints: string[] = [];
  readonly #lengths: number[] = [];

  read(parts: readonly object[]): { readonly fingerprints: string; readonly length: number } {
    let [marks, length] = ['', 0];
    parts.forEach((part, index) => {
      if (this.#parts[index] !== part || !Object.isFrozen(part)) {
        const json = JSON.stringify(part);
        this.#parts[index] = part;
        this.#fingerprints[index] = hash('sha256', json, 'base64url');
        this.#lengths[index] = json.length;
      }
      marks += this.#fingerprints[index]!;
      length += this.#lengths[index]!;
    });
    return { fingerprints: marks, length };
  }
}

// ---- the first difference

export type Difference = {
  readonly sink: string;
  readonly offset: number;
  readonly one: string;
  readonly other: string;
};

/** Observations by place. */
export type Observations = ReadonlyMap<string, readonly Observation[]>;

const excerptChars = 80;

export const firstDifference = (one: Observations, other: Observations): Difference | null => {
  for (const place of new Set([...one.keys(), ...other.keys()])) {
    const found = compareAt(place, one.get(place) ?? [], other.get(place) ?? []);
    if (found !== null) return found;
  }
  return null;
};

export type ObservationComparison = {
  readonly observations: number;
  readonly bytes: number;
  readonly difference: Difference | null;
};

export const compareObservations = (one: Observations, other: Observations): ObservationComparison => {
  let [observations, bytes] = [0, 0];
  for (const seen of one.values()) {
    observations += seen.length;
    for (const { length } of seen) bytes += length;
  }
  return { observations, bytes, difference: firstDifference(one, other) };
};

const compareAt = (place: string, one: readonly Observation[], other: readonly Observation[]): Difference | null => {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [a, b] = [one[index] ?? nothing, other[index] ?? nothing];
    if (a.sink === b.sink && a.fingerprint === b.fingerprint) continue;
    const sink = a.sink === b.sink ? a.sink : `${a.sink} | ${b.sink}`;
    const [first, second] = [bytesOf(a), bytesOf(b)];
    const offset = a.sink === b.sink ? firstOffset(first, second) : 0;
    return { sink: `${place}: ${sink}`, offset, one: excerpt(first, offset), other: excerpt(second, offset) };
  }
  return null;
};

const nothing = createObservation('(nothing)', '');

export const bytesOf = ({ bytes }: Observation): string => (typeof bytes === 'string' ? bytes : bytes());

const excerpt = (text: string, offset: number): string =>
  text.slice(Math.max(0, offset - excerptChars / 2), offset + excerptChars);

const firstOffset = (one: string, other: string): number => {
  let offset = 0;
  while (offset < one.length && offset < other.length && one[offset] === other[offset]) offset++;
  return offset;
};
