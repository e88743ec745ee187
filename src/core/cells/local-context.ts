// The one CellContext of this process: over a log that is memory or SQLite, live or replayed.
//
//   X1. Operations are numbered in call order; settlements are handed out in recorded order. So a replay takes the same path.
//   X2. A step with a hold, or one that may not be repeated, starts after its begin frame is durable.
//   X3. An operation settles once. What comes after that is ignored, and its hold is given back once.
//   X4. Only steps take slots of a lane; waiting for a child or for time takes none.
import { CloisterError } from '#base';
import type { CellId, Failure, Json } from '#base';
import type {
  Agent,
  Amounts,
  Attempt,
  ChildOperation,
  Crossed,
  Fact,
  LiveEvent,
  Operation,
  Pending,
  Settled,
  SleepOperation,
  StepOperation,
  ValueOf,
} from '#contracts';
import { cross } from '#core/crossings';
import type { Account } from './account.ts';
import { beginRecord } from './begin-record.ts';
import type { BeginRecord } from './begin-record.ts';
import { envelopeOf } from './envelope.ts';
import type { LocalRun } from './local-run.ts';
import type { RecordedCell } from './recorded.ts';
import { differenceIn, msLeft, settledAs } from './replay.ts';
import { StepRunner } from './step-runner.ts';
import type { SettleExtras, Started } from './step-runner.ts';
import type { Beginning, Home } from './home.ts';

export class LocalContext implements Home {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly depth: number;
  readonly account: Account;
  readonly host: LocalRun;
  now: number;

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
  #contents: Map<number, string> | undefined;
  readonly #goal: Crossed<'goal'> | null;

  constructor(run: LocalRun, birth: Beginning, account: Account) {
    this.host = run;
    this.cellId = birth.cell;
    this.agent = birth.agent;
    this.depth = birth.depth;
    this.now = birth.bornAt;
    this.account = account;
    this.#goal = birth.goal;
    this.#recorded = run.recorded?.cells.get(birth.cell);
    const halted = this.#recorded?.halted;
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
    const record = this.#recorded?.begins.get(started.no);
    if (record === undefined) {
      this.#start(started, this.#writeBegin(started));
    } else {
      this.#replay(started, record);
    }
    return started as unknown as Pending<O>;
  }

  first<P extends Pending>(pending: readonly P[]): Promise<P> {
    const all = pending as unknown as readonly Started[];
    let earliest: Started | undefined;
    for (const one of all)
      if (
        one.result !== undefined &&
        one.settled === undefined &&
        one.order < this.#haltedAt &&
        (earliest === undefined || one.order < earliest.order)
      )
        earliest = one;
    if (earliest !== undefined) return Promise.resolve(this.#handOut(earliest) as unknown as P);
    if (this.#halted !== null) return Promise.reject(this.#haltError());
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
    if (recorded === undefined) (this.#ids ??= []).push(id);
    return id === '' ? null : id;
  }

  note(fact: Fact): void {
    this.#attempt = fact.attempt;
  }

  emit(event: LiveEvent): void {
    this.host.ports.onLive?.(this.cellId, this.agent.name, event);
  }

  /** Whether anybody listens to live events: if not, there is no need to make them. */
  get heard(): boolean {
    return this.host.ports.heard?.() ?? false;
  }

  get halted(): boolean {
    return this.#halted !== null;
  }

  /** Stops this cell and all below it: operations settle as cancelled, and `first` rejects. */
  halt(
    failure: Failure = { code: 'cancelled' },
    atFrame = this.host.nextFrame,
    at = this.host.ports.clock.now(),
  ): void {
    if (this.#halted !== null) return;
    this.#halt(failure, atFrame, at);
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(this.#haltError());
    for (const started of this.#inFlight.slice()) started.stop?.(failure, true);
  }

  #halt(failure: Failure, atFrame: number, at: number): void {
    this.#halted = failure;
    this.#haltedAt = atFrame;
    this.#haltedTime = at;
  }

  /** From here on it is as late as when it was stopped. */
  #haltError(): CloisterError {
    this.now = Math.max(this.now, this.#haltedTime);
    return new CloisterError(this.#halted?.code ?? 'cancelled');
  }

  /** When every operation that began has settled. */
  async drained(): Promise<void> {
    this.#inFlight = this.#inFlight.filter((started) => started.result === undefined);
    if (this.#inFlight.length > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
  }

  /** Gives the time of the frame. */
  #writeBegin({ operation, no }: Started): number {
    const at = this.host.ports.clock.now();
    if (operation.do === 'child') this.account.countSpawn();
    if (operation.do !== 'sleep' && typeof operation.about?.['step'] === 'number') this.account.countStep();
    this.host.write(this.cellId, at, beginRecord(operation, no, at, this), {
      attempt: this.#attempt,
      ids: this.#ids,
      born: operation.do === 'child' ? operation.agent : undefined,
    });
    this.#attempt = undefined;
    this.#ids = undefined;
    return at;
  }

  #start(started: Started, at: number): void {
    if (this.#halted !== null && started.operation.do !== 'child') return this.#fail(started, this.#halted);
    switch (started.operation.do) {
      case 'step':
        return new StepRunner(this, this.host.ports, started as Started<StepOperation>).start();
      case 'child':
        return this.#startChild(started as Started<ChildOperation>, at);
      case 'sleep':
        return this.#startSleep(started as Started<SleepOperation>, started.operation.ms);
    }
  }

  #startChild(started: Started<ChildOperation>, bornAt: number): void {
    const { operation } = started;
    const { cell, agent, caps } = operation;
    const account = this.host.accountOf(cell, this.account, caps);
    const child = new LocalContext(
      this.host,
      { cell, agent, depth: this.depth + 1, bornAt, goal: operation.goal },
      account,
    );
    started.stop = (failure) => child.halt(failure);
    if (this.#halted !== null) child.halt(this.#halted, this.#haltedAt, this.#haltedTime);
    void this.#awaitChild(started, child);
  }

  /** Its result crosses in the frame of its settlement. */
  async #awaitChild(started: Started<ChildOperation>, child: LocalContext): Promise<void> {
    const { cell, grants } = started.operation;
    const outcome = await this.host.runChild(started.operation, child);
    const at = this.host.ports.clock.now();
    const content = JSON.stringify(envelopeOf(outcome));
    const door = { grants, ledger: this.host.ledger, at };
    const passed = cross({ kind: 'result', from: cell, to: this.cellId, content, labels: [] }, door);
    const ended = { cell, outcome };
    if ('refused' in passed) this.settle(started, { at, ok: false, failure: { code: 'crossing_refused' } }, { ended });
    else {
      (this.#contents ??= new Map()).set(passed.seq, passed.crossed.content);
      this.settle(started, { at, ok: true, value: { crossing: passed.seq } }, { ended });
    }
    this.host.ledger.forget(cell);
  }

  #startSleep(started: Started<SleepOperation>, ms: number): void {
    const { clock } = this.host.ports;
    const stop = clock.timer(ms, () => this.settle(started, { at: clock.now(), ok: true, value: null }));
    started.stop = (failure, halted) => {
      stop();
      this.#fail(started, failure, halted);
    };
  }

  #fail(started: Started, failure: Failure, halted?: boolean): void {
    this.settle(
      started,
      { at: this.host.ports.clock.now(), ok: false, failure },
      halted === true ? { halted } : undefined,
    );
  }

  /** Writes the settlement and hands it to whoever waits. */
  settle(started: Started, result: Settled<Json>, more?: SettleExtras): void {
    if (started.result !== undefined) return;
    const frame = this.host.write(this.cellId, result.at, {
      type: 'settle',
      op: started.no,
      ok: result.ok,
      ms: result.ms,
      value: result.ok ? result.value : undefined,
      failure: result.ok ? undefined : result.failure,
      cost: more?.cost,
      uncertain: more?.uncertain,
      ended: more?.ended,
      halted: more?.halted,
    });
    this.#arrive(started, result, frame.no);
  }

  /** The content of an `in` entry of this cell's ledger. */
  contentOf(seq: number): string | undefined {
    if (seq === 0) return this.#goal?.content;
    return this.#contents?.get(seq) ?? this.#recorded?.contents.find((content) => content.seq === seq)?.content;
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
    return started;
  }

  #replay(started: Started, record: BeginRecord): void {
    const seen = { prompt: this.#attempt?.prompt, recorded: this.#recorded?.prompts.get(started.no) };
    const difference = differenceIn(started.operation, record, seen);
    this.host.ledger.discard();
    this.#attempt = undefined;
    if (difference !== null) {
      this.host.break(new CloisterError('replay_differs', `Operation ${started.no} of ${this.cellId}: ${difference}.`));
      return this.#fail(started, { code: 'replay_differs' });
    }
    const settled = this.#recorded!.settles.get(started.no);
    if (settled !== undefined) {
      this.#arrive(started, settledAs(settled.settle, settled.at), settled.order);
      return;
    }
    this.#again(started, record);
  }

  /** In flight when the process died, and not wanted any more: what it used is not known. */
  #giveUp(started: Started, hold: Amounts | undefined): void {
    const at = this.host.ports.clock.now();
    const failure: Failure = { code: 'cancelled' };
    const held = this.host.wasUnderWay(this.cellId, started.no);
    this.settle(started, { at, ok: false, failure }, { uncertain: held ? hold : undefined, halted: true });
  }

  /** In flight when the process died: repeated if it may be, else reported as indeterminate. */
  #again(started: Started, record: BeginRecord): void {
    const { operation } = started;
    if (this.#halted !== null && operation.do !== 'child') return this.#giveUp(started, record.hold);
    switch (operation.do) {
      case 'step':
        if (operation.repeat === 'never') return this.#fail(started, { code: 'indeterminate' });
        // Its hold was counted as uncertain when the log was read; this says so in the log.
        if (record.hold !== undefined && this.host.wasUnderWay(this.cellId, started.no)) {
          const at = this.host.ports.clock.now();
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
