// Every route behind one gate, as a function from a request to a response.
//
//   B1. Nothing of a route runs, and no body is read, before host, origin, token and rate have been looked at.
//   B2. Whatever goes wrong is told in the form of the protocol that the address belongs to.
import { clientError } from '#headends/shared';
import { Hono } from 'hono';
import type { Context } from 'hono';
import { CloisterError } from '#base';
import type { ErrorCode } from '#base';
import type { Caller, Clock, ErrorFormatter, Ids, PlainRoute } from '#contracts';
import type { BodyBudget } from './body-budget.ts';
import type { Gate } from './gate.ts';
import type { HttpLimits } from './limits.ts';
import type { NodeEnv } from './node-env.ts';
import { readBody } from './read-body.ts';
import { commonHeaders, failureResponse, replyResponse, sendReply, completeReply } from './respond.ts';
import type { HeadersOf, StreamOptions, CompleteReply } from './respond.ts';
import { nextBatch } from './next-batch.ts';

export type AppOptions = {
  readonly routes: readonly PlainRoute[];
  /** For addresses that belong to no protocol. */
  readonly form: ErrorFormatter;
  readonly gate: Gate;
  readonly limits: HttpLimits;
  readonly bodies: BodyBudget;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Takes secrets out of what went wrong. */
  redact(text: string): string;
  /** Hears of each request that was answered; once more when its stream fails later. */
  answered?(request: AnsweredRequest): void;
  isStopping(): boolean;
};

export type AnsweredRequest = {
  readonly id: string;
  /** As it came with this request; null without a token that is known. */
  readonly caller: Caller | null;
  readonly method: string;
  /** As it came, without the query: nothing in it is decoded, so it has no line ends or signs for a terminal. */
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  /** Why it was refused, or failed. */
  readonly code: ErrorCode | null;
  /** What nobody expected, for the operator. */
  readonly defect?: unknown;
};

type Served = Context<{ Bindings: Partial<NodeEnv> }>;

export type HttpApp = {
  fetch(request: Request, env?: Partial<NodeEnv>): Response | Promise<Response>;
  /** For what is no request, or went wrong outside of every route. */
  refuse(error: unknown): Response;
};

/** What is known of an address before anything is asked of it. */
type Address = { readonly form: ErrorFormatter; readonly methods: readonly string[] };

type AddressedRoute = PlainRoute & Address;

export const buildApp = (options: AppOptions): HttpApp => {
  const app = new Hono<{ Bindings: Partial<NodeEnv> }>({ strict: true });
  const refuse = (error: unknown): Response =>
    sendReply(failureResponse(clientError(error), options.form, commonHeaders(requestId(options), {})));
  const alive = { form: options.form, methods: ['GET'] };
  app.get('/health', (c) => health(c, options, alive));
  app.all('/health', (c) => turnAway(c, options, alive));
  for (const [path, given] of byPath(options.routes)) {
    const methods = [...new Set(given.map(({ method }) => method))];
    const routes = given.map((route) => ({ ...route, methods }));
    for (const method of methods) {
      const choices = routes.filter((route) => route.method === method);
      app.on(method, path, (c) => serve(c, options, chosen(choices, c.req.raw.headers)));
    }
    app.all(path, (c) => turnAway(c, options, chosen(routes, c.req.raw.headers)));
  }
  const forms = formsOf(options.routes);
  app.notFound((c) => turnAway(c, options, { form: forms(new URL(c.req.url).pathname) ?? options.form, methods: [] }));
  app.onError(refuse);
  return { fetch: (request, env = {}) => app.fetch(request, env), refuse };
};

/** What lies below an address of a protocol is told in its form: the nearest one that begins the same. */
const formsOf = (routes: readonly PlainRoute[]): ((path: string) => ErrorFormatter | undefined) => {
  const fixed = routes
    .map(({ path, form }) => ({ start: `${path.split('/:')[0]!}/`, form }))
    .sort((one, other) => other.start.length - one.start.length);
  return (path) => fixed.find(({ start }) => `${path}/`.startsWith(start))?.form;
};

/** Fixed ones first: `/v1/runs` is no agent. */
const byPath = (routes: readonly PlainRoute[]): ReadonlyMap<string, readonly PlainRoute[]> => {
  const fixed = (path: string): number => path.split('/').filter((part) => part.startsWith(':')).length;
  const sorted = [...routes].sort((one, other) => fixed(one.path) - fixed(other.path));
  return Map.groupBy(sorted, ({ path }) => path);
};

const chosen = (choices: readonly AddressedRoute[], headers: Headers): AddressedRoute =>
  choices.find((route) => route.when?.(headers) === true) ??
  choices.find((route) => route.when === undefined) ??
  choices[0]!;

const wrongMethod = (methods: readonly string[]): CloisterError =>
  new CloisterError('method_refused', `It takes ${methods.join(', ')}.`);

const health = (c: Served, options: AppOptions, address: Address): Promise<Response> =>
  answering(c, options, address, async ({ common }) => {
    const stopping = options.isStopping();
    return completeReply(stopping ? 503 : 200, { status: stopping ? 'stopping' : 'ok' }, common);
  });

const serve = (c: Served, options: AppOptions, route: AddressedRoute): Promise<Response> =>
  answering(c, options, route, async (request) => {
    const { signal, url, headers, method } = c.req.raw;
    const caller = request.enter();
    // A HEAD would be answered as a GET, and a GET may be a run.
    if (method !== route.method) throw wrongMethod(route.methods);
    if (method !== 'POST' && c.env.incoming !== undefined) await nextBatch();
    const body = method === 'POST' ? await readBody(c.req.raw, caller, options, c.env) : undefined;
    const call = { caller, id: request.id, params: c.req.param(), query: queryIn(url), headers, body, signal };
    return replyResponse(await route.answer(call), request.common, request.streaming);
  });

/** Bytes that are no text would become one silently, and two names one. Throws `request_invalid`. */
const queryIn = (url: string): URLSearchParams => {
  const text = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  try {
    decodeURIComponent(text);
  } catch {
    throw new CloisterError('request_invalid', 'The query: what follows a % must be the bytes of a text in UTF-8.');
  }
  return new URLSearchParams(text);
};

const turnAway = (c: Served, options: AppOptions, address: Address): Promise<Response> =>
  answering(c, options, address, async (request) => {
    if (c.req.method === 'OPTIONS') return preflight(c, options, request.common);
    request.enter();
    throw address.methods.length === 0 ? new CloisterError('route_unknown') : wrongMethod(address.methods);
  });

/** A page asks whether it may; it cannot send a token for that. */
const preflight = (c: Served, { gate }: AppOptions, common: HeadersOf): Response => {
  const origin = c.req.header('origin');
  if (origin === undefined || !gate.allowsOrigin(origin)) throw new CloisterError('origin_refused');
  return new Response(null, {
    status: 204,
    headers: {
      ...common,
      'access-control-allow-methods': 'GET, POST, DELETE',
      // Clients have headers of their own; the operator trusts the page.
      'access-control-allow-headers': c.req.header('access-control-request-headers') ?? 'authorization, content-type',
      'access-control-max-age': '600',
    },
  });
};

type Entering = {
  readonly id: string;
  readonly common: HeadersOf;
  readonly streaming: StreamOptions;
  enter(): Caller;
};

// probe: request-id
const requestId = ({ ids }: AppOptions): string => `req_${ids.random()}${ids.random()}`;

const answering = async (
  c: Served,
  options: AppOptions,
  { form, methods }: Address,
  answer: (request: Entering) => Promise<CompleteReply | Response>,
): Promise<Response> => {
  const { gate, clock, limits } = options;
  const startedAt = clock.now();
  const { headers, url, method } = c.req.raw;
  const id = requestId(options);
  // A request without a socket has no host but that of its address.
  const host = headers.get('host') ?? (c.env.incoming === undefined ? new URL(url).host : null);
  const origin = headers.get('origin');
  let common = commonHeaders(id, {});
  let caller: Caller | null = null;
  const tell = ({ status, code }: RequestResult, defect?: unknown): void =>
    options.answered?.({
      id,
      caller,
      method,
      path: pathOf(url),
      status,
      ms: clock.now() - startedAt,
      code: code ?? null,
      ...(defect === undefined ? {} : { defect }),
    });
  try {
    if (url.length > limits.urlCharsMax) throw new CloisterError('request_too_large', 'The address is too long.');
    gate.checkHost(host);
    // An address may name a host of its own.
    if (c.env.incoming?.url?.startsWith('/') === false) gate.checkHost(new URL(url).host);
    gate.checkOrigin(origin, host);
    if (origin !== null && gate.allowsOrigin(origin)) common = commonHeaders(id, readableFrom(origin));
    const enter = (): Caller => {
      // Known before it is admitted: who asks too often is told by name.
      caller = { ...gate.identify(headers.get('authorization'), headers.get('x-api-key')) };
      gate.admit(caller);
      return caller;
    };
    const failed = (error: unknown): void => tell({ status: 500, code: clientError(error).code }, error);
    const response = await answer({ id, common, streaming: { clock, ...limits, failed, ...cutting(c) }, enter });
    tell(response);
    return sendReply(response, c.env.outgoing);
  } catch (error) {
    const failure = clientError(error);
    const allow: HeadersOf = failure.status === 405 ? { allow: methods.join(', ') } : {};
    tell(failure, failure.code === 'defect' ? error : undefined);
    const shown = { ...failure, message: options.redact(failure.message) };
    return sendReply(failureResponse(shown, form, common, allow), c.env.outgoing);
  }
};

type RequestResult = { readonly status: number; readonly code?: ErrorCode };

const pathOf = (url: string): string => url.slice(url.indexOf('/', 'https://'.length)).split(/[?#]/u, 1)[0]!;

/** A stream that is cut off must not look as if it had ended. */
const cutting = ({ env: { outgoing } }: Served): Pick<StreamOptions, 'cut'> =>
  outgoing === undefined ? {} : { cut: () => void outgoing.destroy() };

const readableFrom = (origin: string): HeadersOf => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'x-request-id, retry-after, mcp-session-id',
  vary: 'origin',
});
