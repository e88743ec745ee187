import type { Agent } from './agent.ts';
import type { Budget } from './amounts.ts';
import type { MemoryScope } from './team.ts';

/** What `defineTeam` takes. */
export type TeamOptions = {
  readonly name: string;
  readonly description?: string;
  readonly agents: readonly Agent[];
  /** Plans, and answers from all results. */
  readonly coordinator?: Agent;
  /** How many tasks are worked on at once. Default 4. */
  readonly parallel?: number;
  /** The same for one member, by name. Default: as many as the team. */
  readonly capacity?: Readonly<Record<string, number>>;
  /** For tasks that name none. Default `dependencies`. */
  readonly memoryScope?: MemoryScope;
  /** Whether a coordinator's plan may ask for `all`. */
  readonly planMayAskForAll?: boolean;
  /** The largest plan that a coordinator may make. Default 200 tasks, 20 deep. */
  readonly plan?: { readonly tasks?: number; readonly depth?: number };
  /** For tasks that name none. Default 0. */
  readonly retries?: number;
  /** Before the second try; twice as long before each further one. Default 1,000. */
  readonly backOffMs?: number;
  /** Who may write to whom: `true` for all to all. Default: nobody. */
  readonly messages?: boolean | Readonly<Record<string, readonly string[]>>;
  readonly budget?: Budget;
};
