// The log of one run, as the process writes it that owns the run.
//
//   durable-while-owned. Under a lease, `durable` settles only at a moment at which nobody else can own the run.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, RunLog } from '#contracts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { Ack } from './messages.ts';
import type { Batch, RunFailure, Writer } from './writer.ts';

type RunLogPorts = {
  readonly run: RunId;
  readonly writer: Writer;
  /** Absent: the run is owned until it is released, or until a commit finds that it was lost. */
  readonly keeper: LeaseKeeper | undefined;
  readonly forget: () => void;
};

/** A class to save memory: thousands of these can be in flight at once. */
export class DurableRunLog implements RunLog {
  readonly #ports: RunLogPorts;
  #epoch = 0;
  #newest: Batch | undefined;
  #waiting: { readonly batch: Batch; readonly promise: Promise<void> } | undefined;
  #committed = -1;
  #onCommit: ((newest: number) => void) | undefined;
  #onFailure: ((error: CloisterError) => void) | undefined;
  #failure: CloisterError | undefined;
  #closing: Promise<void> | undefined;
  /** The newest term of the lease in which the store said that the run still has this epoch. */
  #confirmedIn = 0;
  #confirming: Promise<void> | undefined;
  #owning: Promise<void> | undefined;

  constructor(ports: RunLogPorts) {
    this.#ports = ports;
  }

  acquired(epoch: number, term: number): this {
    this.#epoch = epoch;
    this.#confirmedIn = term;
    return this;
  }

  append(frame: Frame): void {
    if (this.#closing !== undefined) this.fail({ detail: 'A frame was appended after the run was released.' });
    if (this.#failure !== undefined) return;
    const { run, writer } = this.#ports;
    try {
      const body = JSON.stringify(frame);
      this.#newest = writer.add({ do: 'frame', run, no: frame.no, body, epoch: this.#epoch });
    } catch (error) {
      this.fail({ detail: `Frame ${frame.no} is not JSON: ${String(error)}` });
    }
  }

  durable(): Promise<void> | undefined {
    const batch = this.#newest;
    if (this.#failure !== undefined) return ignoreUnhandled(Promise.reject(this.#failure));
    // probe: log-newest-answered
    if (batch === undefined || batch.ack !== undefined) return /* probe: durable-and-owned */ this.stillOwned();
    if (this.#waiting?.batch !== batch) this.#waiting = { batch, promise: ignoreUnhandled(this.#wait(batch)) };
    return this.#waiting.promise;
  }

  stillOwned(): Promise<void> | undefined {
    if (this.#failure !== undefined) return ignoreUnhandled(Promise.reject(this.#failure));
    const { keeper } = this.#ports;
    if (keeper === undefined || keeper.standing(this.#confirmedIn) === 'owned') return undefined;
    return (this.#owning ??= ignoreUnhandled(this.#untilOwned(keeper).finally(() => (this.#owning = undefined))));
  }

  onCommit(listener: (newest: number) => void): void {
    this.#onCommit = listener;
    if (this.#committed >= 0) listener(this.#committed);
  }

  /** `term`: that in which the commit was asked for. It has found the epoch unchanged. */
  commit(newest: number, term: number): void {
    if (this.#failure !== undefined) return;
    this.#committed = newest;
    this.#confirmedIn = Math.max(this.#confirmedIn, term);
    this.#onCommit?.(newest);
  }

  /** Somebody may have taken the run over: asks at once, so that nobody pays for what is in flight. */
  checkOwner(): void {
    const isAcquired = this.#epoch > 0;
    if (isAcquired && this.#failure === undefined && this.#closing === undefined) void ignoreUnhandled(this.#confirm());
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#release());
  }

  onFailure(listener: (error: CloisterError) => void): void {
    this.#onFailure = listener;
    if (this.#failure !== undefined) listener(this.#failure);
  }

  /** From now on nothing more is written, and `durable` rejects with the reason. */
  fail({ detail, isLost }: RunFailure): void {
    if (this.#failure !== undefined) return;
    this.#failure = new CloisterError(isLost === true ? 'run_lost' : 'store_failed', detail);
    this.#onFailure?.(this.#failure);
  }

  async #wait(batch: Batch): Promise<void> {
    await batch.done;
    if (this.#failure !== undefined) throw this.#failure;
    const { keeper } = this.#ports;
    if (keeper === undefined) return;
    await /* probe: committed-and-owned */ this.#untilOwned(keeper);
    // The next one asks again.
    if (this.#waiting?.batch === batch) this.#waiting = undefined;
  }

  async #untilOwned(keeper: LeaseKeeper): Promise<void> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const standing = keeper.standing(this.#confirmedIn);
      if (standing === 'owned') return;
      if (standing === 'lapsed') await keeper.valid();
      else await this.#confirm().catch((error: CloisterError) => this.fail({ detail: error.failure.detail ?? '' }));
    }
  }

  /** Asks the store whether the run still has its epoch. If not, the writer has called `fail` before this resolves. */
  async #confirm(): Promise<void> {
    await (this.#confirming ??= this.#askOwner().finally(() => (this.#confirming = undefined)));
  }

  async #askOwner(): Promise<void> {
    const { run, writer } = this.#ports;
    const batch = writer.add({ do: 'confirm', run, epoch: this.#epoch });
    const ack = await batch.done;
    if (ack.failure !== null) throw ackError(ack);
    if (this.#failure === undefined) this.#confirmedIn = Math.max(this.#confirmedIn, batch.term);
  }

  /** Goes into the batch of the last frames. A failed run is released too, so that its stored part can be resumed. */
  async #release(): Promise<void> {
    const { run, writer, forget } = this.#ports;
    const ack = await writer.add({ do: 'release', run }).done;
    forget();
    if (this.#failure !== undefined) throw this.#failure;
    if (ack.failure !== null) throw ackError(ack);
  }
}

/** Nobody has to await the promise: an unhandled rejection must not end the process. */
const ignoreUnhandled = (promise: Promise<void>): Promise<void> => {
  promise.catch(() => {});
  return promise;
};

export const ackError = ({ failure }: Ack): CloisterError =>
  new CloisterError(failure?.code ?? 'store_failed', failure?.detail ?? '');
