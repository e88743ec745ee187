// GET /openapi.json: the description of every route that is served.
import type { HttpRoute } from '#contracts';
import { openapiDocument } from './openapi-document.ts';
import type { About } from './openapi-document.ts';
import { json } from './operation-parts.ts';
import { refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';

/** `routes`: all of them, this one too; asked for when the description is. */
export const openapiRoute = (routes: () => readonly HttpRoute[], about: About): HttpRoute => ({
  method: 'GET',
  path: '/openapi.json',
  form: restError,
  operation: {
    operationId: 'describe',
    tags: ['server'],
    summary: 'This description',
    responses: { 200: json('An OpenAPI 3.1 document.', { type: 'object' }) },
  },
  answer: async ({ query }) => {
    refuseQuery(query);
    return { status: 200, body: openapiDocument(routes(), about) };
  },
});
