// Runs one step: hold, durable intent, slot, work with a timeout, settlement.
import { CloisterError, recordedFailure } from '#base';
import type { CellId, Failure, Json, Semaphore } from '#base';
import type {
  Agent,
  Amounts,
  Cost,
  FrameRecord,
  RecordOf,
  LiveEvent,
  Operation,
  Redact,
  Settlement,
  StepOperation,
  StepContext,
  OperationValue,
  RunPorts,
} from '#contracts';
import { noCost, shortageText } from '#core/events';
import type { Account, WaitingHold } from '#core/events';
import { LiveTextRedactor } from './live-text-redactor.ts';

/** An operation in flight. `result` is set when it settles, `settled` when it is handed out. */
export type InFlightOperation<O extends Operation = Operation> = {
  readonly no: number;
  readonly operation: O;
  settled: Settlement<OperationValue<O>> | undefined;
  result: Settlement<Json> | undefined;
  order: number;
  stop: ((failure: Failure) => void) | undefined;
};

export type SettleExtras = Pick<RecordOf<'settle'>, 'ended' | 'cost' | 'uncertain'>;

/** What a step needs from its cell. */
export type StepCell = {
  readonly cellId: CellId;
  readonly run: {
    time(): number;
    write(cell: CellId, at: number, record: FrameRecord): unknown;
    redactFor(agent: Agent): Redact | null;
  };
  readonly agent: Agent;
  readonly account: Account;
  /** The earliest deadline above it that its own may have passed by while it waited for a person; 0: none. */
  readonly deadlineAbove: number;
  stepKey(no: number): string;
  emit(event: LiveEvent): void;
  settle(started: InFlightOperation, result: Settlement<Json>, more?: SettleExtras): void;
};

export class StepRunner implements StepContext {
  readonly #owner: StepCell;
  readonly #ports: RunPorts;
  readonly #started: InFlightOperation<StepOperation>;
  #abort: AbortController | undefined;
  #cost: Cost | null = null;
  #held = false;
  #waiting: WaitingHold | undefined;
  #workStartedAt: number | undefined;
  #slot: Semaphore | undefined;
  #stopTimer: (() => void) | undefined;
  #onStop: (() => void) | undefined;
  #live: LiveTextRedactor | undefined;
  #redactor: Redact | null | undefined;

  constructor(owner: StepCell, ports: RunPorts, started: InFlightOperation<StepOperation>) {
    this.#owner = owner;
    this.#ports = ports;
    this.#started = started;
    const stop = (failure: Failure): void => this.#stop(failure);
    started.stop = stop;
  }

  /** Requests the hold before the begin record is written, because that record says whether it was granted. */
  begin(writeBegin: (waits: boolean) => void): void {
    const isReserved = this.#reserve();
    writeBegin(!isReserved);
    this.#start();
  }

  /** After a crash: the begin record is already in the log, so a granted hold gets its own record. */
  resume(): void {
    if (this.#reserve() && this.#held) this.#recordHeld();
    this.#start();
  }

  /** True: there is no hold to wait for. */
  #reserve(): boolean {
    const { hold } = this.#started.operation;
    const { account } = this.#owner;
    if (hold === undefined) return true;
    if (hold.bytes !== undefined && !account.fitsMemory(hold.bytes)) return false;
    const answer = account.requestHold(hold, this.#answerHold);
    if (typeof answer === 'boolean') this.#held = answer;
    else this.#waiting = answer;
    return this.#held;
  }

  /** Starts the work synchronously if there is nothing to wait for: the common case with a log in memory. */
  #start(): void {
    const { hold, repeat, about, deadline } = this.#started.operation;
    if (this.#waiting !== undefined) return this.#watchDeadline();
    if (hold !== undefined && !this.#held) return this.#fail(this.#refusal());
    // What a person allowed is not asked again after a crash, so their answer must be there before the call is made. A call that is
    // only recorded, because nobody allowed it, has no deadline.
    const isAllowed = about?.['ask'] !== undefined && deadline !== undefined;
    // probe: step-intent-durable
    const durable = hold !== undefined || repeat !== 'free' || isAllowed ? this.#ports.log.durable() : undefined;
    const slots = this.#slots;
    if (durable === undefined && slots === undefined) return this.#work();
    this.#watchDeadline();
    this.#prepare(durable, slots);
  }

  /** The answer to a hold that waited. */
  readonly #answerHold = (held: boolean): void => {
    this.#waiting = undefined;
    // Later, because this may happen while a whole tree of cells is being stopped, and this cell is next.
    if (!held) {
      const refusal = this.#refusal();
      return void Promise.resolve().then(() => this.#fail(refusal));
    }
    this.#held = true;
    // probe: step-record-held
    this.#recordHeld();
    // The record must be durable. Otherwise, after a crash, this attempt would look as if it still waited.
    this.#prepare(this.#ports.log.durable(), this.#slots);
  };

  #refusal(): Failure {
    const { account } = this.#owner;
    const { operation } = this.#started;
    const shortage = account.shortage(operation.hold!);
    if (shortage === null) return { code: 'budget_refused' };
    const shortest = operation.shortestHold?.();
    const shorterFits = shortest !== undefined && account.shortage(shortest) === null;
    return { code: 'budget_refused', detail: shortageText(shortage, shorterFits) };
  }

  #recordHeld(): void {
    const { run, cellId } = this.#owner;
    run.write(cellId, run.time(), { type: 'held', op: this.#started.no });
  }

  get #slots(): Semaphore | undefined {
    const { lane } = this.#started.operation;
    return lane === undefined ? undefined : this.#ports.lane(lane);
  }

  #prepare(durable: Promise<void> | undefined, slots: Semaphore | undefined): void {
    void this.#awaitStart(durable, slots).then(
      () => this.#work(),
      (error: unknown) => this.#fail(toFailure(error)),
    );
  }

  async #awaitStart(durable: Promise<void> | undefined, slots: Semaphore | undefined): Promise<void> {
    await durable;
    if (this.#isSettled || slots === undefined) return;
    await slots.acquire();
    if (this.#isSettled) return slots.release();
    this.#slot = slots;
    // Others may have had them for longer than a lease lasts.
    const owned = this.#ports.log.stillOwned?.();
    if (owned !== undefined) await owned;
  }

  /** Null when the cell has no secrets to remove. Looked up once: a reply in a thousand pieces needs it for each of them. */
  get #redact(): Redact | null {
    if (this.#redactor === undefined) this.#redactor = this.#owner.run.redactFor(this.#owner.agent);
    return this.#redactor;
  }

  get #isSettled(): boolean {
    return this.#started.result !== undefined;
  }

  /** While the step waits to start, only the deadline can end it. */
  #watchDeadline(): void {
    const deadline = this.#deadline;
    if (deadline === 0) return;
    const leftMs = Math.max(0, deadline - this.#owner.run.time());
    this.#stopTimer = this.#ports.clock.timer(leftMs, () => this.#stop({ code: 'deadline_passed' }));
  }

  /** Its own, or an earlier one above; 0: none. */
  get #deadline(): number {
    const { deadline = 0 } = this.#started.operation;
    const { deadlineAbove } = this.#owner;
    return deadline === 0 || deadlineAbove === 0 ? deadline : Math.min(deadline, deadlineAbove);
  }

  #work(): void {
    // The step may have been stopped since it became ready.
    if (this.#isSettled) return;
    const { operation } = this.#started;
    const { run } = this.#owner;
    const { timeoutMs, timeoutCode } = operation;
    const deadline = this.#deadline;
    try {
      this.#stopTimer?.();
      const now = (this.#workStartedAt = run.time());
      const untilDeadline = deadline === 0 ? Infinity : deadline - now;
      const code = untilDeadline < timeoutMs ? 'deadline_passed' : timeoutCode;
      const leftMs = Math.max(0, Math.min(timeoutMs, untilDeadline));
      this.#stopTimer = this.#ports.clock.timer(leftMs, () => this.#stop({ code }));
      const { stalls } = this.#ports;
      const { cellId } = this.#owner;
      stalls?.stepStarted(cellId, this.#isTool);
      stalls?.start();
      const working = operation.work(this);
      stalls?.end(cellId);
      working.then(this.#succeed, this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  }

  get #isTool(): boolean {
    return this.#started.operation.name.startsWith('tool:');
  }

  readonly #succeed = (value: Json): void => {
    this.#live?.flush();
    const redact = this.#redact;
    const at = this.#owner.run.time();
    this.#settle({ at, ms: this.#ms(at), ok: true, value: /* probe: step-json */ redact ? redact.json(value) : value });
  };

  readonly #failed = (error: unknown): void => this.#fail(toFailure(error));

  #fail(failure: Failure): void {
    const redact = this.#redact;
    const at = this.#owner.run.time();
    const { detail } = failure;
    // Redact before truncating: otherwise a part of a secret could remain.
    // probe: step-failure
    const safeFailure =
      detail === undefined ? failure : { ...failure, detail: truncate(redact?.text(detail) ?? detail) };
    this.#settle({ at, ms: this.#ms(at), ok: false, failure: safeFailure });
  }

  #ms(until: number): number {
    return this.#workStartedAt === undefined ? 0 : until - this.#workStartedAt;
  }

  /** Stops the step from outside: aborts the work, and settles immediately, whatever the work does. */
  #stop(failure: Failure): void {
    if (this.#isSettled) return;
    this.#abort?.abort(new CloisterError(failure.code));
    this.#onStop?.();
    this.#fail(failure);
  }

  #settle(result: Settlement<Json>): void {
    if (this.#isSettled) return;
    if (this.#workStartedAt !== undefined) this.#ports.stalls?.stepEnded(this.#isTool);
    // probe: step-stop-timer
    this.#stopTimer?.();
    // probe: step-give-back-slot
    this.#slot?.release();
    // probe: step-withdraw-hold
    this.#waiting?.withdraw();
    const { hold } = this.#started.operation;
    const cost = this.#workStartedAt === undefined ? noCost : this.#cost;
    const uncertain: Amounts | undefined = this.#held && cost === null ? hold : undefined;
    this.#owner.settle(this.#started, result, {
      cost: cost !== null && this.#held ? cost : undefined,
      uncertain,
    });
    this.#held = false;
  }

  // The StepContext that the work uses.

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isSettled && !this.#abort.signal.aborted) this.#abort.abort(new CloisterError('cancelled'));
    return this.#abort.signal;
  }

  get key(): string {
    // probe: step-key
    return this.#owner.stepKey(this.#started.no);
  }

  emit(event: LiveEvent): void {
    if (this.#isSettled) return;
    const redact = this.#redact;
    // probe: step-emit
    if (redact) (this.#live ??= new LiveTextRedactor(redact, (safe) => this.#owner.emit(safe))).emit(event);
    else this.#owner.emit(event);
  }

  emitWhole(text: string): void {
    if (!this.#isSettled) this.#owner.emit({ type: 'text-delta', text: this.redact(text) });
  }

  onStop(listener: () => void): void {
    this.#onStop = listener;
    if (this.#isSettled) listener();
  }

  reportCost(cost: Cost): void {
    this.#cost = cost;
  }

  get redacts(): boolean {
    return this.#redact !== null;
  }

  redact(text: string): string {
    return this.#redact?.text(text) ?? text;
  }

  async redactInPieces(text: string): Promise<string> {
    const redact = this.#redact;
    if (redact === null || text.length <= pieceChars) return this.redact(text);
    const stream = redact.stream();
    let safe = '';
    for (let at = 0; at < text.length; at += pieceChars) {
      await this.yieldToOthers();
      safe += stream.push(text.slice(at, at + pieceChars));
    }
    return safe + stream.end();
  }

  async yieldToOthers(): Promise<void> {
    await new Promise<void>((resolve) => void this.#ports.clock.timer(0, resolve));
    if (this.#isSettled) throw new CloisterError('cancelled');
  }

  storeBlob(bytes: Uint8Array): Promise<string> {
    // probe: step-keep
    return this.#ports.storeBlob(this.#redact?.bytes(bytes) ?? bytes);
  }
}

/** How much text is searched for secrets in one piece. */
const pieceChars = 1_000_000;

/** Turns a thrown value into a failure. A foreign error's own message becomes the detail. */
const toFailure = (error: unknown): Failure =>
  recordedFailure(error) ?? { code: 'tool_failed', detail: describeThrown(error) };

/** Any value can be thrown, even one that cannot be converted to text. */
const describeThrown = (error: unknown): string => {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return String(message);
  } catch {
    return 'The thrown value cannot be converted to text.';
  }
};

/** Enough to act on. A failure is shown in full, so it must be short. */
const detailCharsMax = 2_000;

const truncate = (text: string): string =>
  text.length <= detailCharsMax ? text : `${text.slice(0, detailCharsMax)}… (${text.length} characters)`;
