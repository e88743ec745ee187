// The one CellContext of this process: over a log that is memory or SQLite, live or replayed.
//
//   X1. Operations are numbered in call order; settlements are handed out in recorded order. So a replay takes the same path.
//   X2. A step with a hold, or one that leaves something behind, starts after its begin frame is durable: else what it did, or
//       the key that it did it under, could be one that the log does not know.
//   X3. An operation settles once. What comes after that is ignored, and its hold is given back once.
//   X4. Only steps take slots of a lane; waiting for a child or for time takes none.
import { CloisterError } from '#base';
import type { CellId, Failure, Json } from '#base';
import type {
  Agent,
  Amounts,
  Attempt,
  ChildOperation,
  Fact,
  Frame,
  LiveEvent,
  Operation,
  Outcome,
  Pending,
  Settled,
  SleepOperation,
  StepOperation,
  ValueOf,
} from '#contracts';
import type { Account } from './account.ts';
import { Arrivals } from './arrivals.ts';
import { beginRecord, settleRecord } from './begin-record.ts';
import type { BeginRecord } from './begin-record.ts';
import { crossResult } from './cross-result.ts';
import type { LocalRun } from './local-run.ts';
import type { RecordedCell } from './recorded.ts';
import { differenceIn, earliestOf, msLeft, settledAs } from './replay.ts';
import { StepRunner } from './step-runner.ts';
import type { SettleExtras, Started } from './step-runner.ts';
import type { Beginning, Home } from './home.ts';

export class LocalContext implements Home {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly depth: number;
  readonly account: Account;
  readonly host: LocalRun;
  readonly arrivals: Arrivals;
  now: number;
  nowIn = 0;

  readonly #recorded: RecordedCell | undefined;
  #nextOperation = 0;
  #nextRecordedId = 0;
  #inFlight: Started[] = none;
  #attempt: Attempt | undefined;
  #ids: CellId[] | undefined;
  #waiter: { readonly pending: readonly Started[]; resolve(one: Started): void; reject(error: Error): void } | null =
    null;
  #halted: Failure | null = null;
  /** What settled after this frame is no longer handed out. */
  #haltedAt = Infinity;
  #haltedTime = 0;
  #drained: (() => void) | null = null;
  readonly #bornIn: number;

  constructor(run: LocalRun, birth: Beginning, account: Account) {
    this.host = run;
    this.cellId = birth.cell;
    this.agent = birth.agent;
    this.depth = birth.depth;
    this.now = birth.bornAt;
    this.account = account;
    this.#recorded = run.recorded?.cells.get(birth.cell);
    this.#bornIn = this.#recorded?.bornIn ?? run.nextFrame - 1;
    const known = { bornIn: this.#bornIn, recorded: this.#recorded?.contents, nextFrame: () => this.nextFrame };
    this.arrivals = new Arrivals(birth, known);
    if (birth.frame !== undefined) this.arrivals.take(birth.frame);
    const { halted } = this.#recorded ?? {};
    if (halted) this.#halt(halted.failure, halted.order, halted.at);
  }

  begin<O extends Operation>(operation: O): Pending<O> {
    const started: Started = {
      no: this.#nextOperation++,
      operation,
      settled: undefined,
      result: undefined,
      order: 0,
      stop: undefined,
    };
    if (this.#inFlight.length === 0) this.#inFlight = [started];
    else this.#inFlight.push(started);
    const recorded = this.#recorded?.begins.get(started.no);
    if (recorded !== undefined) this.#replay(started, recorded);
    else if (this.host.replaying === null) this.#start(started, this.#writeBegin(started));
    // On replay: the log ends before this, or went another way. It never settles.
    else this.host.beyond({ cell: this.cellId, agent: this.agent.name, op: started.no }, operation);
    return started as unknown as Pending<O>;
  }

  first<P extends Pending>(pending: readonly P[]): Promise<P> {
    const all = pending as unknown as readonly Started[];
    const earliest = earliestOf(all, this.#haltedAt);
    if (earliest !== undefined) return Promise.resolve(this.#handOut(earliest) as unknown as P);
    if (this.#halted !== null) return Promise.reject(this.#haltError());
    // What the log does not have will not come.
    this.host.replaying?.leave();
    return new Promise((resolve, reject) => {
      this.#waiter = { pending: all, resolve: resolve as (one: unknown) => void, reject };
    });
  }

  async run<O extends Operation>(operation: O): Promise<Settled<ValueOf<O>>> {
    const pending = await this.first([this.begin(operation)]);
    return pending.settled!;
  }

  cancel(pending: Pending, reason: Failure = { code: 'cancelled' }): void {
    (pending as unknown as Started).stop?.(reason);
  }

  newCellId(agent: string): CellId | null {
    const recorded = this.#recorded?.ids[this.#nextRecordedId++];
    const id =
      recorded ?? (this.account.canSpawn() ? (`${agent}-${this.host.ports.ids.random()}` as CellId) : ('' as CellId));
    if (recorded === undefined || this.host.replaying !== null) (this.#ids ??= []).push(id);
    return id === '' ? null : id;
  }

  get nextFrame(): number {
    return this.#recorded?.begins.get(this.#nextOperation)?.no ?? this.host.nextFrame;
  }

  get downMs(): number {
    return this.host.downBetween(this.#bornIn, this.nowIn);
  }

  goalOr(asked: string): string {
    return this.host.amendments.goalAt(this.cellId, this.#nextOperation, this.nextFrame) ?? asked;
  }

  /** Of the step of this number: the same on every re-run. */
  keyOf(no: number): string {
    return this.host.amendments.keyOf(`${this.cellId}/${no}`, this.#recorded?.begins.get(no)?.no, this.host.ports.run);
  }

  note(fact: Fact): void {
    this.#attempt = fact.attempt;
  }

  emit(event: LiveEvent): void {
    this.host.ports.onLive?.(this.cellId, this.agent.name, event);
  }

  get heard(): boolean {
    return this.host.ports.heard?.() ?? false;
  }

  get halted(): boolean {
    return this.#halted !== null;
  }

  /** Stops this cell and all below it: operations settle as cancelled, and `first` rejects. */
  halt(failure: Failure = { code: 'cancelled' }, atFrame = this.host.nextFrame, at = this.host.time()): void {
    if (this.#halted !== null) return;
    this.#halt(failure, atFrame, at);
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(this.#haltError());
    for (const started of this.#inFlight.slice()) started.stop?.(failure);
  }

  #halt(failure: Failure, atFrame: number, at: number): void {
    this.#halted = failure;
    this.#haltedAt = atFrame;
    this.#haltedTime = at;
  }

  /** From here on it is as late as when it was stopped. */
  #haltError(): CloisterError {
    this.now = Math.max(this.now, this.#haltedTime);
    this.nowIn = Math.max(this.nowIn, this.#haltedAt);
    return new CloisterError(this.#halted?.code ?? 'cancelled');
  }

  /** When every operation that began has settled. */
  async drained(): Promise<void> {
    this.#inFlight = this.#inFlight.filter((started) => started.result === undefined);
    if (this.#inFlight.length === 0) return;
    this.host.replaying?.leave();
    await new Promise<void>((resolve) => (this.#drained = resolve));
  }

  #writeBegin({ operation, no }: Started): Frame {
    const at = this.host.time();
    if (operation.do === 'child') this.account.countSpawn();
    if (operation.do !== 'sleep' && typeof operation.about?.['step'] === 'number') this.account.countStep();
    const frame = this.host.write(this.cellId, at, beginRecord(operation, no, at, this), {
      attempt: this.#attempt,
      ids: this.#ids,
      born: operation.do === 'child' ? operation.agent : undefined,
    });
    if (operation.do === 'child') this.arrivals.take(frame);
    this.#attempt = undefined;
    this.#ids = undefined;
    return frame;
  }

  #start(started: Started, frame: Frame): void {
    if (this.#halted !== null && started.operation.do !== 'child') return this.#fail(started, this.#halted);
    switch (started.operation.do) {
      case 'step':
        return new StepRunner(this, this.host.ports, started as Started<StepOperation>).start();
      case 'child':
        return this.#startChild(started as Started<ChildOperation>, frame.at, frame);
      case 'sleep':
        return this.#startSleep(started as Started<SleepOperation>, started.operation.ms);
    }
  }

  #startChild(started: Started<ChildOperation>, bornAt: number, frame?: Frame): void {
    const { operation } = started;
    const { cell, agent, caps, share, grants } = operation;
    const account = this.host.accountOf(cell, this.account, caps);
    this.host.replaying?.enter(cell, agent.name);
    const child = new LocalContext(
      this.host,
      { cell, agent, depth: this.depth + 1, bornAt, goal: operation.goal, ...(frame && { frame }) },
      account,
    );
    if (share !== undefined)
      this.host.keepShare(cell, { from: this.cellId, home: child, grants, now: () => share.now() });
    // On replay the log says when it was stopped.
    if (this.host.replaying === null) started.stop = (failure) => child.halt(failure);
    if (this.#halted !== null) child.halt(this.#halted, this.#haltedAt, this.#haltedTime);
    void this.host.runChild(operation, child).then((outcome) => this.#endChild(started, outcome));
  }

  /** Its result crosses in the frame of its settlement; on replay its caller was handed that long ago. */
  #endChild(started: Started<ChildOperation>, outcome: Outcome): void {
    const { replaying, ledger } = this.host;
    const recorded = replaying === null ? undefined : this.#recorded?.settles.get(started.no);
    const result = crossResult(this.host, this.cellId, started.operation, outcome, recorded);
    const ended = { cell: started.operation.cell, outcome };
    if (recorded !== undefined) this.host.compareEnd(recorded, settleRecord(started.no, result, { ended }));
    if (replaying !== null) {
      ledger.discard();
      return replaying.leave();
    }
    this.settle(started, result, { ended });
    this.host.forget(ended.cell);
  }

  #startSleep(started: Started<SleepOperation>, ms: number): void {
    const due = (): void => this.settle(started, { at: this.host.time(), ok: true, value: null });
    const stop = this.host.ports.clock.timer(ms, due);
    started.stop = (failure) => {
      stop();
      this.#fail(started, failure);
    };
  }

  #fail(started: Started, failure: Failure, more?: SettleExtras): void {
    this.settle(started, { at: this.host.time(), ok: false, failure }, more);
  }

  /** Writes the settlement and hands it to whoever waits. */
  settle(started: Started, result: Settled<Json>, more?: SettleExtras): void {
    if (started.result !== undefined) return;
    const halted = this.#halted === null ? undefined : { at: this.#haltedTime, failure: this.#halted };
    const frame = this.host.write(this.cellId, result.at, settleRecord(started.no, result, more, halted));
    if (more?.ended !== undefined) this.arrivals.take(frame);
    this.#arrive(started, result, frame.no);
  }

  #arrive(started: Started, result: Settled<Json>, order: number): void {
    started.result = result;
    started.order = order;
    started.stop = undefined;
    if (this.#inFlight.length === 1) this.#inFlight = none;
    else this.#inFlight.splice(this.#inFlight.indexOf(started), 1);
    const waiter = this.#waiter;
    if (waiter !== null && waiter.pending.includes(started)) {
      this.#waiter = null;
      waiter.resolve(this.#handOut(started));
    }
    if (this.#inFlight.length === 0) this.#drained?.();
  }

  #handOut(started: Started): Started {
    started.settled = started.result as Settled<never>;
    this.now = Math.max(this.now, started.result!.at);
    this.nowIn = Math.max(this.nowIn, started.order);
    return started;
  }

  #replay(started: Started, frame: Frame & { readonly record: BeginRecord }): void {
    const { record } = frame;
    if (this.host.replaying !== null) return this.#replayWhole(started, frame);
    const seen = { prompt: this.#attempt?.prompt, recorded: frame.attempt?.prompt };
    const difference = differenceIn(started.operation, record, seen);
    this.host.ledger.discard();
    this.#attempt = undefined;
    if (difference !== null) {
      this.host.break(new CloisterError('replay_differs', `Operation ${started.no} of ${this.cellId}: ${difference}.`));
      return this.#fail(started, { code: 'replay_differs' });
    }
    const settled = this.#recorded!.settles.get(started.no);
    if (settled === undefined) this.#again(started, record);
    else this.#arrive(started, settledAs(settled.record, settled.at), settled.no);
  }

  /** Children are run again too; their callers are handed the recorded end at once, and both are compared. */
  #replayWhole(started: Started, frame: Frame & { readonly record: BeginRecord }): void {
    const { operation, no } = started;
    const { record } = frame;
    const made = beginRecord(operation, no, frame.at, this);
    this.host.compare(frame, { record: made, attempt: this.#attempt, ids: this.#ids });
    this.#attempt = undefined;
    this.#ids = undefined;
    const isSame = record.do === made.do && record.name === made.name;
    const settled = this.#recorded!.settles.get(no);
    if (isSame && settled !== undefined) this.#arrive(started, settledAs(settled.record, settled.at), settled.no);
    if (isSame && operation.do === 'child') this.#startChild(started as Started<ChildOperation>, frame.at);
  }

  /** In flight when the process died, and not wanted any more: what it used is not known. */
  #giveUp(started: Started, hold: Amounts | undefined): void {
    const held = this.host.wasUnderWay(this.cellId, started.no);
    this.#fail(started, { code: 'cancelled' }, { uncertain: held ? hold : undefined });
  }

  /** In flight when the process died: repeated if it may be, else reported as indeterminate. */
  #again(started: Started, record: BeginRecord): void {
    const { operation } = started;
    // A child goes on by itself, when it comes to where it was.
    if (operation.do !== 'child') this.host.goOn();
    if (this.#halted !== null && operation.do !== 'child') return this.#giveUp(started, record.hold);
    switch (operation.do) {
      case 'step':
        // Whatever its code says today: it was begun as one that may not be repeated.
        if (record.repeat === 'never' || operation.repeat === 'never')
          return this.#fail(started, { code: 'indeterminate' });
        // Its hold was counted as uncertain when the log was read; this says so in the log.
        if (record.hold !== undefined && this.host.wasUnderWay(this.cellId, started.no)) {
          const at = this.host.time();
          this.host.write(this.cellId, at, { type: 'again', op: started.no, uncertain: record.hold });
        }
        return new StepRunner(this, this.host.ports, started as Started<StepOperation>).start();
      case 'child': {
        const bornAt = this.host.recorded?.cells.get(operation.cell)?.bornAt ?? this.now;
        return this.#startChild(started as Started<ChildOperation>, bornAt);
      }
      case 'sleep':
        return this.#startSleep(started as Started<SleepOperation>, msLeft(operation, record.until ?? 0, this.host));
    }
  }
}

/** Never pushed to: an array of its own is made with its first element. */
const none: Started[] = [];
