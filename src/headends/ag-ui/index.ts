export { agUiRoutes } from './ag-ui-routes.ts';
