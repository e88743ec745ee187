// An OpenAPI 3.1 document of the routes of all protocols.
//
//   O1. Every operation in it is a route, but for /health, which the server answers by itself.
//   O2. What goes wrong is described in the form of the route's own protocol.
import { clientFailure } from '#headends/shared';
import type { ErrorCode, Json, JsonObject } from '#base';
import type { ErrorFormatter, HttpRoute } from '#contracts';
import { mergeOperations } from './merge-operations.ts';
import { pathParameter, schemaRef } from './operation-parts.ts';
import { restError } from './rest-error.ts';
import { valueSchemas } from './value-schemas.ts';

export type About = { readonly version: string; readonly title?: string };

export const openapiDocument = (routes: readonly HttpRoute[], { version, title = 'Cloister' }: About): JsonObject => ({
  openapi: '3.1.0',
  info: {
    title,
    version,
    description: 'Agents that work in cells of their own, served over REST and over the protocols of other clients.',
  },
  security: [{ bearer: [] }, { apiKey: [] }],
  paths: { '/health': health, ...pathsOf(routes) },
  components: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'A token of the operator.' },
      apiKey: {
        type: 'apiKey',
        in: 'header',
        name: 'x-api-key',
        description: 'The same token, as some clients send it.',
      },
    },
    schemas: valueSchemas,
  },
});

const healthId = 'health';

const health: JsonObject = {
  get: {
    operationId: healthId,
    tags: ['server'],
    summary: 'Whether the server is there',
    security: [],
    responses: { 200: { description: 'It is.', content: { 'application/json': { schema: { type: 'object' } } } } },
  },
};

const pathsOf = (routes: readonly HttpRoute[]): JsonObject => {
  const paths = new Map<string, Map<string, JsonObject>>();
  const shapes = new Map<string, string>();
  for (const route of routes) {
    const path = templateOf(route.path);
    const shape = path.replace(partOfPath, '{}');
    // Paths that differ only in what their parts are called are one path: the names are those of the first.
    const first = shapes.get(shape) ?? path;
    shapes.set(shape, first);
    const methods = paths.get(first) ?? new Map<string, JsonObject>();
    const method = route.method.toLowerCase();
    const before = methods.get(method);
    const operation = complete(route, renaming(path, first));
    methods.set(method, before === undefined ? operation : mergeOperations(before, operation));
    paths.set(first, methods);
  }
  const taken = new Set([healthId]);
  return Object.fromEntries(
    [...paths].map(([path, methods]) => [
      path,
      Object.fromEntries([...methods].map(([method, one]) => [method, withId(one, `${method} ${path}`, taken)])),
    ]),
  );
};

const partOfPath = /\{[^}]*\}/gu;

const templateOf = (path: string): string => path.replace(/:(?<name>[^/]+)/gu, '{$<name>}');

const namesIn = (path: string): readonly string[] => (path.match(partOfPath) ?? []).map((name) => name.slice(1, -1));

/** From the names in one path to those in another of the same shape. */
const renaming = (path: string, first: string): ReadonlyMap<string, string> => {
  const names = namesIn(first);
  return new Map(namesIn(path).map((name, place) => [name, names[place] ?? name]));
};

/** With what all operations have in common. */
const complete = ({ operation, form }: HttpRoute, names: ReadonlyMap<string, string>): JsonObject => {
  const given = ((operation['parameters'] ?? []) as readonly JsonObject[]).map((parameter) =>
    parameter['in'] === 'path'
      ? { ...parameter, name: names.get(parameter['name'] as string) ?? parameter['name'] }
      : parameter,
  );
  const missing = [...names.values()].filter(
    (name) => !given.some((one) => one['in'] === 'path' && one['name'] === name),
  );
  const parameters = [...missing.map((name) => pathParameter(name, `The ${name}.`)), ...given];
  return {
    ...operation,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: { ...failuresIn(form), ...(operation['responses'] as JsonObject | undefined) },
  };
};

const common: Readonly<Record<string, ErrorCode>> = {
  400: 'request_invalid',
  401: 'token_refused',
  403: 'origin_refused',
  404: 'route_unknown',
  413: 'request_too_large',
  429: 'server_busy',
  503: 'server_stopping',
};

const failuresIn = (form: ErrorFormatter): JsonObject => {
  const schema = form === restError ? schemaRef('Error') : { type: 'object' };
  const told = (description: string, code: ErrorCode): JsonObject => ({
    description,
    content: { 'application/json': { schema, example: form(clientFailure({ code }), 'a-request-id') } },
  });
  const each = Object.entries(common).map(([status, code]): [string, Json] => [
    status,
    told(clientFailure({ code }).message, code),
  ]);
  return { ...Object.fromEntries(each), default: told('Anything else that went wrong.', 'defect') };
};

/** Ids are of use only when no two operations have one. */
const withId = (operation: JsonObject, address: string, taken: Set<string>): JsonObject => {
  const given = operation['operationId'];
  const id = typeof given === 'string' ? given : address.replace(/[^A-Za-z0-9]+/gu, '_');
  let free = id;
  for (let number = 2; taken.has(free); number++) free = `${id}_${number}`;
  taken.add(free);
  return { ...operation, operationId: free };
};
