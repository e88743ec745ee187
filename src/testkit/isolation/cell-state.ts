// One cell of a run as the check sees it: its place, its plan and its progress.
import type { CellId } from '#base';
import { Observer } from './observer.ts';
import type { ChildCall, PlannedCell, Plan } from './plan.ts';

/** A call that the cell's model made, with the child that it starts, if any. A `gather` call has one entry for each child. */
type ObservedCall = { readonly input: string; readonly child: ChildCall | null };

export class CellState {
  readonly planned: PlannedCell;
  readonly plan: Plan;
  readonly cell: CellId;
  readonly parent: CellState | null;
  /** The tool names from the root down, without call numbers. */
  readonly path: string;
  /** Its private content is drawn from this and from what it sees. */
  readonly salt: string;
  /** Values of its environment that it could leak. */
  readonly secrets: readonly string[];
  readonly observer: Observer;

  /** Requests to its models, and complete replies. */
  requests = 0;
  replies = 0;
  privateTurns = 0;
  groupsDone = 0;
  consecutiveFaults = 0;
  lastModel = 0;
  repairs = 0;
  steps = 0;
  extraCalls = 0;
  bytesWritten = 0;
  readonly files = new Set<string>();
  /** Calls of each tool before this turn. */
  readonly callCounts = new Map<string, number>();
  readonly calls: ObservedCall[] = [];
  #matched = 0;

  constructor(
    planned: PlannedCell,
    plan: Plan,
    link: Pick<CellState, 'cell' | 'parent' | 'path' | 'salt' | 'secrets'>,
  ) {
    this.planned = planned;
    this.plan = plan;
    this.cell = link.cell;
    this.parent = link.parent;
    this.path = link.path;
    this.salt = link.salt;
    this.secrets = link.secrets;
    this.observer = new Observer(planned.testAgent.sentTools);
  }

  get place(): string {
    return this.planned.place;
  }

  /** Finds the call that begins now. */
  matchCall(args: string): ObservedCall | undefined {
    const fits = ({ input }: ObservedCall): boolean => args.slice(0, comparedMax) === input.slice(0, comparedMax);
    for (let index = this.#matched; index < this.calls.length; index++)
      if (fits(this.calls[index]!)) {
        this.#matched = index + 1;
        return this.calls[index];
      }
    return undefined;
  }
}

/** The log keeps only this much of a call's arguments. */
const comparedMax = 400;
