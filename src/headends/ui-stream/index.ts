export { uiStreamRoutes } from './ui-stream-routes.ts';
