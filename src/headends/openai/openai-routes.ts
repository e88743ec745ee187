// The agents behind the interfaces of OpenAI: a model is an agent, an answer is a run.
import type { Route, Serving } from '#contracts';
import { chatRoute } from './chat-route.ts';
import { modelRoutes } from './model-routes.ts';
import { responseRoutes } from './response-routes.ts';

export const openaiRoutes = (serving: Serving, world: { now(): number }): readonly Route[] => [
  ...modelRoutes(serving, world.now()),
  chatRoute(serving),
  ...responseRoutes(serving),
];
