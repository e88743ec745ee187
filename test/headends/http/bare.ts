// The HTTP headend alone, on a real port, with whatever routes a test wants.
import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import type { Json } from '#base';
import type { Clock, HttpRoute, RouteReply, SocketRoute, PlainRoute } from '#contracts';
import { BodyBudget, buildApp, defaultLimits, Gate, listen, upgradeTo } from '#headends/http';
import type { AnsweredRequest, HttpLimits } from '#headends/http';

export const realClock: Clock = {
  now: () => performance.now(),
  timer: (ms, due) => {
    const timer = setTimeout(due, ms);
    return () => clearTimeout(timer);
  },
};

export type BareOptions = {
  /** What GET /:name answers. */
  readonly answers?: Readonly<Record<string, (signal: AbortSignal) => RouteReply>>;
  /** What POST /:name answers. */
  readonly posts?: Readonly<Record<string, (body: Json | undefined) => RouteReply>>;
  readonly sockets?: readonly SocketRoute[];
  readonly limits?: Partial<HttpLimits>;
  readonly clock?: Clock;
};

export const serveBare = async (options: BareOptions) => {
  const { answers = {}, posts = {}, sockets = [], clock = realClock, limits = {} } = options;
  const gate = new Gate({
    hosts: ['127.0.0.1'],
    origins: [],
    // `right` is the token of `me`, `right-ann` that of `ann`.
    identify: (token) => (/^right\b/u.test(token) ? { name: token.split('-')[1] ?? 'me' } : undefined),
    admit: () => undefined,
  });
  const form: HttpRoute['form'] = ({ code }) => ({ code });
  const all = { ...defaultLimits, ...limits };
  const bodies = new BodyBudget(all);
  const answered: AnsweredRequest[] = [];
  /** The responses of all requests, in order. */
  const responses: ServerResponse[] = [];
  let ids = 0;
  const app = buildApp({
    routes: [
      ...Object.entries(answers).map(([name, answer]): PlainRoute => ({
        method: 'GET',
        path: `/${name}`,
        form,
        answer: async ({ signal }) => answer(signal),
      })),
      ...Object.entries(posts).map(([name, answer]): PlainRoute => ({
        method: 'POST',
        path: `/${name}`,
        form,
        answer: async ({ body }) => answer(body),
      })),
    ],
    form,
    gate,
    limits: all,
    bodies,
    clock,
    ids: { random: () => `id${(ids += 1)}` },
    redact: (text) => text,
    answered: (request) => answered.push(request),
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
      upgrade: upgradeTo(sockets, { gate, limits: all, bodies, clock, isStopping: () => false }),
    },
  );
  onTestFinished(async () => {
    const closed = listening.close();
    listening.cut();
    await closed;
  });
  return { url: `http://127.0.0.1:${listening.port}`, app, answered, responses, bodies };
};

export const bareHeaders = (url: string): readonly (readonly [string, string])[] => [
  ['host', new URL(url).host],
  ['authorization', 'Bearer right'],
];
