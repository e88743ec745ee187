export { openapiRoute } from './openapi-route.ts';
export { reservedNames } from './reserved-names.ts';
export { restError } from './rest-error.ts';
export { restRoutes } from './rest-routes.ts';
