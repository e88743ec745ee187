// The texts that one cell writes, attempt by attempt.
//
//   texts-withdrawn. What a failed attempt wrote is withdrawn when the next attempt begins.
//   texts-whole. Text is passed on as it is written only if its beginning was seen; otherwise it follows whole from the recorded reply, if
//       the reader may see that.
import type { CellId } from '#base';
import type { SaidPart } from '#contracts';
import type { EventOf, TextActivity, TextKind } from './run-activity.ts';

type Text = { readonly id: string; readonly kind: TextKind; sent: string; isOpen: boolean };

export class CellTexts {
  readonly #cell: CellId;
  readonly #by: CellId | null;
  readonly #isLate: boolean;
  /** Texts of earlier turns. */
  readonly #earlier: string[] = [];
  /** Those of the current attempt. */
  #texts: Text[] = [];
  /** White space at the end of the newest text, held back until more text comes. */
  #space = '';
  #turn: number | null = null;
  #op: number | null = null;
  /** An operation that was interrupted by a crash is attempted again. */
  #attempt = 0;
  #count = 0;
  #isComplete: boolean;
  #hasFailed = false;

  constructor(cell: CellId, by: CellId | null, isLate: boolean) {
    this.#cell = cell;
    this.#by = by;
    this.#isLate = isLate;
    this.#isComplete = !isLate;
  }

  /** The id of the newest text of this turn. */
  get lastText(): string | null {
    return this.#texts.findLast(({ kind }) => kind === 'text')?.id ?? null;
  }

  add(kind: TextKind, piece: string): readonly TextActivity[] {
    return this.#isComplete ? this.#write(kind, piece) : [];
  }

  startAttempt({ op, turn }: EventOf<'model-start'>): readonly TextActivity[] {
    const isNewTurn = turn !== this.#turn;
    const before = isNewTurn && !this.#hasFailed ? this.#endTurn() : this.#withdraw();
    this.#attempt = op === this.#op ? this.#attempt + 1 : 0;
    this.#count = 0;
    [this.#turn, this.#op, this.#hasFailed, this.#isComplete] = [turn, op, false, !this.#isLate];
    return isNewTurn ? [...before, { type: 'turn', by: this.#by }] : before;
  }

  /** From now on, nothing is missed. */
  reset(): readonly TextActivity[] {
    this.#isComplete = true;
    return this.#withdraw();
  }

  /** Pieces were dropped. */
  markLost(): void {
    this.#isComplete = false;
  }

  endAttempt({ ok, details }: EventOf<'model-end'>): readonly TextActivity[] {
    this.#hasFailed = !ok;
    return ok && details !== undefined ? this.#complete(details.said) : [];
  }

  /** The cell ends with this answer; empty: with none. */
  finish(answer: string): readonly TextActivity[] {
    if (answer === '') return [];
    this.#isComplete = true;
    const written = this.#written('text');
    const isKept = !this.#hasFailed;
    if (isKept && written !== '' && answer.startsWith(written)) return this.#append(answer.slice(written.length));
    const isSaid = this.#earlier.includes(answer.trimEnd());
    if (isKept && written === '' && isSaid) return [];
    const withdrawn = this.#withdraw();
    return isSaid ? withdrawn : [...withdrawn, ...this.#start('text', answer)];
  }

  close(): readonly TextActivity[] {
    this.#space = '';
    const open = this.#texts.filter(({ isOpen }) => isOpen);
    // Pieces at its end were dropped, and this reader may not see the recorded reply.
    const rest = open.length > 0 && !this.#isComplete && !this.#hasFailed ? this.#append(' …') : [];
    return [...rest, ...open.map((text) => this.#end(text))];
  }

  #write(kind: TextKind, piece: string): readonly TextActivity[] {
    const open = this.#open(kind);
    const whole = open === undefined ? piece : this.#space + piece;
    const shown = kind === 'text' ? whole.trimEnd() : whole;
    // Blank text before anything else starts no text.
    if (open === undefined && shown.trim() === '') return [];
    const told = open === undefined ? this.#start(kind, shown) : this.#append(shown);
    this.#space = whole.slice(shown.length);
    return told;
  }

  #open(kind: TextKind): Text | undefined {
    const last = this.#texts.at(-1);
    return last?.isOpen === true && last.kind === kind ? last : undefined;
  }

  #start(kind: TextKind, text: string): readonly TextActivity[] {
    const before = this.close();
    const id = [kind, this.#cell, this.#op ?? 'end', this.#attempt, this.#count++].join('-');
    this.#texts.push({ id, kind, sent: text, isOpen: true });
    return [...before, { type: 'text', kind, by: this.#by, id, text }];
  }

  /** To the newest text; if that has ended, as a new one. */
  #append(text: string): readonly TextActivity[] {
    const last = this.#texts.at(-1);
    if (text === '' || last === undefined) return [];
    if (!last.isOpen) return text.trim() === '' ? [] : this.#start(last.kind, text);
    last.sent += text;
    return [{ type: 'text', kind: last.kind, by: this.#by, id: last.id, text }];
  }

  #end(text: Text): TextActivity {
    text.isOpen = false;
    return { type: 'text-end', kind: text.kind, by: this.#by, id: text.id };
  }

  #endTurn(): readonly TextActivity[] {
    const ended = this.close();
    const written = this.#written('text');
    if (written !== '') this.#earlier.push(written);
    this.#texts = [];
    return ended;
  }

  #withdraw(): readonly TextActivity[] {
    const ended = this.close();
    const ids = this.#texts.map(({ id }) => id);
    this.#texts = [];
    return ids.length === 0 ? [] : [...ended, { type: 'withdrawn', by: this.#by, ids }];
  }

  #written(kind: TextKind): string {
    return this.#texts.map((text) => (text.kind === kind ? text.sent : '')).join('');
  }

  /** Adds what was not sent of a reply. */
  #complete(said: readonly SaidPart[]): readonly TextActivity[] {
    const wasComplete = this.#isComplete;
    this.#isComplete = true;
    const parts = said.filter((part) => part.type !== 'call');
    const whole = (kind: TextKind): string =>
      parts
        .map(({ type, text }) => (type === kind ? text : ''))
        .join('')
        .trimEnd();
    const written = this.#written('text');
    const isThere = written === whole('text');
    if (isThere && (wasComplete || this.#written('reasoning').trimEnd() === whole('reasoning'))) return [];
    if (this.#open('text') !== undefined && whole('text').startsWith(written))
      return this.#write('text', whole('text').slice(written.length).slice(this.#space.length));
    return [...this.#withdraw(), ...parts.flatMap(({ type, text }) => this.#write(type, text))];
  }
}
