// Everything that happened, line by line. The same seed gives the same trace.
import { hash } from 'node:crypto';

export class Trace {
  readonly #lines: string[] = [];

  note(line: string): void {
    this.#lines.push(line);
  }

  last(lines: number): readonly string[] {
    return lines === 0 ? [] : this.#lines.slice(-lines);
  }

  get length(): number {
    return this.#lines.length;
  }

  hash(): string {
    return hash('sha256', this.#lines.join('\n'), 'hex');
  }
}

/** Long enough to distinguish two texts. */
export const shortHash = (text: string | Uint8Array): string => hash('sha1', text, 'hex').slice(0, 16);
