export { openapiRoute } from './openapi-document.ts';
export { restError } from './rest-error.ts';
export { reservedNames, restRoutes } from './rest-routes.ts';
