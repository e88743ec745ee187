// Every failure of a run, at every depth, from its events. Whoever looks at a run sees the same list.
import type { CellId, ErrorCode } from '#base';
import type { Cause, DurableEvent, EventError } from '#contracts';

type FailedPart = Pick<Cause, 'what' | 'name'>;

/**
 * Those of the work that an answer ended: in the cell that answered and in all below it, from the moment when it got the message
 * that it answers.
 */
export const listAnswerCauses = (events: readonly DurableEvent[], answer: string): readonly Cause[] => {
  const end = events.findIndex((event) => event.type === 'mail' && event.message === answer);
  const sent = events[end];
  if (sent?.type !== 'mail') return [];
  const begin = events.findIndex(
    (event) => event.type === 'mail' && event.message === sent.correlation && event.state !== 'queued',
  );
  const below = new Set([sent.cell]);
  const isOfWork = (event: DurableEvent, at: number): boolean => at >= begin && below.has(event.cell);
  const causes = new CauseList();
  for (const [at, event] of events.slice(0, end + 1).entries()) {
    if (event.type === 'session-start' && event.parent !== null && below.has(event.parent)) below.add(event.cell);
    if (event.type === 'session-start' || isOfWork(event, at)) causes.add(event);
  }
  return causes.all;
};

/** The events must be those for a reader who sees causes; otherwise the causes have no details. */
export const listCauses = (events: readonly DurableEvent[]): readonly Cause[] => {
  const causes = new CauseList();
  for (const event of events) causes.add(event);
  return causes.all;
};

/** The same, event by event. */
export class CauseList {
  readonly all: Cause[] = [];
  readonly #cells = new Map<CellId, { readonly name: string; readonly parent: CellId | null }>();
  /** The position of each cell's newest cause. */
  readonly #newest = new Map<CellId, number>();
  /** Cells whose newest cause belongs to the work that they are doing. */
  readonly #atWork = new Set<CellId>();
  /** Cells that ended with a failure of their own: their caller's event tells the same again. */
  readonly #failed = new Set<CellId>();

  add(event: DurableEvent): void {
    switch (event.type) {
      case 'session-start':
        this.#cells.set(event.cell, { name: event.agent_id, parent: event.parent });
        return;
      case 'model-end':
        return this.#push(event, event.error, { what: 'model', name: event.model });
      case 'tool-end':
        return this.#push(event, event.error, { what: event.path === undefined ? 'tool' : 'agent', name: event.tool });
      case 'child-end':
        if (!this.#failed.has(event.child)) this.#push(event, event.error, { what: 'agent', name: event.childAgent });
        return;
      case 'session-end':
        if (event.error !== null) this.#failed.add(event.cell);
        return this.#end(event, event.error, true);
      case 'mail':
        return event.error === undefined ? undefined : this.#end(event, event.error, false);
      case 'task':
        return this.#refusedTask(event);
      default:
        return;
    }
  }

  /** The cell ended, or one piece of its work: with the failure that is listed already, or with one of its own. */
  #end(event: DurableEvent, error: EventError | null, ended: boolean): void {
    const at = this.#atWork.delete(event.cell) ? this.#newest.get(event.cell) : undefined;
    const last = at === undefined ? undefined : this.all[at];
    if (last !== undefined && error?.code === last.code && (error.detail ?? last.detail) === last.detail)
      this.all[at!] = { ...last, ended };
    else {
      this.#push(event, error, endedPart(error, this.#nameOf(event.cell)), ended);
      this.#atWork.delete(event.cell);
    }
  }

  /** A task that a cell worked on is told by the causes of that cell. */
  #refusedTask(event: DurableEvent & { readonly type: 'task' }): void {
    const { reason, task } = event;
    if (reason?.error === undefined || reason.status !== undefined || reason.code === 'dependency') return;
    const { error: code, text: detail, limit } = reason;
    this.#push(event, { code, summary: detail, detail, ...(limit && { limit }) }, { what: 'task', name: task });
  }

  #push(event: DurableEvent, error: CauseError | null, part: FailedPart, ended = false): void {
    if (error === null || askedFor.has(error.code)) return;
    const { code, summary, detail, limit } = error;
    const { cell, at } = event;
    const isLimit = limit !== undefined && part.what !== 'task';
    const cause: Cause = {
      cell,
      path: this.#pathTo(cell),
      at,
      ...(isLimit ? { what: 'limit', name: limit } : part),
      code,
      summary,
      ...(limit === undefined ? {} : { limit }),
      ...(detail === undefined ? {} : { detail }),
      times: 1,
      ended,
    };
    this.#atWork.add(cell);
    const newest = this.#newest.get(cell);
    const last = newest === undefined ? undefined : this.all[newest];
    if (last !== undefined && isSame(last, cause)) this.all[newest!] = { ...cause, times: last.times + 1 };
    else {
      this.#newest.set(cell, this.all.length);
      this.all.push(cause);
    }
  }

  #nameOf(cell: CellId): string {
    return this.#cells.get(cell)?.name ?? cell;
  }

  #pathTo(cell: CellId): readonly string[] {
    const path: string[] = [];
    for (let at: CellId | null = cell; at !== null; at = this.#cells.get(at)?.parent ?? null)
      path.unshift(this.#nameOf(at));
    return path;
  }
}

type CauseError = Pick<EventError, 'code' | 'summary' | 'detail' | 'limit'>;

/** Somebody asked for these ends, so nothing failed. */
const askedFor: ReadonlySet<ErrorCode> = new Set(['cancelled', 'shut_down']);

const isSame = (one: Cause, other: Cause): boolean =>
  one.what === other.what && one.name === other.name && one.code === other.code && one.detail === other.detail;

/** What a cell's own failure, one that no operation of it has reported, is about. */
const endedPart = (error: EventError | null, agent: string): FailedPart => {
  switch (error?.code) {
    case 'server_failed':
    case 'server_tools':
      return { what: 'server', name: null };
    case 'plan_invalid':
      return { what: 'plan', name: null };
    case 'answer_schema':
      return { what: 'answer', name: null };
    default:
      return { what: 'agent', name: agent };
  }
};
