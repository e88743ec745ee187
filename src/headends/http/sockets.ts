// WebSockets: the same gate, then texts in both directions.
//
//   K1. A socket is opened only after host, origin and token have been looked at, as for every other route. Who does not pass is
//       answered as any other request is.
//   K2. The token comes as a header or, from pages, as `bearer.<token in base64url>` among the subprotocols.
//   K3. Each text counts as a request does: over a socket nobody asks more often than without one.
import { clientError } from '#headends/shared';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { parseStrictJson } from '#base';
import type { Caller, Clock, ServedSocket, SocketRoute, CancelTimer } from '#contracts';
import { watchArriving } from './websocket-input.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Gate } from './gate.ts';
import type { HttpLimits } from './limits.ts';
import { SocketWriter } from './socket-writer.ts';

export type Upgrade = {
  readonly open: number;
  /** Whether this one is to become a socket. */
  wants(this: void, request: IncomingMessage): boolean;
  handle(this: void, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Says goodbye, and closes all at once. */
  cut(): void;
};

export type UpgradeOptions = {
  readonly gate: Gate;
  readonly limits: HttpLimits;
  readonly bodies: BodyBudget;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
};

const aliveMs = 30_000;

export const upgradeTo = (routes: readonly SocketRoute[], options: UpgradeOptions): Upgrade => {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: options.limits.bodyBytesMax,
    clientTracking: true,
    perMessageDeflate: false,
    handleProtocols: (offered) => routes.find(({ protocol }) => offered.has(protocol))?.protocol ?? false,
  });
  const entered = new WeakMap<IncomingMessage, Entered>();
  return {
    get open() {
      return server.clients.size;
    },
    wants: (request) => {
      const found = enter(request, routes, options);
      if (found !== null) entered.set(request, found);
      return found !== null;
    },
    handle: (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      const { route, caller } = entered.get(request)!;
      server.handleUpgrade(request, socket, head, (opened) => {
        watchArriving(opened, socket, caller, options);
        serve(opened, route, caller, options);
      });
    },
    cut: () =>
      server.clients.forEach((client) => {
        client.close(1001, 'The server is being stopped.');
        client.terminate();
      }),
  };
};

type Entered = { readonly route: SocketRoute; readonly caller: Caller };

/** Null for one that is no socket of ours, or may not be. */
const enter = (
  { headers, headersDistinct, method, url = '/' }: IncomingMessage,
  routes: readonly SocketRoute[],
  { gate, isStopping }: UpgradeOptions,
): Entered | null => {
  const route = routes.find(({ path }) => path === url.split('?')[0]);
  if (route === undefined || method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return null;
  // As a request it is told why.
  if (isStopping()) return null;
  // One that is there twice is none that we know.
  const [host, origin, authorization, key, protocols] = [
    'host',
    'origin',
    'authorization',
    'x-api-key',
    'sec-websocket-protocol',
  ].map((name) => headersDistinct[name]?.join(', '));
  try {
    gate.checkHost(host);
    gate.checkOrigin(origin, host);
    return { route, caller: { ...gate.enter(authorization, key ?? tokenIn(protocols)) } };
  } catch {
    return null;
  }
};

/** A page can send no header with a WebSocket, only names of protocols: one of them may be its token. It is never agreed on. */
const tokenIn = (protocols = ''): string | undefined => {
  const [token, ...others] = protocols.split(',').flatMap((name) => tokenName.exec(name.trim())?.[1] ?? []);
  return token === undefined || others.length > 0 ? undefined : Buffer.from(token, 'base64url').toString('utf8');
};

const tokenName = /^bearer\.([\w-]+)$/u;

const serve = (socket: WebSocket, route: SocketRoute, caller: Caller, options: UpgradeOptions): void => {
  const { gate, limits, clock } = options;
  const stop = watchAlive(socket, clock);
  const writer = new SocketWriter(socket, { clock, stallMs: limits.stallMs });
  socket.on('error', () => socket.terminate());
  socket.on('close', () => stop());
  const served: ServedSocket = {
    send: (text) => writer.send(text),
    close: () => writer.close(),
    onMessage: (listener) => {
      socket.on('message', (data, isBinary) => {
        const refused = isBinary ? ([1003, 'Texts only.'] as const) : tooOften(gate, caller);
        if (refused === null) listener(parseStrictJson((data as Buffer).toString('utf8'), limits.depthMax));
        else socket.close(...refused);
      });
    },
    onClose: (listener) => void socket.once('close', listener),
  };
  route.open(served, caller);
};

/** How the socket is closed, if it has to be. */
const tooOften = (gate: Gate, caller: Caller): readonly [code: number, why: string] | null => {
  try {
    gate.admit(caller);
    return null;
  } catch (error) {
    return [1013, clientError(error).message.slice(0, 120)];
  }
};

/** A connection that is gone without a word is found out. */
const watchAlive = (socket: WebSocket, clock: Clock): CancelTimer => {
  let alive = true;
  let stop: CancelTimer;
  socket.on('pong', () => (alive = true));
  const look = (): void => {
    if (!alive) return socket.terminate();
    alive = false;
    socket.ping();
    stop = clock.timer(aliveMs, look);
  };
  stop = clock.timer(aliveMs, look);
  return () => stop();
};
