export { absentRoutes } from './absent-routes.ts';
export { openaiRoutes } from './openai-routes.ts';
