export { anthropicRoutes } from './anthropic-routes.ts';
