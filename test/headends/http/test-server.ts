// The HTTP headend alone, on a real port, with the routes of a test.
import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import type { Json } from '#base';
import type { Clock, HttpRoute, OpenRoute, RouteReply, SocketRoute, PlainRoute } from '#contracts';
import { BodyBudget, buildApp, defaultLimits, Gate, listen, socketUpgrade } from '#headends/http';
import type { AnsweredRequest, HttpLimits } from '#headends/http';
import { patientLimits } from '../../slow-machine.ts';

export const realClock: Clock = {
  now: () => performance.now(),
  timer: (ms, due) => {
    const timer = setTimeout(due, ms);
    return () => clearTimeout(timer);
  },
};

export type TestServerOptions = {
  /** The replies of GET /:name. */
  readonly getRoutes?: Readonly<Record<string, (signal: AbortSignal) => RouteReply>>;
  /** The replies of POST /:name. */
  readonly postRoutes?: Readonly<Record<string, (body: Json | undefined) => RouteReply>>;
  /** Routes as a whole. */
  readonly routes?: readonly (PlainRoute | OpenRoute)[];
  /** Called with the network of each request without a token. */
  readonly admitOpen?: (network: string) => void;
  readonly sockets?: readonly SocketRoute[];
  readonly limits?: Partial<HttpLimits>;
  readonly clock?: Clock;
};

export const serveTestRoutes = async (options: TestServerOptions) => {
  const { getRoutes = {}, postRoutes = {}, sockets = [], clock = realClock, limits = {} } = options;
  const gate = new Gate({
    hosts: ['127.0.0.1'],
    origins: [],
    // `right` is the token of `me`, `right-ann` that of `ann`.
    identify: (token) => (/^right\b/u.test(token) ? { name: token.split('-')[1] ?? 'me' } : undefined),
    admit: () => undefined,
    admitOpen: (network) => options.admitOpen?.(network),
  });
  const formatError: HttpRoute['formatError'] = ({ code }) => ({ code });
  const all = { ...defaultLimits, ...(clock === realClock ? patientLimits(limits) : limits) };
  const bodies = new BodyBudget(all);
  const answered: AnsweredRequest[] = [];
  /** The responses of all requests, in order. */
  const responses: ServerResponse[] = [];
  let ids = 0;
  const app = buildApp({
    routes: [
      ...Object.entries(getRoutes).map(([name, answer]): PlainRoute => ({
        method: 'GET',
        path: `/${name}`,
        formatError,
        answer: async ({ signal }) => answer(signal),
      })),
      ...Object.entries(postRoutes).map(([name, answer]): PlainRoute => ({
        method: 'POST',
        path: `/${name}`,
        formatError,
        answer: async ({ body }) => answer(body),
      })),
      ...(options.routes ?? []),
    ],
    formatError,
    gate,
    limits: all,
    bodies,
    clock,
    ids: { random: () => `id${(ids += 1)}` },
    redact: (text) => text,
    onAnswered: (request) => answered.push(request),
    isStopping: () => false,
  });
  const listening = await listen(
    {
      ...app,
      fetch: (request, env) => {
        if (env?.outgoing !== undefined) responses.push(env.outgoing);
        return app.fetch(request, env);
      },
    },
    {
      host: '127.0.0.1',
      port: 0,
      limits: all,
      upgrade: socketUpgrade(sockets, { gate, limits: all, bodies, clock, isStopping: () => false }),
    },
  );
  onTestFinished(async () => {
    const closed = listening.close();
    listening.cut();
    await closed;
  });
  return { url: `http://127.0.0.1:${listening.port}`, app, answered, responses, bodies };
};

export const testHeaders = (url: string): readonly (readonly [string, string])[] => [
  ['host', new URL(url).host],
  ['authorization', 'Bearer right'],
];
