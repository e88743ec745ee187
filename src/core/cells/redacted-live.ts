// Live pieces of text without secrets: what may be the beginning of one waits until the next piece shows what it is.
import type { LiveEvent, Redact } from '#contracts';

type Piece = Extract<LiveEvent, { type: 'text-delta' | 'reasoning-delta' }>;

export class RedactedLive {
  readonly #redact: Redact;
  readonly #emit: (event: LiveEvent) => void;
  #open: { readonly type: Piece['type']; readonly stream: ReturnType<Redact['stream']> } | null = null;

  constructor(redact: Redact, emit: (event: LiveEvent) => void) {
    this.#redact = redact;
    this.#emit = emit;
  }

  emit(event: LiveEvent): void {
    if (event.type === 'text-reset') {
      this.#open = null;
      return this.#emit(event);
    }
    if (this.#open?.type !== event.type) {
      this.flush();
      this.#open = { type: event.type, stream: this.#redact.stream() };
    }
    this.#piece(event.type, this.#open!.stream.push(event.text));
  }

  /** What was held back turned out to be no secret. */
  flush(): void {
    const open = this.#open;
    this.#open = null;
    if (open !== null) this.#piece(open.type, open.stream.end());
  }

  #piece(type: Piece['type'], text: string): void {
    if (text !== '') this.#emit({ type, text });
  }
}
