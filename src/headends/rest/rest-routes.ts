// All routes of the REST interface. The address of an agent fits every single word, so the fixed ones come before it.
import type { Route, Serving } from '#contracts';
import { agentRoutes } from './agent-routes.ts';
import type { RestWorld } from './agent-routes.ts';
import { livingRoutes } from './living-routes.ts';
import { runRoutes } from './run-routes.ts';

export const restRoutes = (serving: Serving, world: RestWorld): readonly Route[] => [
  ...runRoutes(serving),
  ...livingRoutes(serving),
  ...agentRoutes(serving, world),
];
