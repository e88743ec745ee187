// What the root of a run said before its latest tool calls. If the session is stopped then, the log keeps it as the session's output.
// It is no answer, so reports leave it out.
import type { CellId } from '#base';
import type { Frame, ModelReply, Outcome } from '#contracts';

/** A fold over the frames of a run. */
export class InterimText {
  #root: CellId | null = null;
  /** The root's latest request. */
  #attempt: number | null = null;
  /** Null: the root's latest text came without calls. */
  #text: string | null = null;

  next({ cell, record, attempt }: Frame): void {
    this.#root ??= cell;
    if (cell !== this.#root) return;
    if (record.type === 'begin' && attempt !== undefined) this.#attempt = record.op;
    if (record.type !== 'settle' || record.op !== this.#attempt || !record.ok) return;
    const { parts, finish } = record.value as unknown as ModelReply;
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    // Such a reply leaves the session's latest text as it was.
    if (text.trim() === '' || finish === 'error' || finish === 'content-filter') return;
    this.#text = parts.some(({ type }) => type === 'call') ? text : null;
  }

  /** The answer in an outcome, or nothing. In its last turn a session is told to answer, whatever else it calls. */
  answerOf({ status, output }: Outcome): string {
    const isStopped = status !== 'completed' && status !== 'partial';
    return isStopped && output === this.#text ? '' : output;
  }
}
