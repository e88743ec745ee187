// What a service of agents is given.
import type { ClientRules, Clock, Cloister, RunEngine, RunOutcome, TopologyCheck } from '#contracts';
import type { ResumeAttempt } from './interrupted-runs.ts';
import type { RetentionPass } from './run-retention.ts';
import type { SlotQueue } from './slot-queue.ts';
import type { TokenRegistry } from './token-registry.ts';

export type AgentServicePorts = {
  readonly cloister: Cloister;
  /** Names of the served agents. */
  readonly agents: readonly string[];
  readonly tokens: TokenRegistry;
  readonly slots: SlotQueue;
  /** For tokens without a limit of their own. */
  readonly runningPerCaller?: number;
  /** Hands new runs to workers. Default: they work in this process. */
  readonly engine?: RunEngine | undefined;
  readonly clients: ClientRules;
  readonly clock: Clock;
  /** What `cloister check` finds about the served agents; null: they are not from files. */
  readonly checkTopology?: () => Promise<TopologyCheck | null>;
  /** How long a client may take for one tool call. */
  readonly clientToolMs?: number;
  /** How long an `Idempotency-Key` holds after the end of its run. */
  readonly keyMs?: number;
  /** Called for every run that has ended. */
  readonly ended?: (run: EndedRun) => void;
  /** Called when a run could not be recorded to its end. */
  readonly runLost?: () => void;
  /** Called for every interrupted run that was found: resumed, or left alone. */
  readonly resumeAttempted?: (attempt: ResumeAttempt) => void;
  /** Called when runs were deleted because they are no longer kept, or could not be. */
  readonly runsExpired?: (pass: RetentionPass) => void;
};

type EndedRun = { readonly caller: string; readonly agent: string; readonly outcome: RunOutcome };
