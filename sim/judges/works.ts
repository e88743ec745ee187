// Follows the work of each resident through the log: whom it is for, whom it wrote to, and what it read on the way.
import type { CellId } from '#base';
import type { CrossingEnd } from '#contracts';
import type { MailStep } from './mail-walk.ts';

export type Work = {
  /** Who started the cell. */
  readonly caller: CrossingEnd;
  asker: { readonly from: CrossingEnd; readonly id: string | null } | null;
  isAnswered: boolean;
  written: Set<CrossingEnd>;
  /** A person's messages that it read while it worked for another; the next work answers them. */
  deferred: readonly { readonly seq: number; readonly id: string; readonly chain: string }[];
};

/** A cell that starts with a goal works for whoever gave it. */
const firstWork = ({ frame: { cell }, live }: MailStep): Work => {
  const caller = live.get(cell)?.birth.parent ?? 'outside';
  return { caller, asker: { from: caller, id: null }, isAnswered: false, written: new Set(), deferred: [] };
};

/** Whom an answer goes to; null: nobody. What a root says unasked goes to the person. */
export const answerEnd = ({ asker, caller }: Work): CrossingEnd | null =>
  asker?.from ?? (caller === 'outside' ? 'outside' : null);

export class Works {
  readonly #works = new Map<CellId, Work>();

  /** The work of the step's cell, before the step. */
  of(step: MailStep): Work {
    const { cell } = step.frame;
    const work = this.#works.get(cell) ?? firstWork(step);
    this.#works.set(cell, work);
    return work;
  }

  update(step: MailStep): void {
    const { frame, received, deliveries } = step;
    const { record } = frame;
    const work = this.of(step);
    if (record.type === 'post' && record.name === 'tool:send_message')
      for (const { to } of deliveries) work.written.add(to);
    if (record.type === 'post' && record.name === 'mail:answer') work.isAnswered = true;
    if (received === null || received.value === null) return;
    const asking = received.deliveries.flatMap(({ mail, from, seq }) =>
      mail?.message_type === 'message' ? [{ from, id: mail.id, chain: mail.chain, seq }] : [],
    );
    if (received.receive.name !== 'wait') {
      for (const { seq, chain, ...asker } of asking)
        if (asker.from === work.asker?.from) work.asker = asker;
        else if (asker.from === 'outside') work.deferred = [...work.deferred, { seq, id: asker.id, chain }];
      return;
    }
    if (received.value.closing === true) return;
    const [newest, answered] = [asking.at(-1), work.deferred.at(-1)];
    work.asker = newest === undefined ? null : { from: newest.from, id: newest.id };
    if (answered !== undefined) work.asker = { from: 'outside', id: answered.id };
    Object.assign(work, { isAnswered: false, written: new Set(), deferred: [] });
  }
}
