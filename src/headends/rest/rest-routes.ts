// All routes of the REST interface. The address of an agent fits every single word, so the fixed ones come before it.
import type { HttpRoute, AgentService } from '#contracts';
import { agentRoutes } from './agent-routes.ts';
import type { RestWorld } from './agent-routes.ts';
import { liveAgentRoutes } from './live-agent-routes.ts';
import { runRoutes } from './run-routes.ts';

export const restRoutes = (serving: AgentService, world: RestWorld): readonly HttpRoute[] => [
  ...runRoutes(serving),
  ...liveAgentRoutes(serving),
  ...agentRoutes(serving, world),
];
