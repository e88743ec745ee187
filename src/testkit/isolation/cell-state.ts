// One cell of a run as the check sees it: where it is, what it has planned, how far it has come.
import type { CellId } from '#base';
import { Observer } from './observer.ts';
import type { Ask, PlannedCell, Plan } from './plan.ts';

/** A call that its model made, and the children that it asks for, in the order in which they begin. */
export type ObservedCall = { readonly input: string; readonly ask: Ask | null };

export class CellState {
  readonly born: PlannedCell;
  readonly plan: Plan;
  readonly cell: CellId;
  readonly parent: CellState | null;
  /** The tool names from the root down, without numbers. */
  readonly path: string;
  /** What its privacy is drawn from besides what it sees. */
  readonly salt: string;
  /** What of its environment it could give away. */
  readonly secrets: readonly string[];
  readonly eye: Observer;

  /** Requests to its models; replies that were whole. */
  requests = 0;
  replies = 0;
  privateTurns = 0;
  groupsDone = 0;
  faultsInRow = 0;
  lastModel = 0;
  repairs = 0;
  steps = 0;
  twins = 0;
  bytesWritten = 0;
  readonly files = new Set<string>();
  /** How often each tool was called before this turn. */
  readonly outputs = new Map<string, number>();
  readonly called: ObservedCall[] = [];
  #begun = 0;

  constructor(born: PlannedCell, plan: Plan, link: Pick<CellState, 'cell' | 'parent' | 'path' | 'salt' | 'secrets'>) {
    this.born = born;
    this.plan = plan;
    this.cell = link.cell;
    this.parent = link.parent;
    this.path = link.path;
    this.salt = link.salt;
    this.secrets = link.secrets;
    this.eye = new Observer(born.part.sent);
  }

  /** The next call begins: which one it is. */
  begin(args: string): ObservedCall | undefined {
    const fits = ({ input }: ObservedCall): boolean => args.slice(0, comparedMax) === input.slice(0, comparedMax);
    for (let index = this.#begun; index < this.called.length; index++)
      if (fits(this.called[index]!)) {
        this.#begun = index + 1;
        return this.called[index];
      }
    return undefined;
  }
}

/** The log keeps no more of a call's arguments. */
const comparedMax = 400;
