// Builds an OpenAPI 3.1 document of the routes of all protocols.
//
//   openapi-lists-routes. Every operation in it is a route, except /health, which the server answers itself.
//   openapi-errors-by-protocol. Errors are described in the format of the route's own protocol.
import { canonicalJson } from '#base';
import type { ErrorCode, Json, JsonObject } from '#base';
import { namedSchemas, jsonObject } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { ErrorFormatter, HttpRoute } from '#contracts';
import { clientFailure } from '#headends/shared';
import { accountValues } from './account-routes.ts';
import { conversationValues } from './conversation-routes.ts';
import { agentFactsShape, topologyShape } from './agent-shapes.ts';
import { checkpointValues } from './checkpoint-shapes.ts';
import { jsonReply, pathParameter, restRoute } from './described-route.ts';
import { answerReceiptShape, questionAnswerShape, questionShape } from './question-shapes.ts';
import { liveAgentShape, startedAgentShape } from './live-agent-shapes.ts';
import {
  agentShape,
  answerShape,
  begunShape,
  errorShape,
  healthShape,
  outcomeShape,
  reportShape,
  runMessageShape,
  runShape,
  schemaReference,
  transcriptShape,
} from './reply-shapes.ts';
import {
  auditShape,
  diffShape,
  explanationShape,
  ledgerShape,
  mailShape,
  replayShape,
  taskShape,
  windowShape,
} from './report-shapes.ts';
import { forkShape, messageShape, runRequestShape, spawnShape } from './request-shapes.ts';
import { restError } from './rest-error.ts';

type ApiInfo = { readonly version: string; readonly title?: string };

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
  forkShape,
  transcriptShape,
  explanationShape,
  auditShape,
  windowShape,
  ledgerShape,
  taskShape,
  ...checkpointValues,
  ...accountValues,
  agentFactsShape,
  topologyShape,
  ...conversationValues,
  mailShape,
  questionShape,
  questionAnswerShape,
  answerReceiptShape,
  replayShape,
  diffShape,
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

// Merges the operations of two routes that share a path and differ by a header: OpenAPI allows only one operation there.
const mergeOperations = (one: JsonObject, other: JsonObject): JsonObject => ({
  ...other,
  ...one,
  ...mergeTexts('summary', one, other, ' / '),
  ...mergeTexts('description', one, other, '\n\n'),
  ...mergeLists('tags', one, other),
  ...mergeLists('parameters', one, other),
  ...(one['requestBody'] === undefined || other['requestBody'] === undefined
    ? {}
    : { requestBody: mergeContents(asObject(one['requestBody']), asObject(other['requestBody'])) }),
  responses: mergeEach(asObject(one['responses']), asObject(other['responses']), mergeContents),
});

type Merge = (one: JsonObject, other: JsonObject) => JsonObject;

/** Merges two bodies or two responses. Other fields come from the first one. */
const mergeContents: Merge = (one, other) => {
  if (same(one, other) || one['$ref'] !== undefined || other['$ref'] !== undefined) return one;
  const content = mergeEach(asObject(one['content']), asObject(other['content']), mergeMedia);
  return {
    ...other,
    ...one,
    ...mergeTexts('description', one, other, ' / '),
    ...(isEmpty(content) ? {} : { content }),
  };
};

const mergeMedia: Merge = (one, other) => {
  const schemas = [...choices(one), ...choices(other)];
  const different = schemas.filter((schema, index) => schemas.findIndex((each) => same(each, schema)) === index);
  const { example, ...rest } = one;
  const examples = [example, other['example']].filter((each) => each !== undefined);
  return {
    ...rest,
    schema: different.length === 1 ? different[0] : { anyOf: different },
    ...(examples.length === 0
      ? {}
      : { examples: Object.fromEntries(examples.map((value, index) => [`form${index + 1}`, { value }])) }),
  };
};

/** The schemas of one media type, which may already be merged. */
const choices = ({ schema }: JsonObject): readonly JsonObject[] => {
  const of = asObject(schema);
  const any = of['anyOf'];
  return Array.isArray(any) && Object.keys(of).length === 1 ? (any as readonly JsonObject[]) : [of];
};

const mergeEach = (one: JsonObject, other: JsonObject, merge: Merge): JsonObject => {
  const entries = Object.entries(other).map(([name, value]): [string, Json | undefined] => [
    name,
    one[name] === undefined ? value : merge(asObject(one[name]), asObject(value)),
  ]);
  return { ...one, ...Object.fromEntries(entries) };
};

/** Joins the texts of both, if they differ. */
const mergeTexts = (name: string, one: JsonObject, other: JsonObject, by: string): JsonObject => {
  const texts = [...new Set([one[name], other[name]].filter((text) => typeof text === 'string'))];
  return texts.length === 0 ? {} : { [name]: texts.join(by) };
};

/** Joins the arrays of both, without duplicates. A parameter is identified by its location and name, anything else by its value. */
const mergeLists = (name: string, one: JsonObject, other: JsonObject): JsonObject => {
  const items = [one[name], other[name]].flatMap((list) => (Array.isArray(list) ? (list as readonly Json[]) : []));
  const keys = items.map(keyOf);
  const first = items.filter((_item, index) => keys.indexOf(keys[index]!) === index);
  return first.length === 0 ? {} : { [name]: first };
};

const keyOf = (item: Json): string => {
  const { in: where, name } = asObject(item);
  return where === undefined ? canonicalJson(item) : canonicalJson([where, name ?? null]);
};

const same = (one: Json, other: Json): boolean => canonicalJson(one) === canonicalJson(other);

const isEmpty = (value: JsonObject): boolean => Object.keys(value).length === 0;

const asObject = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

// GET /openapi.json: describes every route of the server.
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
