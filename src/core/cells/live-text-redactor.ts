// Live pieces of text without secrets: what may be the beginning of one waits until the next piece shows what it is.
import type { LiveEvent, Redact } from '#contracts';

type Piece = Extract<LiveEvent, { type: 'text-delta' | 'reasoning-delta' }>;

type Streams = Partial<Record<Piece['type'], ReturnType<Redact['stream']>>>;

export class LiveTextRedactor {
  readonly #redact: Redact;
  readonly #emit: (event: LiveEvent) => void;
  /** One for each kind of text: a thought in the middle of a sentence does not end it. */
  #streams: Streams = {};

  constructor(redact: Redact, emit: (event: LiveEvent) => void) {
    this.#redact = redact;
    this.#emit = emit;
  }

  emit(event: LiveEvent): void {
    if (event.type === 'text-reset') {
      this.#streams = {};
      return this.#emit(event);
    }
    const stream = (this.#streams[event.type] ??= this.#redact.stream());
    this.#piece(event.type, /* probe: live-piece */ stream.push(event.text));
  }

  /** What was held back turned out to be no secret. */
  flush(): void {
    const streams = this.#streams;
    this.#streams = {};
    for (const type of ['reasoning-delta', 'text-delta'] as const) this.#piece(type, streams[type]?.end() ?? '');
  }

  #piece(type: Piece['type'], text: string): void {
    if (text !== '') this.#emit({ type, text });
  }
}
