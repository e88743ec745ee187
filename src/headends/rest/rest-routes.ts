// All REST routes. The path of an agent matches any single word, so the fixed paths come first.
import type { HttpRoute, AgentService } from '#contracts';
import { agentRoutes } from './agent-routes.ts';
import type { RestWorld } from './agent-routes.ts';
import { liveAgentRoutes } from './live-agent-routes.ts';
import { runRoutes } from './run-routes.ts';

export const restRoutes = (service: AgentService, world: RestWorld): readonly HttpRoute[] => [
  ...runRoutes(service),
  ...liveAgentRoutes(service),
  ...agentRoutes(service, world),
];
