// The runs that this process owns through one store, and the one writer of their logs.
import { CloisterError, isName } from '#base';
import type { RunId } from '#base';
import type { RunLog } from '#contracts';
import { ackError, DurableRunLog } from './durable-run-log.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import type { LeasePorts } from './lease-keeper.ts';
import type { Ack } from './messages.ts';
import { openWriter } from './writer.ts';
import type { Writer, WriterPorts } from './writer.ts';

export type OwnershipPorts = Omit<WriterPorts, 'term'> & {
  /** Absent: a run is owned until its process ends. */
  readonly lease?: LeasePorts;
  /** Calls back soon after somebody may have taken over a run of this process. Absent: its lease says so, or that cannot happen. */
  watchTakeOvers?(notify: () => void): () => void;
};

type OwnershipListener = {
  /** Throws once the store is closed. */
  readonly assertOpen: () => void;
  /** Frames of a run were written. */
  readonly onCommit: (run: RunId) => void;
};

export class OwnedRuns {
  readonly writer: Writer;
  readonly #ports: OwnershipPorts;
  readonly #assertOpen: () => void;
  readonly #keeper: LeaseKeeper | undefined;
  readonly #logs = new Map<RunId, DurableRunLog>();
  #stopWatching: (() => void) | undefined;

  constructor(ports: OwnershipPorts, { assertOpen, onCommit }: OwnershipListener) {
    this.#ports = ports;
    this.#assertOpen = assertOpen;
    const keeper = ports.lease && new LeaseKeeper(ports.lease, () => this.#checkOwners());
    this.#keeper = keeper;
    this.writer = openWriter(keeper === undefined ? ports : { ...ports, term: () => keeper.term }, {
      onRunFailed: (run, failure) => this.#logs.get(run)?.fail(failure),
      onRunCommitted: (run, newest, term) => {
        this.#logs.get(run)?.commit(newest, term);
        onCommit(run);
      },
    });
  }

  async acquire(run: RunId, takeOver: boolean): Promise<RunLog> {
    this.#assertOpen();
    if (!isName(run)) throw new CloisterError('name_invalid', run);
    if (this.#logs.has(run)) throw new CloisterError('run_owned', 'Owner: this process.');
    const [keeper, writer] = [this.#keeper, this.writer];
    const log = new DurableRunLog({ run, writer, keeper, forget: () => this.#forget(run) });
    this.#logs.set(run, log);
    this.#stopWatching ??= this.#ports.watchTakeOvers?.(() => this.#checkOwners());
    if (keeper !== undefined) await keeper.valid();
    const batch = writer.add(takeOver ? { do: 'own', run, takeOver } : { do: 'own', run });
    const ack = await batch.done;
    const epoch = ack.owned?.find((one) => one.run === run)?.epoch;
    if (epoch !== undefined) return log.acquired(epoch, batch.term);
    this.#forget(run);
    throw acquireError(ack, run);
  }

  /** Makes everything durable and releases the runs. */
  async close(): Promise<void> {
    await this.writer.close();
    for (const log of this.#logs.values()) log.fail({ detail: 'The store is closed.' });
    for (const run of this.#logs.keys()) this.#forget(run);
    this.#keeper?.stop();
  }

  #forget(run: RunId): void {
    this.#logs.delete(run);
    if (this.#logs.size > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #checkOwners(): void {
    for (const log of this.#logs.values()) log.checkOwner();
  }
}

const acquireError = (ack: Ack, run: RunId): CloisterError => {
  const refused = ack.refused.find((refusal) => refusal.run === run);
  if (refused === undefined) return ackError(ack);
  if (refused.isDeleted === true) return new CloisterError('run_exists', `Run ${run} was deleted.`);
  return new CloisterError('run_owned', `Owner: ${refused.owner}.`);
};
