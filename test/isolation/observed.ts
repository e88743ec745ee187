// What one cell could observe, in order, byte for byte; and where two such records part.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { hash } from 'node:crypto';

export type Sight = { readonly sink: string; readonly bytes: string };
export type Difference = {
  readonly sink: string;
  readonly offset: number;
  readonly one: string;
  readonly other: string;
};

export type ToolContext = { readonly signal: AbortSignal; readonly key: string };

/** The eyes of one cell. Ids that the runtime drew are renamed in idempotency keys alone: nothing else may hold one. */
export class Observer {
  readonly sights: Sight[] = [];
  readonly #name: string;
  readonly #drawn: ReadonlySet<string>;
  readonly #renamed: string[] = [];
  #requests = 0;

  constructor(name: string, drawn: ReadonlySet<string>) {
    this.#name = name;
    this.#drawn = drawn;
  }

  /** Records a whole request, field names in order included, and gives a digest that every byte of it changes. */
  request(options: LanguageModelV4CallOptions): string {
    const { abortSignal: _, ...shown } = options;
    const bytes = JSON.stringify([Object.keys(options), shown]);
    this.#see(`request ${++this.#requests}`, bytes);
    return hash('sha256', bytes).slice(0, 16);
  }

  toolCall(tool: string, args: unknown, context: ToolContext): void {
    const key = context.key.replace(/[0-9a-f]{12}/gu, (id) => (this.#drawn.has(id) ? this.#rename(id) : id));
    this.#see(`call of ${tool}`, JSON.stringify({ tool, args, key, context: Object.keys(context) }));
  }

  note(sink: string, value: unknown): void {
    this.#see(sink, JSON.stringify(value));
  }

  #rename(id: string): string {
    if (!this.#renamed.includes(id)) this.#renamed.push(id);
    return `id ${this.#renamed.indexOf(id)}`;
  }

  #see(sink: string, bytes: string): void {
    this.sights.push({ sink: `${this.#name}: ${sink}`, bytes });
  }
}

const excerptChars = 60;

export const firstDifference = (one: readonly Sight[], other: readonly Sight[]): Difference | null => {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [a, b] = [one[index] ?? nothing, other[index] ?? nothing];
    if (a.sink === b.sink && a.bytes === b.bytes) continue;
    const sink = a.sink === b.sink ? a.sink : `${a.sink} | ${b.sink}`;
    const offset = a.sink === b.sink ? firstOffset(a.bytes, b.bytes) : 0;
    const around = (text: string) => text.slice(Math.max(0, offset - excerptChars / 2), offset + excerptChars);
    return { sink, offset, one: around(a.bytes), other: around(b.bytes) };
  }
  return null;
};

const nothing: Sight = { sink: '(nothing)', bytes: '' };

const firstOffset = (one: string, other: string): number => {
  let offset = 0;
  while (offset < one.length && one[offset] === other[offset]) offset++;
  return offset;
};
