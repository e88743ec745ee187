import type { Agent } from './agent.ts';
import type { Budget } from './amounts.ts';
import type { MemoryScope } from './team.ts';

/** The options of `defineTeam`. */
export type TeamOptions = {
  /** Its name, in `runTeam` and as a tool of other agents. */
  readonly name: string;
  /** What it does, for callers. Default: `The team <name>.` */
  readonly description?: string;
  /** Its members, which work on tasks. */
  readonly agents: readonly Agent[];
  /** Plans the tasks, and writes the answer from all results. */
  readonly coordinator?: Agent;
  /** How many tasks run in parallel. Default: 4. */
  readonly parallel?: number;
  /** How many tasks one member may work on in parallel, by name. Default: as many as the team. */
  readonly capacity?: Readonly<Record<string, number>>;
  /** Scope of tasks that set none. Default: `dependencies`. */
  readonly memoryScope?: MemoryScope;
  /** Whether a coordinator's plan may use the scope `all`. */
  readonly planMayAskForAll?: boolean;
  /** The largest plan a coordinator may make. Default: 200 tasks, depth 20. */
  readonly plan?: { readonly tasks?: number; readonly depth?: number };
  /** Retries of tasks that set none. Default: 0. */
  readonly retries?: number;
  /** Delay before the first retry; it doubles with each further retry. Default: 1,000. */
  readonly backOffMs?: number;
  /** Which members may message which others; `true`: everyone may message everyone. Default: nobody. */
  readonly messages?: boolean | Readonly<Record<string, readonly string[]>>;
  /** The most that one run of the team may spend, with everything below it. */
  readonly budget?: Budget;
};
