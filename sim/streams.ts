// A model's answer in pieces, as its provider sends them: late, cut off, or never.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Process } from './process.ts';
import type { Said } from './replies.ts';

export type Piece =
  | { readonly part: LanguageModelV4StreamPart; readonly afterMs: number }
  | { readonly error: Error }
  /** Nothing more comes. */
  | 'stall';

type Read = { readonly done: boolean; readonly value: LanguageModelV4StreamPart | undefined };

/** As much of a ReadableStream as the runtime uses: real ones cost more than all else in a seed. */
export const streamOf = (
  pieces: readonly Piece[],
  process: Process,
  lateAfterStop: boolean,
): ReadableStream<LanguageModelV4StreamPart> => {
  const reader = new PieceReader(pieces, process, lateAfterStop);
  return { getReader: () => reader } as unknown as ReadableStream<LanguageModelV4StreamPart>;
};

class PieceReader {
  readonly #pieces: readonly Piece[];
  readonly #process: Process;
  readonly #lateAfterStop: boolean;
  #next = 0;
  #stopped = false;
  #waiting: ((read: Read) => void) | null = null;

  constructor(pieces: readonly Piece[], process: Process, lateAfterStop: boolean) {
    this.#pieces = pieces;
    this.#process = process;
    this.#lateAfterStop = lateAfterStop;
  }

  read(): Promise<Read> {
    const piece = this.#pieces[this.#next++];
    if (piece === undefined || this.#stopped) return Promise.resolve(over);
    if (piece === 'stall') return new Promise((resolve) => (this.#waiting = resolve));
    if ('error' in piece) return Promise.reject(piece.error);
    const read: Read = { done: false, value: piece.part };
    if (piece.afterMs === 0) return this.#process.touch('piece') ? Promise.resolve(read) : new Promise(() => undefined);
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#process.later(piece.afterMs, 'piece', () => {
        this.#waiting = null;
        if (this.#process.touch('piece')) resolve(read);
      });
    });
  }

  /** Whoever still waits is told that it is over; a careless provider sends the piece all the same. */
  cancel(): Promise<void> {
    this.#stopped = true;
    if (!this.#lateAfterStop) this.#waiting?.(over);
    return Promise.resolve();
  }
}

const over: Read = { done: true, value: undefined };

export type Finish = {
  readonly reason: 'stop' | 'tool-calls' | 'length' | 'error' | 'content-filter';
  readonly usage: Usage;
};
export type Usage = {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cacheRead: number;
  readonly cacheWrite: number;
};

/** The parts of a whole answer. `wait` says how long each takes. */
export const piecesOf = (said: Said, { reason, usage }: Finish, count: number, wait: () => number): Piece[] => {
  const parts: LanguageModelV4StreamPart[] = [];
  if (said.reasoning !== '')
    parts.push(...block('reasoning', said.reasoning, 2, { sim: { signature: said.reasoning } }));
  if (said.text !== '') for (const part of block('text', said.text, count)) parts.push(part);
  for (const { id, name, input } of said.calls)
    parts.push({ type: 'tool-call', toolCallId: id, toolName: name, input });
  parts.push({
    type: 'finish',
    finishReason: { unified: reason, raw: undefined },
    usage: {
      inputTokens: { total: usage.input, noCache: undefined, cacheRead: usage.cacheRead, cacheWrite: usage.cacheWrite },
      outputTokens: { total: usage.output, text: usage.output, reasoning: undefined },
    },
  });
  return parts.map((part) => ({ part, afterMs: wait() }));
};

const block = (
  type: 'text' | 'reasoning',
  text: string,
  count: number,
  providerMetadata?: { readonly sim: { readonly signature: string } },
): LanguageModelV4StreamPart[] => {
  const size = Math.ceil(text.length / count);
  const deltas = Array.from({ length: count }, (_, index): LanguageModelV4StreamPart => {
    return { type: `${type}-delta`, id: type, delta: text.slice(index * size, (index + 1) * size) };
  });
  return [
    { type: `${type}-start`, id: type },
    ...deltas,
    { type: `${type}-end`, id: type, ...(providerMetadata && { providerMetadata }) },
  ];
};
