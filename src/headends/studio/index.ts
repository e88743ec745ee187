// The page of the studio, as files that a server answers with.
export { pageRoutes } from './page-routes.ts';
export type { PageFiles } from './page-routes.ts';
