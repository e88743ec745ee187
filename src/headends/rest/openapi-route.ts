// GET /openapi.json: describes every route of the server.
import { jsonObject } from '#base/shapes';
import type { HttpRoute } from '#contracts';
import { jsonReply, restRoute } from './described-route.ts';
import { openapiDocument } from './openapi-document.ts';
import type { ApiInfo } from './openapi-document.ts';

/** `routes`: all routes, including this one, so it is a function that is called for each request. */
export const openapiRoute = (routes: () => readonly HttpRoute[], about: ApiInfo): HttpRoute =>
  restRoute({
    method: 'GET',
    path: '/openapi.json',
    id: 'describe',
    tag: 'server',
    summary: 'Get this OpenAPI document',
    replies: { 200: jsonReply('An OpenAPI 3.1 document.', jsonObject()) },
    answer: async () => ({ status: 200, body: openapiDocument(routes(), about) }),
  });
