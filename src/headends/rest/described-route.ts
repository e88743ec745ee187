// A REST route: one description checks its requests and makes its OpenAPI operation.
import { CloisterError, parseStrictJson } from '#base';
import type { Json, JsonObject } from '#base';
import { jsonSchemaOf, object, problemText, readShape } from '#base/shapes';
import type { ObjectForm, Shape, ShapeProblem } from '#base/shapes';
import type { AdmittedRequest, HttpRoute, RouteReply } from '#contracts';
import { restError } from './rest-error.ts';
import { errorShape, schemaReference } from './reply-shapes.ts';

type DescribedRoute<Query, Body, Found> = Pick<HttpRoute, 'method' | 'path' | 'files'> & {
  readonly id: string;
  readonly tag: 'agents' | 'runs' | 'conversations' | 'checkpoints' | 'questions' | 'server';
  readonly summary: string;
  readonly description?: string;
  /** Query parameters. Without them, none is allowed. */
  readonly query?: Shape<Query>;
  /** For a POST. Without it, the body is empty or left out. */
  readonly body?: Shape<Body>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly replies: JsonObject;
  /** Finds what the path names, before anything else is looked at: what a caller may not see does not exist. */
  find?(call: AdmittedRequest): Found;
  answer(call: AdmittedRequest, given: RouteInput<Query, Body, Found>): Promise<RouteReply>;
};

type RouteInput<Query, Body, Found> = { readonly query: Query; readonly body: Body; readonly found: Found };

/** No parameters, or no fields. */
const nothing = object({});

export const restRoute = <Query = unknown, Body = unknown, Found = undefined>(
  route: DescribedRoute<Query, Body, Found>,
): HttpRoute => ({
  method: route.method,
  path: route.path,
  formatError: restError,
  operation: operationOf(route),
  ...(route.files === undefined ? {} : { files: route.files }),
  answer: async (call) => {
    const found = route.find?.(call) as Found;
    const query = readQuery((route.query ?? nothing) as Shape<Query>, call.query);
    return route.answer(call, { query, body: readRestBody(route.body, call.body) as Body, found });
  },
});

const depthMax = 64;

/** Reads query parameters: texts, which stand for numbers, flags and objects where the shape has those. */
export const readQuery = <T>(shape: Shape<T>, query: URLSearchParams): T => {
  const { fields } = shape as Shape & ObjectForm;
  const given: Record<string, unknown> = {};
  for (const name of query.keys()) {
    const values = query.getAll(name);
    if (values.length > 1 && Object.hasOwn(fields, name))
      throw new CloisterError('request_invalid', `${name}: given more than once.`);
    given[name] = Object.hasOwn(fields, name) ? fromText(fields[name]!, values[0]!, name) : values[0];
  }
  return readOrRefuse(shape, given, 'parameter', 'The query');
};

const fromText = (shape: Shape, text: string, name: string): unknown => {
  switch (shape.is) {
    case 'number':
      return /^\d{1,15}(?:\.\d{1,15})?$/u.test(text) ? Number(text) : text;
    case 'flag':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'map':
      return parseJsonObject(text, name);
    default:
      return text;
  }
};

export const parseJsonObject = (text: string, field: string): JsonObject => {
  const read = parseStrictJson(text, depthMax);
  if ('problem' in read)
    throw new CloisterError('request_invalid', `${field}: expected a JSON object as text. ${read.problem}`);
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CloisterError('request_invalid', `${field}: expected a JSON object as text; got a different JSON value.`);
  return value as JsonObject;
};

/** Null counts as left out: clients of every protocol send null for a field they do not set. */
export const readRestBody = <T>(shape: Shape<T> | undefined, body: Json | undefined): T | undefined => {
  if (shape === undefined && (body === undefined || body === null)) return undefined;
  return readOrRefuse((shape ?? nothing) as Shape<T>, body, 'field', 'The body');
};

/** Throws `request_invalid` for the first problem. */
const readOrRefuse = <T>(shape: Shape<T>, value: unknown, what: string, whole: string): T => {
  const problems: ShapeProblem[] = [];
  const read = readShape({ ...shape, expected: 'a JSON object' }, value, {
    report: (problem) => void problems.push(problem),
    nullIsAbsent: true,
  });
  const [problem] = problems;
  if (problem !== undefined) throw new CloisterError('request_invalid', problemText(problem, what, whole));
  return read as T;
};

const schemaFor = (shape: Shape): JsonObject => jsonSchemaOf(shape, schemaReference);

const operationOf = (route: Omit<DescribedRoute<unknown, unknown, unknown>, 'answer' | 'find'>): JsonObject => {
  const parameters = [
    ...[...route.path.matchAll(/:(?<name>[^/]+)/gu)].map(({ groups }) => pathParameter(groups!['name']!)),
    ...queryParameters(route.query),
    ...Object.entries(route.headers ?? {}).map(([name, description]) => ({
      name,
      in: 'header',
      description,
      schema: { type: 'string' },
    })),
  ];
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.method === 'POST' ? { requestBody: requestBody(route.body) } : {}),
    responses: route.replies,
  };
};

const parameterTexts: Readonly<Record<string, string>> = {
  agent: 'The name of the agent.',
  run: 'The id of one of your runs.',
  name: 'The name of the agent within the run.',
  sha256: 'The SHA-256 of the file, in hex.',
  checkpoint: 'The id of one of your checkpoints.',
  question: 'The id of a question.',
  conversation: 'The name of one of your conversations.',
};

export const pathParameter = (name: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  description: parameterTexts[name] ?? `The ${name}.`,
  schema: { type: 'string' },
});

const queryParameters = (query: Shape | undefined): readonly JsonObject[] => {
  if (query?.is !== 'object') return [];
  return Object.entries(query.fields).map(([name, { about: description = '', ...shape }]) => ({
    name,
    in: 'query',
    ...(query.required.includes(name) ? { required: true } : {}),
    description,
    ...(shape.is === 'map'
      ? { content: { 'application/json': { schema: schemaFor(shape) } } }
      : { schema: schemaFor(shape) }),
  }));
};

/** For a request that its path describes completely, the body may be omitted. */
const requestBody = (body: Shape | undefined): JsonObject => ({
  required: body !== undefined,
  content: jsonContent(body === undefined ? { type: 'object', maxProperties: 0 } : schemaFor(body)),
});

const jsonContent = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

export const jsonReply = (description: string, shape: Shape): JsonObject => ({
  description,
  content: jsonContent(schemaFor(shape)),
});

/** JSON, or a stream of events. */
export const jsonOrEventsReply = (description: string, shape: Shape): JsonObject => ({
  description,
  content: { ...jsonContent(schemaFor(shape)), ...events },
});

/** The bytes of a file. */
export const fileReply = (description: string): JsonObject => ({
  description,
  headers: { etag: { description: 'For `if-none-match`.', schema: { type: 'string' } } },
  content: { '*/*': {} },
});

/** A run without an answer reports the reason in the same value that would hold the answer. */
export const noAnswerReplies = (value: Shape): JsonObject => {
  const orError: Shape = { is: 'either', of: [value, errorShape] };
  return {
    422: jsonReply('A limit was reached before there was an answer.', value),
    429: jsonReply('The budget was used up before there was an answer, or the server is busy.', orError),
    502: jsonReply('A model or a tool failed before there was an answer.', value),
    504: jsonReply('The run timed out before there was an answer.', value),
    default: jsonReply('Any other error, in the run or before it.', orError),
  };
};

const events = {
  'text/event-stream': {
    schema: {
      type: 'string',
      description:
        'Each event of the run: `event` is its type, `id` its id if it is recorded, `data` its JSON. The last one is ' +
        '`outcome`, with the value that is returned without streaming, or `error`.',
    },
  },
};
