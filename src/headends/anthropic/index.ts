export { anthropicError } from './anthropic-error.ts';
export { anthropicRoutes } from './anthropic-routes.ts';
