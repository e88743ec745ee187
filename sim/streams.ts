// A model's reply in pieces, as its provider sends them: late, cut off, or never.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Process } from './process.ts';
import type { SimulatedReply } from './replies.ts';

export type Piece =
  | { readonly part: LanguageModelV4StreamPart; readonly afterMs: number }
  | { readonly error: Error }
  /** No further piece arrives. */
  | 'stall';

type Read = { readonly done: boolean; readonly value: LanguageModelV4StreamPart | undefined };

/** Only what the runtime uses of a ReadableStream, because real streams would cost more time than all the rest of a seed. */
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
    if (piece === undefined || this.#stopped) return Promise.resolve(endOfStream);
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

  /** Ends a pending read; a careless provider sends the piece anyway. */
  cancel(): Promise<void> {
    this.#stopped = true;
    if (!this.#lateAfterStop) this.#waiting?.(endOfStream);
    return Promise.resolve();
  }
}

const endOfStream: Read = { done: true, value: undefined };

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

/** The parts of a complete reply. `wait` returns the delay of each. */
export const piecesOf = (
  reply: SimulatedReply,
  { reason, usage }: Finish,
  count: number,
  wait: () => number,
): Piece[] => {
  const parts: LanguageModelV4StreamPart[] = [];
  if (reply.reasoning !== '')
    parts.push(...block('reasoning', reply.reasoning, 2, { sim: { signature: reply.reasoning } }));
  if (reply.text !== '') for (const part of block('text', reply.text, count)) parts.push(part);
  for (const { id, name, input } of reply.calls)
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
