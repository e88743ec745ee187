// The accounts of a run's cells: one fold over its frames, live and on resume.
//
//   A hold counts from the frame that grants it to the frame that ends its attempt. So the log says which attempts had theirs
//   when a process died (their use is unknown) and which still waited (nothing was used). This is never derived from balances:
//   the order in which operations request their holds again after a crash is in no record.
import { unknownKind } from '#base';
import type { CellId } from '#base';
import type { Birth, Frame, RecordOf } from '#contracts';
import { Account } from './account.ts';

/** The wait of a session that has answered, for the work of the agents that it spawned. */
export const spawnedWaitName = 'wait:spawned';

export class Accounts {
  #rootCell: CellId | null = null;
  #root: Account | null = null;
  /** Created with the first child: most runs have none. */
  #others: Map<CellId, Account> | null = null;
  readonly #keepsEnded: boolean;

  /** `keepsEnded`: also of cells that have ended, for a replay. */
  constructor(keepsEnded = false) {
    this.#keepsEnded = keepsEnded;
  }

  of(cell: CellId): Account | undefined {
    return cell === this.#rootCell ? this.#root! : this.#others?.get(cell);
  }

  /** The account in which the frame made room, if it did: holds that wait there and above may now fit. */
  next(frame: Frame): Account | undefined {
    const { record, cell } = frame;
    switch (record.type) {
      case 'open':
        this.#rootCell = record.birth.cell;
        this.#root = createAccount(record.birth, null);
        return undefined;
      case 'begin':
        return this.#begin(this.of(cell), record, frame);
      case 'post':
        if (isCountedStep(record)) this.of(cell)?.countStep();
        return undefined;
      case 'held':
        this.of(cell)?.grant(record.op);
        return undefined;
      case 'again':
        this.of(cell)?.abandon(record.op, record.uncertain);
        return undefined;
      case 'settle':
        if (record.ended !== undefined) this.#end(record.ended.cell);
        this.of(cell)?.activity.end(record.op, frame);
        return this.of(cell)?.settle(record.op, record.cost, record.uncertain);
      case 'resume':
        this.loseAttempts();
        return undefined;
      // Attempts in flight at a fork belong to the other run: this one has used nothing for them until it starts them itself.
      case 'fork':
        // probe: log-fork-in-flight
        for (const account of this.#all()) account.forgetHolds();
        return undefined;
      case 'give':
      case 'mail':
      case 'delivered':
      case 'ruling':
      case 'cancel':
      case 'close':
        return undefined;
      default:
        return unknownKind(record, undefined);
    }
  }

  /**
   * The process of these attempts died. Their holds count as uncertain from now on, before any cell continues: otherwise new
   * holds would be granted as if these attempts had used nothing.
   */
  loseAttempts(): void {
    for (const account of this.#all()) account.loseHolds();
  }

  #begin(account: Account | undefined, record: RecordOf<'begin'>, frame: Frame): Account | undefined {
    const { birth, hold, op } = record;
    if (isCountedStep(record)) account?.countStep();
    const kind = activity(record);
    if (kind !== null) account?.activity.begin(op, kind, frame);
    if (hold !== undefined) account?.beginAttempt(op, hold, record.waits === true);
    if (birth !== undefined) {
      account?.countSpawn();
      (this.#others ??= new Map()).set(birth.cell, createAccount(birth, account ?? null));
    }
    // A team reserved its floor for its answer. A session that waits for its agents has answered.
    if (birth?.task?.part !== 'answer' && record.name !== spawnedWaitName) return undefined;
    // probe: spawned-wait-floor
    account?.releaseFloor();
    return account;
  }

  #end(cell: CellId): void {
    this.of(cell)?.setMemoryBytes(0);
    // Its caller may still ask how long it waited for people.
    if (!this.#keepsEnded && this.of(cell)?.activity.pauses.length === 0) this.#others?.delete(cell);
  }

  *#all(): Iterable<Account> {
    if (this.#root !== null) yield this.#root;
    if (this.#others !== null) yield* this.#others.values();
  }
}

const createAccount = ({ caps, floor }: Birth, parent: Account | null): Account => {
  const account = new Account(parent, caps);
  if (floor !== undefined) account.floor = floor;
  return account;
};

/** Whether a cell works while this operation lasts, or waits for a person; null: neither. */
const activity = (record: RecordOf<'begin'>): 'work' | 'ask' | null => {
  switch (record.do) {
    case 'step':
      return 'work';
    case 'ask':
      return 'ask';
    // A back-off is a part of an attempt; a time-out only watches others.
    case 'sleep':
      return record.about?.['why'] === 'time-out' ? null : 'work';
    case 'child':
    case 'receive':
      return null;
    default:
      return unknownKind(record.do, null);
  }
};

/** A step that counts for the limit of steps. */
export const isCountedStep = ({ about }: Pick<RecordOf<'begin'>, 'about'>): boolean =>
  typeof about?.['step'] === 'number';
