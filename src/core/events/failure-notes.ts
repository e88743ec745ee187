// What the log tells about failures that are recorded without words of their own: which limit was reached, its value, what was
// used of it, and what was in flight. For those who see causes.
//
//   notes-are-derived. Nothing is recorded for them. The words of a failed tool call are shown to the model of its cell, and
//       how a cell ended is compared on replay: both belong to the format.
import { isoTime, MergedSpans, unknownKind } from '#base';
import type { CellId, ErrorCode, Failure, Hash, LimitName } from '#base';
import type { Birth, Frame, Limits, RecordOf } from '#contracts';
import { resolveLimits } from '#core/registry';
import type { CellLimits } from '#core/registry';
import { isCountedStep } from './accounts.ts';

type OpenStep = {
  /** What is in flight: `model openai/gpt-5-mini in turn 3`. */
  readonly what: string;
  /** The limit of this kind of step, and how long the cell had worked when it began. */
  readonly limit: 'llmTimeout' | 'toolTimeout';
  readonly workedMs: number;
};

type CellNotes = {
  readonly limits: CellLimits;
  readonly parent: CellId | null;
  readonly startedAt: number;
  readonly deadline: number;
  readonly isResident: boolean;
  readonly open: Map<number, OpenStep>;
  /** Operations that wait for the next work of a resident. */
  readonly waits: Set<number>;
  /** Of the current work. */
  worked: MergedSpans;
  steps: number;
  turn: number;
  model: string;
  /** The newest step that has ended, and why it failed. */
  last: {
    readonly op: number;
    readonly what: string;
    readonly code?: ErrorCode;
    readonly note?: string | undefined;
  } | null;
  /** How long it waits at most for the agents that it has called together. */
  gatherMs: number | null;
};

export class FailureNotes {
  readonly #limits = new Map<Hash, Limits>();
  readonly #cells = new Map<CellId, CellNotes>();

  /** Call it with each frame, before asking about a failure in that frame. */
  next(frame: Frame): void {
    for (const { digest, definition } of frame.definitions ?? []) this.#limits.set(digest, definition.limits);
    const { record, cell, at } = frame;
    const own = this.#cells.get(cell);
    switch (record.type) {
      case 'open':
        return this.#add(record.birth, at);
      case 'begin':
        if (record.birth !== undefined) this.#add(record.birth, at);
        return own && begin(own, frame, record);
      case 'post':
        if (own !== undefined && isCountedStep(record)) own.steps++;
        return;
      case 'settle':
        return own && settle(own, frame, record, this.#callerOf(own));
      case 'held':
      case 'again':
      case 'resume':
      case 'fork':
      case 'give':
      case 'mail':
      case 'delivered':
      case 'ruling':
      case 'cancel':
      case 'close':
        return;
      default:
        return unknownKind(record, undefined);
    }
  }

  /** The failure of an operation that this frame settles. */
  ofOperation(cell: CellId, op: number, failure: Failure): Failure {
    const last = this.#cells.get(cell)?.last;
    return last?.op === op ? withNote(failure, last.note) : failure;
  }

  /** The failure with which a cell, or one piece of a resident's work, ended. */
  ofWork(cell: CellId, failure: Failure, at: number): Failure {
    const own = this.#cells.get(cell);
    if (own === undefined) return failure;
    if (own.last?.code === failure.code && own.last.note !== undefined) return withNote(failure, own.last.note);
    return withNote(failure, workNote(own, failure, { at, caller: this.#callerOf(own) }));
  }

  forget(cell: CellId): void {
    this.#cells.delete(cell);
  }

  #callerOf({ parent }: CellNotes): CellNotes | undefined {
    return parent === null ? undefined : this.#cells.get(parent);
  }

  #add({ cell, parent, digest, deadline, spawned }: Birth, at: number): void {
    if (this.#cells.has(cell)) return;
    this.#cells.set(cell, {
      limits: resolveLimits(this.#limits.get(digest) ?? {}, parent === null),
      parent,
      startedAt: at,
      deadline,
      isResident: spawned !== undefined,
      open: new Map(),
      waits: new Set(),
      worked: new MergedSpans(),
      steps: 0,
      turn: 0,
      model: '',
      last: null,
      gatherMs: null,
    });
  }
}

/** A limit's own name is no explanation, so what was used of it follows. All other words stand alone. */
const withNote = (failure: Failure, note: string | undefined): Failure => {
  if (note === undefined) return failure;
  if (failure.detail === undefined) return { ...failure, detail: note };
  return failure.code === 'agent_limit' ? { ...failure, detail: `${failure.detail}: ${note}` } : failure;
};

const begin = (own: CellNotes, { at, attempt }: Frame, record: RecordOf<'begin'>): void => {
  const { op, name, about, until = at } = record;
  if (isCountedStep(record)) own.steps++;
  if (attempt !== undefined) Object.assign(own, { turn: attempt.turn, model: attempt.model });
  if (record.do === 'receive' && name === 'wait') own.waits.add(op);
  if (record.do === 'sleep' && about?.['why'] === 'time-out') own.gatherMs = until - at;
  if (record.do !== 'step') return;
  const what = attempt === undefined ? stepText(name) : `model ${attempt.model} in turn ${attempt.turn}`;
  const limit = attempt === undefined ? 'toolTimeout' : 'llmTimeout';
  own.open.set(op, { what, limit, workedMs: own.worked.totalMs });
};

const stepText = (name: string): string => (name.startsWith('tool:') ? `tool ${name.slice('tool:'.length)}` : name);

const settle = (
  own: CellNotes,
  frame: Frame,
  { op, ok, ms = 0, failure, ended }: RecordOf<'settle'>,
  caller: CellNotes | undefined,
): void => {
  const step = own.open.get(op);
  own.open.delete(op);
  if (own.waits.delete(op)) Object.assign(own, { worked: new MergedSpans(), steps: 0, last: null });
  own.worked.add({ at: frame.at, ms });
  if (step === undefined && ended === undefined) return;
  const what = step?.what ?? '';
  own.last = { op, what };
  if (ok || failure === undefined) return;
  const note = failure.detail === undefined ? operationNote(own, failure.code, { frame, step, ms, caller }) : undefined;
  own.last = { op, what, code: failure.code, note };
};

type SettleContext = {
  readonly frame: Frame;
  /** Undefined for a child. */
  readonly step: OpenStep | undefined;
  readonly ms: number;
  readonly caller: CellNotes | undefined;
};

const operationNote = (
  own: CellNotes,
  code: ErrorCode,
  { frame, step, ms, caller }: SettleContext,
): string | undefined => {
  if (code === 'crossing_refused') return refusalNote(frame);
  if (step === undefined) return undefined;
  if (code === 'model_timeout' || code === 'tool_timeout') return timeoutNote(own.limits, step, ms);
  return code === 'deadline_passed' ? deadlineNote(own, step.what, { at: frame.at, caller }) : undefined;
};

const refusalNote = ({ links = [] }: Frame): string | undefined => {
  const refused = links.flatMap(({ entries }) => entries).find((one) => one.kind === 'result' && one.grant === null);
  return refused === undefined ? undefined : `The result was refused: ${refused.verdict}.`;
};

/** A step may take as long as its limit says, or as long as is left of the working time. A tool can have a timeout of its own. */
const timeoutNote = (limits: CellLimits, { what, limit, workedMs }: OpenStep, ms: number): string => {
  const leftMs = limits.timeout_ms - workedMs;
  if (leftMs < limits[limit] && ms >= leftMs)
    return `Stopped ${what} after ${leftMs} ms, all that was left of ${limits.timeout_ms} ms of working time (timeout_ms).`;
  return ms >= limits[limit]
    ? `Stopped ${what} after ${limits[limit]} ms (${limit}).`
    : `Stopped ${what} after ${ms} ms, by its own timeout.`;
};

type EndContext = { readonly at: number; readonly caller: CellNotes | undefined };

const workNote = (own: CellNotes, { code, limit }: Failure, context: EndContext): string | undefined => {
  const { limits, turn, model } = own;
  switch (code) {
    case 'turns_used':
      return `Used ${limits.maxToolTurns} of ${limits.maxToolTurns} turns (maxToolTurns), then had one more turn to answer.`;
    case 'agent_limit':
      return limit === undefined ? undefined : limitNote(own, limit);
    case 'deadline_passed':
      return deadlineNote(own, own.last?.what ?? '', context);
    case 'model_refused':
    case 'model_empty':
    case 'model_cut':
    case 'budget_overdrawn':
      return model === '' ? undefined : `Model ${model}, turn ${turn}.`;
    default:
      return undefined;
  }
};

/** Its caller may have stopped it before its deadline. */
const deadlineNote = (
  { deadline, startedAt }: CellNotes,
  what: string,
  { at, caller }: EndContext,
): string | undefined => {
  const gatherMs = caller?.gatherMs ?? null;
  if ((deadline === 0 || at < deadline) && gatherMs !== null)
    return `The caller stopped waiting after ${gatherMs} ms (gather).`;
  if (deadline === 0) return undefined;
  const inFlight = what === '' ? '' : `; in flight: ${what}`;
  return `The deadline was ${isoTime(deadline)}, ${deadline - startedAt} ms after the start${inFlight}.`;
};

const limitNote = ({ limits, steps, worked, last, isResident }: CellNotes, limit: LimitName): string | undefined => {
  const per = isResident ? ' for each piece of work' : '';
  switch (limit) {
    case 'max_steps':
      return `${steps} of ${limits.max_steps} steps used${per}.`;
    case 'timeout_ms': {
      const newest = last === null || last.what === '' ? '' : `; last step: ${last.what}`;
      return `worked ${worked.totalMs} of ${limits.timeout_ms} ms${per}${newest}.`;
    }
    case 'mailTimeout':
      return `waited ${limits.mailTimeout} ms for mail.`;
    case 'max_output_files':
      return `it may write ${limits.max_output_files} files.`;
    case 'max_output_size_bytes':
      return `it may write ${limits.max_output_size_bytes} bytes.`;
    default:
      return undefined;
  }
};
