// Puts all routes behind one gate, as a function from a request to a response.
//
//   http-checks-before-body. No route runs and no body is read before host, origin, token and rate have been checked.
//   http-errors-in-protocol. Every error is sent in the format of the protocol that the path belongs to.
import { clientError } from '#headends/shared';
import { Hono } from 'hono';
import type { Context } from 'hono';
import { CloisterError } from '#base';
import type { ErrorCode, JsonObject } from '#base';
import type { Caller, Clock, ErrorFormatter, Ids, OpenRoute, PlainRoute } from '#contracts';
import type { BodyBudget } from './body-budget.ts';
import { checkRoutes } from './check-routes.ts';
import type { Gate } from './gate.ts';
import type { HttpLimits } from './limits.ts';
import type { NodeEnv } from './read-body.ts';
import { readBody, nextBatch } from './read-body.ts';
import { commonHeaders, compressReply, failureResponse, replyResponse, sendReply, completeReply } from './respond.ts';
import type { HeaderMap, StreamOptions, CompleteReply } from './respond.ts';

type AppOptions = {
  readonly routes: readonly ServedRoute[];
  /** For paths that belong to no protocol. */
  readonly formatError: ErrorFormatter;
  readonly gate: Gate;
  readonly limits: HttpLimits;
  readonly bodies: BodyBudget;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Removes secrets from error messages. */
  redact(text: string): string;
  /** Called for each answered request, and once more if its stream fails later. */
  onAnswered?(request: AnsweredRequest): void;
  isStopping(): boolean;
  /** What keeps the server from taking work now, for `/ready`. */
  findProblems?(): Promise<readonly string[]>;
  /** What `/health` also shows to the holder of this token; undefined for everybody but the operator. */
  operatorHealth?(caller: Caller): JsonObject | undefined;
};

export type AnsweredRequest = {
  readonly id: string;
  /** The object made for this request; null without a valid token. */
  readonly caller: Caller | null;
  readonly method: string;
  /** As received, without the query. Nothing in it is decoded, so it holds no line ends or terminal control characters. */
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  /** Why it was refused, or failed. */
  readonly code: ErrorCode | null;
  /** An unexpected error, for the operator. */
  readonly defect?: unknown;
};

type ServedRoute = PlainRoute | OpenRoute;

type HonoContext = Context<{ Bindings: Partial<NodeEnv> }>;

export type HttpApp = {
  fetch(request: Request, env?: Partial<NodeEnv>): Response | Promise<Response>;
  /** For input that is not an HTTP request, and for errors outside of every route. */
  refuse(error: unknown): Response;
};

/** What is known about a path before a request for it is handled. */
type PathInfo = { readonly formatError: ErrorFormatter; readonly methods: readonly string[] };

type KnownRoute = ServedRoute & PathInfo;

/** Throws `defect` for routes that contradict themselves or each other. */
export const buildApp = (options: AppOptions): HttpApp => {
  checkRoutes(options.routes);
  const app = new Hono<{ Bindings: Partial<NodeEnv> }>({ strict: true });
  const refuse = (error: unknown): Response =>
    sendReply(failureResponse(clientError(error), options.formatError, commonHeaders(requestId(options), {})));
  const statusPath = { formatError: options.formatError, methods: ['GET'] };
  app.get('/health', (c) => health(c, options, statusPath));
  app.get('/ready', (c) => readiness(c, options, statusPath));
  for (const path of ['/health', '/ready']) app.all(path, (c) => rejectRequest(c, options, statusPath));
  for (const [path, routesOfPath] of groupByPath(options.routes)) {
    const methods = [...new Set(routesOfPath.flatMap(methodsOf))];
    const routes = routesOfPath.map((route) => ({ ...route, methods }));
    for (const method of new Set(routesOfPath.map((route) => route.method))) {
      const choices = routes.filter((route) => route.method === method);
      app.on(method, path, (c) => serve(c, options, chooseRoute(choices, c.req.raw.headers)));
    }
    app.all(path, (c) => rejectRequest(c, options, chooseRoute(routes, c.req.raw.headers)));
  }
  const formatterFor = formatterByPath(options.routes);
  app.notFound((c) =>
    rejectRequest(c, options, {
      formatError: formatterFor(new URL(c.req.url).pathname) ?? options.formatError,
      methods: [],
    }),
  );
  app.onError(refuse);
  return { fetch: (request, env = {}) => app.fetch(request, env), refuse };
};

const methodsOf = ({ method, files }: ServedRoute): readonly string[] =>
  files === undefined ? [method] : [method, 'HEAD'];

/** An unknown path below a path of a protocol gets the error format of that protocol. The longest matching prefix decides. */
const formatterByPath = (routes: readonly ServedRoute[]): ((path: string) => ErrorFormatter | undefined) => {
  const prefixes = routes
    .map(({ path, formatError }) => ({ start: `${path.split('/:')[0]!}/`, formatError }))
    .sort((one, other) => other.start.length - one.start.length);
  return (path) => prefixes.find(({ start }) => `${path}/`.startsWith(start))?.formatError;
};

/** Fixed paths come first, so that `/v1/runs` is not taken for an agent. */
const groupByPath = (routes: readonly ServedRoute[]): ReadonlyMap<string, readonly ServedRoute[]> => {
  const parameterCount = (path: string): number => path.split('/').filter((part) => part.startsWith(':')).length;
  const sorted = [...routes].sort((one, other) => parameterCount(one.path) - parameterCount(other.path));
  return Map.groupBy(sorted, ({ path }) => path);
};

const chooseRoute = (choices: readonly KnownRoute[], headers: Headers): KnownRoute =>
  choices.find((route) => route.when?.(headers) === true) ??
  choices.find((route) => route.when === undefined) ??
  choices[0]!;

const wrongMethod = (methods: readonly string[]): CloisterError =>
  new CloisterError('method_refused', `Allowed: ${methods.join(', ')}.`);

const health = (c: HonoContext, options: AppOptions, pathInfo: PathInfo): Promise<Response> =>
  handleRequest(c, options, pathInfo, async ({ common }) => {
    const stopping = options.isStopping();
    const status = stopping ? 'stopping' : 'ok';
    // Whether the process stalls depends on what other callers do, so a caller is not told.
    const caller = options.gate.find(c.req.header('authorization'), c.req.header('x-api-key'));
    const more = caller === undefined ? undefined : options.operatorHealth?.(caller);
    return completeReply(stopping ? 503 : 200, { status, ...more }, common);
  });

/** What is wrong follows from what others do and from the machine, so only the operator is told. */
const readiness = (c: HonoContext, options: AppOptions, pathInfo: PathInfo): Promise<Response> =>
  handleRequest(c, options, pathInfo, async ({ common }) => {
    const found = options.isStopping() ? ['the server is stopping'] : ((await options.findProblems?.()) ?? []);
    const caller = options.gate.find(c.req.header('authorization'), c.req.header('x-api-key'));
    const isOperator = caller !== undefined && options.operatorHealth?.(caller) !== undefined;
    const isReady = found.length === 0;
    const problems = isOperator ? { problems: found.map((problem) => options.redact(problem)) } : {};
    return completeReply(isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', ...problems }, common);
  });

const serve = (c: HonoContext, options: AppOptions, route: KnownRoute): Promise<Response> =>
  handleRequest(c, options, route, async (request) => {
    const { signal, url, headers, method } = c.req.raw;
    const caller = route.open === true ? request.enterOpen() : request.enter();
    // Hono answers a HEAD as a GET, and a GET may start a run. Reading a file changes nothing.
    if (method !== route.method && !(method === 'HEAD' && route.files !== undefined)) throw wrongMethod(route.methods);
    if (method !== 'POST' && c.env.incoming !== undefined) await nextBatch();
    const destination = { owner: caller?.name ?? openOwner, takes: route.takes };
    const { json: body, ...raw } = method === 'POST' ? await readBody(c.req.raw, destination, options, c.env) : noBody;
    const call = { id: request.id, params: c.req.param(), query: parseQueryString(url), headers, body, ...raw, signal };
    const reply = await (caller === null || route.open === true
      ? (route as OpenRoute).answer(call)
      : route.answer({ ...call, caller }));
    return replyResponse(reply, request.common, request.streaming, { method, headers, route });
  });

const noBody = { json: undefined };

/** All requests without a token share the room for bodies that one caller has. No caller has this name. */
const openOwner = '(open)';

/** Throws `request_invalid` for bytes that are not UTF-8: URLSearchParams would silently replace them, and two names could become one. */
const parseQueryString = (url: string): URLSearchParams => {
  const text = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  try {
    decodeURIComponent(text);
  } catch {
    throw new CloisterError('request_invalid', 'The query: percent-encoded bytes must be valid UTF-8.');
  }
  return new URLSearchParams(text);
};

const rejectRequest = (c: HonoContext, options: AppOptions, pathInfo: PathInfo): Promise<Response> =>
  handleRequest(c, options, pathInfo, async (request) => {
    if (c.req.method === 'OPTIONS') return preflight(c, options, request.common);
    request.enter();
    throw pathInfo.methods.length === 0 ? new CloisterError('route_unknown') : wrongMethod(pathInfo.methods);
  });

/** Answers the preflight request of a web page, which cannot carry a token. */
const preflight = (c: HonoContext, { gate }: AppOptions, common: HeaderMap): Response => {
  const origin = c.req.header('origin');
  if (origin === undefined || !gate.allowsOrigin(origin)) throw new CloisterError('origin_refused');
  return new Response(null, {
    status: 204,
    headers: {
      ...common,
      'access-control-allow-methods': 'GET, POST, DELETE',
      // Clients send various headers, and the operator trusts the page, so all of them are allowed.
      'access-control-allow-headers': c.req.header('access-control-request-headers') ?? 'authorization, content-type',
      'access-control-max-age': '600',
    },
  });
};

type RequestContext = {
  readonly id: string;
  readonly common: HeaderMap;
  readonly streaming: StreamOptions;
  enter(): Caller;
  /** For a route that needs no token. */
  enterOpen(): null;
};

// probe: request-id
const requestId = ({ ids }: AppOptions): string => `req_${ids.random()}${ids.random()}`;

const handleRequest = async (
  c: HonoContext,
  options: AppOptions,
  { formatError, methods }: PathInfo,
  answer: (request: RequestContext) => Promise<CompleteReply | Response>,
): Promise<Response> => {
  const { gate, clock, limits } = options;
  const startedAt = clock.now();
  const { headers, url, method } = c.req.raw;
  const id = requestId(options);
  // Without a socket there may be no Host header; the host in the URL counts then.
  const host = headers.get('host') ?? (c.env.incoming === undefined ? new URL(url).host : null);
  const origin = headers.get('origin');
  let common = commonHeaders(id, {});
  let caller: Caller | null = null;
  const report = ({ status, code }: RequestResult, defect?: unknown): void =>
    options.onAnswered?.({
      id,
      caller,
      method,
      path: rawPath(url),
      status,
      ms: clock.now() - startedAt,
      code: code ?? null,
      ...(defect === undefined ? {} : { defect }),
    });
  try {
    if (url.length > limits.urlCharsMax) throw new CloisterError('request_too_large', 'The URL is too long.');
    gate.checkHost(host);
    // A request line may hold an absolute URL, whose host must be checked as well.
    if (c.env.incoming?.url?.startsWith('/') === false) gate.checkHost(new URL(url).host);
    gate.checkOrigin(origin, host);
    if (origin !== null && gate.allowsOrigin(origin)) common = commonHeaders(id, corsHeaders(origin));
    const enter = (): Caller => {
      // The caller is set before it is admitted, so that a rate-limited request is reported with its caller.
      caller = { ...gate.identify(headers.get('authorization'), headers.get('x-api-key')) };
      gate.admit(caller);
      return caller;
    };
    const enterOpen = (): null => {
      gate.admitOpen(c.env.incoming?.socket.remoteAddress);
      return null;
    };
    const onFailed = (error: unknown): void => report({ status: 500, code: clientError(error).code }, error);
    const accepted = headers.get('accept-encoding');
    const streaming = { clock, ...limits, accepted, onFailed, ...cutOption(c) };
    const response = await answer({ id, common, streaming, enter, enterOpen });
    report(response);
    return sendReply(await compressReply(response, accepted), c.env.outgoing);
  } catch (error) {
    const failure = clientError(error);
    const allow: HeaderMap = failure.status === 405 ? { allow: methods.join(', ') } : {};
    report(failure, failure.code === 'defect' ? error : undefined);
    const redacted = { ...failure, message: options.redact(failure.message) };
    return sendReply(failureResponse(redacted, formatError, common, allow), c.env.outgoing);
  }
};

type RequestResult = { readonly status: number; readonly code?: ErrorCode };

const rawPath = (url: string): string => url.slice(url.indexOf('/', 'https://'.length)).split(/[?#]/u, 1)[0]!;

/** Destroys the connection, because a stream that breaks off must not look complete. */
const cutOption = ({ env: { outgoing } }: HonoContext): Pick<StreamOptions, 'cut'> =>
  outgoing === undefined ? {} : { cut: () => void outgoing.destroy() };

const corsHeaders = (origin: string): HeaderMap => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'x-request-id, retry-after, mcp-session-id, etag, content-disposition',
  vary: 'origin',
});
