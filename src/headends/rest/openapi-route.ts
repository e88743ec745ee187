// GET /openapi.json: describes every route of the server.
import type { HttpRoute } from '#contracts';
import { openapiDocument } from './openapi-document.ts';
import type { ApiInfo } from './openapi-document.ts';
import { jsonResponse } from './operation-parts.ts';
import { refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';

/** `routes`: all routes, including this one, so it is a function that is called for each request. */
export const openapiRoute = (routes: () => readonly HttpRoute[], about: ApiInfo): HttpRoute => ({
  method: 'GET',
  path: '/openapi.json',
  formatError: restError,
  operation: {
    operationId: 'describe',
    tags: ['server'],
    summary: 'Get this OpenAPI document',
    responses: { 200: jsonResponse('An OpenAPI 3.1 document.', { type: 'object' }) },
  },
  answer: async ({ query }) => {
    refuseQuery(query);
    return { status: 200, body: openapiDocument(routes(), about) };
  },
});
