// Builds an OpenAPI 3.1 document of the routes of all protocols.
//
//   openapi-lists-routes. Every operation in it is a route, except /health, which the server answers itself.
//   openapi-errors-by-protocol. Errors are described in the format of the route's own protocol.
import { clientFailure } from '#headends/shared';
import type { ErrorCode, Json, JsonObject } from '#base';
import { namedSchemas } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { ErrorFormatter, HttpRoute } from '#contracts';
import { mergeOperations } from './merge-operations.ts';
import { jsonReply, pathParameter } from './described-route.ts';
import { restError } from './rest-error.ts';
import {
  agentShape,
  answerShape,
  begunShape,
  errorShape,
  healthShape,
  liveAgentShape,
  outcomeShape,
  reportShape,
  runMessageShape,
  runShape,
  schemaReference,
  startedAgentShape,
} from './reply-shapes.ts';
import { messageShape, runRequestShape, spawnShape } from './request-shapes.ts';

export type ApiInfo = { readonly version: string; readonly title?: string };

export const openapiDocument = (
  routes: readonly HttpRoute[],
  { version, title = 'Cloister' }: ApiInfo,
): JsonObject => ({
  openapi: '3.1.0',
  info: {
    title,
    version,
    description: 'Isolated LLM agents, served over REST and over the APIs of OpenAI and Anthropic.',
  },
  security: [{ bearer: [] }, { apiKey: [] }],
  paths: { '/health': health, ...buildPaths(routes) },
  components: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'A token from the operator.' },
      apiKey: {
        type: 'apiKey',
        in: 'header',
        name: 'x-api-key',
        description: 'The same token, in the header that some clients use.',
      },
    },
    schemas: namedSchemas(namedValues, schemaReference),
  },
});

/** The values to which operations refer by name. */
const namedValues: readonly Shape[] = [
  healthShape,
  errorShape,
  agentShape,
  runRequestShape,
  outcomeShape,
  reportShape,
  begunShape,
  runShape,
  runMessageShape,
  liveAgentShape,
  spawnShape,
  startedAgentShape,
  messageShape,
  answerShape,
];

const healthId = 'health';

const health: JsonObject = {
  get: {
    operationId: healthId,
    tags: ['server'],
    summary: 'Check whether the server is running',
    description: 'With a token of the operator, also shows stalls of the process and whose work they were.',
    security: [],
    responses: {
      200: jsonReply('The server is running.', healthShape),
    },
  },
};

const buildPaths = (routes: readonly HttpRoute[]): JsonObject => {
  const paths = new Map<string, Map<string, JsonObject>>();
  const shapes = new Map<string, string>();
  for (const route of routes) {
    const path = pathTemplate(route.path);
    const shape = path.replace(pathParameterPattern, '{}');
    // Paths that differ only in their parameter names are one path in OpenAPI; the names of the first one are used.
    const first = shapes.get(shape) ?? path;
    shapes.set(shape, first);
    const methods = paths.get(first) ?? new Map<string, JsonObject>();
    const method = route.method.toLowerCase();
    const before = methods.get(method);
    const operation = completeOperation(route, renaming(path, first));
    methods.set(method, before === undefined ? operation : mergeOperations(before, operation));
    paths.set(first, methods);
  }
  const taken = new Set([healthId]);
  return Object.fromEntries(
    [...paths].map(([path, methods]) => [
      path,
      Object.fromEntries([...methods].map(([method, one]) => [method, withUniqueId(one, `${method} ${path}`, taken)])),
    ]),
  );
};

const pathParameterPattern = /\{[^}]*\}/gu;

const pathTemplate = (path: string): string => path.replace(/:(?<name>[^/]+)/gu, '{$<name>}');

const parameterNames = (path: string): readonly string[] =>
  (path.match(pathParameterPattern) ?? []).map((name) => name.slice(1, -1));

/** Maps the parameter names of one path to those of another path of the same shape. */
const renaming = (path: string, first: string): ReadonlyMap<string, string> => {
  const names = parameterNames(first);
  return new Map(parameterNames(path).map((name, index) => [name, names[index] ?? name]));
};

/** Adds what all operations have in common. */
const completeOperation = ({ operation, formatError }: HttpRoute, names: ReadonlyMap<string, string>): JsonObject => {
  const declared = ((operation['parameters'] ?? []) as readonly JsonObject[]).map((parameter) =>
    parameter['in'] === 'path'
      ? { ...parameter, name: names.get(parameter['name'] as string) ?? parameter['name'] }
      : parameter,
  );
  const missing = [...names.values()].filter(
    (name) => !declared.some((one) => one['in'] === 'path' && one['name'] === name),
  );
  const parameters = [...missing.map((name) => pathParameter(name)), ...declared];
  return {
    ...operation,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: { ...errorResponses(formatError), ...(operation['responses'] as JsonObject | undefined) },
  };
};

const commonErrors: Readonly<Record<string, ErrorCode>> = {
  400: 'request_invalid',
  401: 'token_refused',
  403: 'origin_refused',
  404: 'route_unknown',
  413: 'request_too_large',
  429: 'server_busy',
  503: 'server_stopping',
};

const errorResponses = (formatError: ErrorFormatter): JsonObject => {
  const schema = formatError === restError ? { $ref: schemaReference('Error') } : { type: 'object' };
  const errorResponse = (description: string, code: ErrorCode): JsonObject => ({
    description,
    content: { 'application/json': { schema, example: formatError(clientFailure({ code }), 'a-request-id') } },
  });
  const each = Object.entries(commonErrors).map(([status, code]): [string, Json] => [
    status,
    errorResponse(clientFailure({ code }).message, code),
  ]);
  return { ...Object.fromEntries(each), default: errorResponse('Any other error.', 'defect') };
};

/** Operation ids must be unique. */
const withUniqueId = (operation: JsonObject, address: string, taken: Set<string>): JsonObject => {
  const declared = operation['operationId'];
  const id = typeof declared === 'string' ? declared : address.replace(/[^A-Za-z0-9]+/gu, '_');
  let free = id;
  for (let number = 2; taken.has(free); number++) free = `${id}_${number}`;
  taken.add(free);
  return { ...operation, operationId: free };
};
