export { openaiError } from './openai-error.ts';
export { openaiRoutes } from './openai-routes.ts';
