// Runs one step: hold, durable intent, slot, work under a time-out, settlement.
import { CloisterError } from '#base';
import type { Failure, Json, Semaphore } from '#base';
import type {
  Amounts,
  Cost,
  FrameRecord,
  LiveEvent,
  Operation,
  Settlement,
  StepOperation,
  StepContext,
  OperationValue,
} from '#contracts';
import { noCost } from './account.ts';
import type { Account } from './account.ts';
import type { RunPorts } from './cell-runtime.ts';
import { LiveTextRedactor } from './live-text-redactor.ts';

/** An operation under way. `result` is set when it settles, `settled` when it is handed out. */
export type InFlightOperation<O extends Operation = Operation> = {
  readonly no: number;
  readonly operation: O;
  settled: Settlement<OperationValue<O>> | undefined;
  result: Settlement<Json> | undefined;
  order: number;
  stop: ((failure: Failure) => void) | undefined;
};

export type SettleExtras = Pick<Extract<FrameRecord, { type: 'settle' }>, 'ended' | 'cost' | 'uncertain'>;

/** What a step needs of its cell. */
export type StepCell = {
  readonly liveRun: { time(): number };
  readonly account: Account;
  keyOf(no: number): string;
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
  #workedFrom: number | undefined;
  #slot: Semaphore | undefined;
  #stopTimer: (() => void) | undefined;
  #onStop: (() => void) | undefined;
  #live: LiveTextRedactor | undefined;

  constructor(owner: StepCell, ports: RunPorts, started: InFlightOperation<StepOperation>) {
    this.#owner = owner;
    this.#ports = ports;
    this.#started = started;
    const stop = (failure: Failure): void => this.#stop(failure);
    started.stop = stop;
  }

  /** Goes straight to work when there is nothing to wait for: the common case in memory. */
  start(): void {
    const { hold, repeat, lane } = this.#started.operation;
    if (hold?.bytes !== undefined && !this.#owner.account.addBytes(hold.bytes))
      return this.#fail({ code: 'budget_refused' });
    const held = hold === undefined ? true : this.#owner.account.hold(hold);
    if (held === false) return this.#fail({ code: 'budget_refused' });
    this.#held = held === true && hold !== undefined;
    // probe: step-intent-durable
    const durable = hold !== undefined || repeat !== 'free' ? this.#ports.log.durable() : undefined;
    const slots = lane === undefined ? undefined : this.#ports.lane(lane);
    if (held === true && durable === undefined && slots === undefined) return this.#work();
    this.#watchDeadline();
    void this.#prepare(held, durable, slots).then(
      (ready) => (ready ? this.#work() : undefined),
      (error: unknown) => this.#fail(failureOf(error)),
    );
  }

  async #prepare(
    held: true | Promise<boolean>,
    durable: Promise<void> | undefined,
    slots: Semaphore | undefined,
  ): Promise<boolean> {
    if (held !== true) {
      if (!(await held)) {
        this.#fail({ code: 'budget_refused' });
        return false;
      }
      this.#held = true;
      if (this.#over) this.#giveBack(noCost);
    }
    // What made room must be in the log too: else a crash would take this attempt for one that still waits.
    if (!this.#over) await (held === true ? durable : this.#ports.log.durable());
    if (!this.#over && slots !== undefined) {
      await slots.acquire();
      if (this.#over) slots.release();
      else this.#slot = slots;
    }
    return !this.#over;
  }

  get #over(): boolean {
    return this.#started.result !== undefined;
  }

  /** While it waits, only the deadline can end it. */
  #watchDeadline(): void {
    const { deadline = 0 } = this.#started.operation;
    if (deadline === 0) return;
    const leftMs = Math.max(0, deadline - this.#owner.liveRun.time());
    this.#stopTimer = this.#ports.clock.timer(leftMs, () => this.#stop({ code: 'deadline_passed' }));
  }

  #work(): void {
    // It may have been stopped since it was found ready.
    if (this.#over) return;
    const { operation } = this.#started;
    const { liveRun } = this.#owner;
    const { timeoutMs, timeoutCode, deadline = 0 } = operation;
    try {
      this.#stopTimer?.();
      const now = (this.#workedFrom = liveRun.time());
      const untilDeadline = deadline === 0 ? Infinity : deadline - now;
      const code = untilDeadline < timeoutMs ? 'deadline_passed' : timeoutCode;
      const leftMs = Math.max(0, Math.min(timeoutMs, untilDeadline));
      this.#stopTimer = this.#ports.clock.timer(leftMs, () => this.#stop({ code }));
      operation.work(this).then(this.#succeed, this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  }

  readonly #succeed = (value: Json): void => {
    this.#live?.flush();
    const { redact } = this.#ports;
    const at = this.#owner.liveRun.time();
    this.#settle({ at, ms: this.#ms(at), ok: true, value: /* probe: step-json */ redact ? redact.json(value) : value });
  };

  readonly #failed = (error: unknown): void => this.#fail(failureOf(error));

  #fail(failure: Failure): void {
    const { redact } = this.#ports;
    const at = this.#owner.liveRun.time();
    const { detail } = failure;
    // Redacted before it is cut: a cut may not leave a part of a secret.
    // probe: step-failure
    const said = detail === undefined ? failure : { ...failure, detail: shortened(redact?.text(detail) ?? detail) };
    this.#settle({ at, ms: this.#ms(at), ok: false, failure: said });
  }

  #ms(until: number): number {
    return this.#workedFrom === undefined ? 0 : until - this.#workedFrom;
  }

  /** From outside: the work is told, and the step settles at once, whatever the work does. */
  #stop(failure: Failure): void {
    if (this.#over) return;
    this.#abort?.abort(new CloisterError(failure.code));
    this.#onStop?.();
    this.#fail(failure);
  }

  #settle(result: Settlement<Json>): void {
    if (this.#over) return;
    // probe: step-stop-timer
    this.#stopTimer?.();
    // probe: step-give-back-slot
    this.#slot?.release();
    const { hold } = this.#started.operation;
    const cost = this.#workedFrom === undefined ? noCost : this.#cost;
    const uncertain: Amounts | undefined = this.#held && cost === null ? hold : undefined;
    this.#owner.settle(this.#started, result, {
      cost: cost !== null && this.#held ? cost : undefined,
      uncertain,
    });
    // probe: step-give-back-hold
    if (this.#held) this.#giveBack(cost);
  }

  #giveBack(cost: Cost | null): void {
    this.#held = false;
    this.#owner.account.settle(this.#started.operation.hold!, cost);
  }

  // What the work is given.

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#over && !this.#abort.signal.aborted) this.#abort.abort(new CloisterError('cancelled'));
    return this.#abort.signal;
  }

  get key(): string {
    // probe: step-key
    return this.#owner.keyOf(this.#started.no);
  }

  emit(event: LiveEvent): void {
    if (this.#over) return;
    const { redact } = this.#ports;
    // probe: step-emit
    if (redact) (this.#live ??= new LiveTextRedactor(redact, (safe) => this.#owner.emit(safe))).emit(event);
    else this.#owner.emit(event);
  }

  onStop(listener: () => void): void {
    this.#onStop = listener;
    if (this.#over) listener();
  }

  used(cost: Cost): void {
    this.#cost = cost;
  }

  get redacts(): boolean {
    return this.#ports.redact !== null && this.#ports.redact !== undefined;
  }

  redact(text: string): string {
    return this.#ports.redact?.text(text) ?? text;
  }

  keep(bytes: Uint8Array): Promise<string> {
    // probe: step-keep
    return this.#ports.keep(this.#ports.redact?.bytes(bytes) ?? bytes);
  }
}

/** What the world threw, as a failure; what is not ours is the tool's or the model's own words, kept as detail. */
const failureOf = (error: unknown): Failure => {
  if (error instanceof CloisterError) return error.failure;
  return { code: 'tool_failed', detail: wordsOf(error) };
};

/** Anything can be thrown, also what cannot be made text of. */
const wordsOf = (error: unknown): string => {
  try {
    const words: unknown = error instanceof Error ? error.message : error;
    return String(words);
  } catch {
    return 'It threw something that has no words.';
  }
};

/** Enough to act on; a failure is shown whole, so it must not be long. */
const detailCharsMax = 2_000;

const shortened = (text: string): string =>
  text.length <= detailCharsMax ? text : `${text.slice(0, detailCharsMax)}… (${text.length} characters)`;
