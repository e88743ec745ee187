// Who may call what: tokens, run slots, allowances, and which run belongs to whom.
export { checkHostsAndOrigins, checkServedAgents, checkTokenEntries, tokenProblems } from './check-server-setup.ts';
export { checkHost, hostsFor, isLoopback, listenUrl } from './host-names.ts';
export { LocalAgentService } from './local-agent-service.ts';
export { RateLimiter } from './rate-limit.ts';
export { SlotQueue, slotLimitsFor } from './slot-queue.ts';
export type { SlotLimits } from './slot-queue.ts';
export { TokenRegistry, temporaryTokenEntry } from './token-registry.ts';
