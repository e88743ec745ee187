import type { Agent, AgentRequest, Caller, RunOutcome, RunSession, ServedRun } from '#contracts';
import type { SettleAllowance } from './allowances.ts';
import type { ClientRun } from './client-run.ts';
import type { ResidentRun } from './resident-sessions.ts';
import type { RunSlot } from './run-slot.ts';

/** What a run for a caller holds. */
export type HeldByRun = {
  readonly caller: Caller;
  readonly agent: Agent;
  readonly request: AgentRequest;
  readonly slot: RunSlot;
  readonly settle: SettleAllowance | undefined;
  /** Set if the run cannot continue without its client. */
  readonly client: ClientRun | undefined;
  /** Set for a resident. */
  readonly resident: ResidentRun | undefined;
};

/** A run for a caller that is running in this process. */
export type ActiveRun = HeldByRun & {
  readonly session: RunSession;
  readonly startedAt: number;
  /** The outcome as reported to the client. */
  readonly outcome: Promise<RunOutcome>;
  /** Called when the client disconnects. */
  readonly onDisconnect: () => void;
  /** Rejects the outcome for those who wait for it, while the run itself is left to be resumed. */
  readonly detach: () => void;
};

/** Serves one request of the run: the only one, or one of several if the client has tools. */
export type ServeRunRequest = (signal: AbortSignal | undefined) => ServedRun;
