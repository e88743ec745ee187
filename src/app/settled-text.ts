// What a model has said in an attempt, from the record of the attempt: for readers who did not hear it while it was said.
import type { CellId, Hash } from '#base';
import type { AgentDefinition, Birth, Frame, ModelReply } from '#contracts';

type SettledTextOf = { readonly cell: CellId; readonly agent: string; readonly text: string };

/** A fold over the frames of a run. */
export class SettledText {
  readonly #births = new Map<CellId, Birth>();
  readonly #formats = new Map<Hash, AgentDefinition['output']['format']>();
  /** The newest request of each cell. */
  readonly #attempts = new Map<CellId, number>();

  /** Null: no text settles with this frame. Answers in JSON are told when they fit, as in the run's own process. */
  next({ cell, record, attempt, definitions = [] }: Frame): SettledTextOf | null {
    for (const { digest, definition } of definitions) this.#formats.set(digest, definition.output.format);
    if ('birth' in record && record.birth !== undefined) this.#births.set(record.birth.cell, record.birth);
    if (record.type === 'begin' && attempt !== undefined) this.#attempts.set(cell, record.op);
    if (record.type !== 'settle' || record.op !== this.#attempts.get(cell)) return null;
    this.#attempts.delete(cell);
    const birth = this.#births.get(cell);
    if (!record.ok || birth === undefined || this.#formats.get(birth.digest) === 'json') return null;
    const { parts } = record.value as unknown as ModelReply;
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return text === '' ? null : { cell, agent: birth.agent, text };
  }
}
