// The errors in events: the texts of the catalogue and, for a reader who sees causes, what is known about each failure.
import { errorCatalogue, publicFailure } from '#base';
import type { CellId, ErrorCode, Failure } from '#base';
import { failureAsSeen, seesCauses } from '#contracts';
import type { EventError, Frame, Sees } from '#contracts';
import { FailureNotes } from './failure-notes.ts';

export class EventErrors {
  readonly #sees: Sees;
  /** Undefined for a reader who does not see causes. */
  readonly #notes: FailureNotes | undefined;

  constructor(sees: Sees) {
    this.#sees = sees;
    this.#notes = seesCauses(sees) ? new FailureNotes() : undefined;
  }

  /** Call it with each frame, before asking for errors in that frame. */
  next(frame: Frame): void {
    this.#notes?.next(frame);
  }

  /** Of an operation that this frame settles. */
  ofOperation(cell: CellId, op: number, failure: Failure | undefined): EventError | null {
    return failure === undefined ? null : this.#error(this.#notes?.ofOperation(cell, op, failure) ?? failure);
  }

  /** Of a cell that has ended. */
  ofEnd(cell: CellId, failure: Failure | null, at: number): EventError | null {
    const error = failure && this.#error(this.#notes?.ofWork(cell, failure, at) ?? failure);
    this.#notes?.forget(cell);
    return error;
  }

  /** Why the work that an answer in this frame ends has failed, or is incomplete. */
  ofAnswer({ cell, record, at }: Frame): EventError | null {
    const code = record.type === 'post' && record.name === 'mail:answer' ? record.about?.['error'] : undefined;
    if (typeof code !== 'string') return null;
    const failure = { code: code as ErrorCode };
    return this.#error(this.#notes?.ofWork(cell, failure, at) ?? failure);
  }

  /** An unknown code can only come from a changed log; the audit reports it. */
  #error(failure: Failure): EventError {
    const error = publicFailure(Object.hasOwn(errorCatalogue, failure.code) ? failure : { code: 'defect' });
    // probe: event-cause
    const { detail = '' } = failureAsSeen(failure, this.#sees);
    return detail === '' ? error : { ...error, detail };
  }
}
