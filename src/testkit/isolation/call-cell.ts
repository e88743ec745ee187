// One cell of agents that call each other: its plan and its progress.
import type { Birth } from '#contracts';
import type { ChildCall, PlannedCell, Plan } from './plan.ts';
import { ObservedCell } from './test-run.ts';

/** A call that the cell's model made, with the child that it starts, if any. A `gather` call has one entry for each child. */
type ObservedCall = { readonly input: string; readonly child: ChildCall | null };

export class CallCell extends ObservedCell {
  declare readonly parent: CallCell | null;
  readonly planned: PlannedCell;
  readonly plan: Plan;
  /** The tool names from the root down, without call numbers. */
  readonly path: string;
  /** Its private content is drawn from this and from what it sees. */
  readonly salt: string;
  /** Values of its environment that it could leak. */
  readonly secrets: readonly string[];

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
    birth: Birth,
    parent: CallCell | null,
    state: Pick<CallCell, 'planned' | 'plan' | 'path' | 'salt' | 'secrets'>,
  ) {
    super(birth, state.planned.place, parent, state.planned.testAgent.sentTools);
    this.planned = state.planned;
    this.plan = state.plan;
    this.path = state.path;
    this.salt = state.salt;
    this.secrets = state.secrets;
  }

  /** Finds the call that begins now. */
  matchCall(args: string): ObservedCall | undefined {
    const fits = ({ input }: ObservedCall): boolean => args.slice(0, comparedMax) === input.slice(0, comparedMax);
    const index = this.calls.findIndex((call, at) => at >= this.#matched && fits(call));
    if (index >= 0) this.#matched = index + 1;
    return this.calls[index];
  }

  /** Whether the cell, or one above it, is an extra child of a varied cell and so part of its private work. */
  isPrivateHelper(isVaried: (state: CallCell) => boolean): boolean {
    if (this.parent === null) return false;
    return (this.planned.isExtra && isVaried(this.parent)) || this.parent.isPrivateHelper(isVaried);
  }
}

/** The log keeps only this much of a call's arguments. */
const comparedMax = 400;
