// A run that was started for a caller, with what it holds.
import type { Agent, AgentRequest, Caller } from '#contracts';
import type { SettleAllowance } from './allowances.ts';
import type { ClientRun } from './client-run.ts';
import type { ResidentRun } from './resident-sessions.ts';
import type { RunSlot } from './run-slot.ts';

export type StartedRun = {
  readonly caller: Caller;
  readonly agent: Agent;
  readonly request: AgentRequest;
  readonly signal: AbortSignal | undefined;
  readonly slot: RunSlot;
  readonly settle: SettleAllowance | undefined;
  readonly client: ClientRun | undefined;
  readonly resident: ResidentRun | undefined;
};
