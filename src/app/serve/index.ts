// Who may call what: tokens, run slots, allowances, and which run belongs to whom.
export {
  checkHostsAndOrigins,
  checkServedAgents,
  checkTokenEntries,
  tokenProblems,
  checkHost,
  hostsFor,
  isLoopback,
  listenUrl,
} from './check-server-setup.ts';
export type { ResumeAttempt } from './interrupted-runs.ts';
export type { RetentionPass } from './run-retention.ts';
export { LocalAgentService } from './local-agent-service.ts';
export { ReadinessCheck } from './readiness.ts';
export { RateLimiter, TokenRegistry, temporaryTokenEntry } from './token-registry.ts';
export { SlotQueue, slotLimitsFor } from './slot-queue.ts';
export type { SlotLimits } from './slot-queue.ts';
