// The routes for OpenAI's clients: a model is an agent, and an answer is a run.
import type { HttpRoute, AgentService } from '#contracts';
import { chatRoute } from './chat-route.ts';
import { modelRoutes } from './model-routes.ts';
import { responseRoutes } from './response-routes.ts';

export const openaiRoutes = (service: AgentService, world: { now(): number }): readonly HttpRoute[] => [
  ...modelRoutes(service, world.now()),
  chatRoute(service),
  ...responseRoutes(service),
];
