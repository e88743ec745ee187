// Removes secrets from live text. Text that could be the start of a secret is held back until the next piece decides.
import type { LiveEvent, Redact } from '#contracts';

type TextEvent = Extract<LiveEvent, { type: 'text-delta' | 'reasoning-delta' }>;

type Streams = Partial<Record<TextEvent['type'], ReturnType<Redact['stream']>>>;

export class LiveTextRedactor {
  readonly #redact: Redact;
  readonly #emit: (event: LiveEvent) => void;
  /** One stream per kind of text: reasoning in the middle of a sentence does not end the sentence. */
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
    this.#emitText(event.type, /* probe: live-piece */ stream.push(event.text));
  }

  /** Emits the text that was held back: it turned out not to be a secret. */
  flush(): void {
    const streams = this.#streams;
    this.#streams = {};
    for (const type of ['reasoning-delta', 'text-delta'] as const) this.#emitText(type, streams[type]?.end() ?? '');
  }

  #emitText(type: TextEvent['type'], text: string): void {
    if (text !== '') this.#emit({ type, text });
  }
}
