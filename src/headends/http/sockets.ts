// WebSockets, behind the same gate as all other routes.
//
//   socket-behind-gate. A socket is opened only after host, origin and token have been checked, as for every other route. A
//       client that does not pass is answered like any other request.
//   socket-token-place. The token comes in a header or, from web pages, as `bearer.<token in base64url>` among the
//       subprotocols.
//   socket-text-counts. Each text counts as one request, so a socket does not get around the rate limit.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { parseStrictJson, CloisterError } from '#base';
import type { Caller, Clock, ServedSocket, SocketRoute, CancelTimer } from '#contracts';
import { clientError } from '#headends/shared';
import type { BodyBudget } from './body-budget.ts';
import type { Gate } from './gate.ts';
import type { HttpLimits } from './limits.ts';
import { SocketWriter } from './socket-writer.ts';

export type SocketUpgrade = {
  readonly openSockets: number;
  /** Whether this request may become a socket. */
  accepts(this: void, request: IncomingMessage): boolean;
  handle(this: void, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Sends a close frame to all clients and ends their connections immediately. */
  cut(): void;
};

type SocketUpgradeOptions = {
  readonly gate: Gate;
  readonly limits: HttpLimits;
  readonly bodies: BodyBudget;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
};

const pingIntervalMs = 30_000;

export const socketUpgrade = (routes: readonly SocketRoute[], options: SocketUpgradeOptions): SocketUpgrade => {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: options.limits.bodyBytesMax,
    clientTracking: true,
    perMessageDeflate: false,
    handleProtocols: (offered) => routes.find(({ protocol }) => offered.has(protocol))?.protocol ?? false,
  });
  const admitted = new WeakMap<IncomingMessage, AdmittedUpgrade>();
  return {
    get openSockets() {
      return server.clients.size;
    },
    accepts: (request) => {
      const found = admitUpgrade(request, routes, options);
      if (found !== null) admitted.set(request, found);
      return found !== null;
    },
    handle: (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      const { route, caller } = admitted.get(request)!;
      server.handleUpgrade(request, socket, head, (opened) => {
        limitSocketInput(opened, socket, caller, options);
        serveSocket(opened, route, caller, options);
      });
    },
    cut: () =>
      server.clients.forEach((client) => {
        client.close(1001, 'The server is shutting down.');
        client.terminate();
      }),
  };
};

type AdmittedUpgrade = { readonly route: SocketRoute; readonly caller: Caller };

/** Null if the request is not for one of our sockets, or is refused. */
const admitUpgrade = (
  { headers, headersDistinct, method, url = '/' }: IncomingMessage,
  routes: readonly SocketRoute[],
  { gate, isStopping }: SocketUpgradeOptions,
): AdmittedUpgrade | null => {
  const route = routes.find(({ path }) => path === url.split('?')[0]);
  if (route === undefined || method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return null;
  // Handled as a plain request, it is told why.
  if (isStopping()) return null;
  // A header that is sent twice is joined, so that its value matches nothing.
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
    return { route, caller: { ...gate.enter(authorization, key ?? tokenFromProtocols(protocols)) } };
  } catch {
    return null;
  }
};

/** A web page cannot set headers on a WebSocket, only subprotocols, so one of those may hold its token. It is never the agreed one. */
const tokenFromProtocols = (protocols = ''): string | undefined => {
  const [token, ...others] = protocols.split(',').flatMap((name) => tokenName.exec(name.trim())?.[1] ?? []);
  return token === undefined || others.length > 0 ? undefined : Buffer.from(token, 'base64url').toString('utf8');
};

const tokenName = /^bearer\.([\w-]+)$/u;

const serveSocket = (socket: WebSocket, route: SocketRoute, caller: Caller, options: SocketUpgradeOptions): void => {
  const { gate, limits, clock } = options;
  const stop = watchLiveness(socket, clock);
  const writer = new SocketWriter(socket, { clock, stallMs: limits.stallMs });
  socket.on('error', () => socket.terminate());
  socket.on('close', () => stop());
  const served: ServedSocket = {
    send: (text) => writer.send(text),
    close: () => writer.close(),
    onMessage: (listener) => {
      socket.on('message', (data, isBinary) => {
        const refused = isBinary ? ([1003, 'Only text messages are accepted.'] as const) : rateRefusal(gate, caller);
        if (refused === null) listener(parseStrictJson((data as Buffer).toString('utf8'), limits.depthMax));
        else socket.close(...refused);
      });
    },
    onClose: (listener) => void socket.once('close', listener),
  };
  route.open(served, caller);
};

/** How to close the socket if the caller exceeds its rate; else null. */
const rateRefusal = (gate: Gate, caller: Caller): readonly [code: number, why: string] | null => {
  try {
    gate.admit(caller);
    return null;
  } catch (error) {
    return [1013, clientError(error).message.slice(0, 120)];
  }
};

/** Ends a connection whose peer has vanished without closing it. */
const watchLiveness = (socket: WebSocket, clock: Clock): CancelTimer => {
  let alive = true;
  let stop: CancelTimer;
  socket.on('pong', () => (alive = true));
  const check = (): void => {
    if (!alive) return socket.terminate();
    alive = false;
    socket.ping();
    stop = clock.timer(pingIntervalMs, check);
  };
  stop = clock.timer(pingIntervalMs, check);
  return () => stop();
};

// Limits on incomplete WebSocket messages: they count against the body budget, and have the same time limit as a body.
//
//   socket-partial-message-counts. A message that arrives whole costs nothing: a chunk counts only if no message ended in it.
//       The start of a message that shares a chunk with the end of another is not counted; it is smaller than one read of the
//       socket.
type SocketInputOptions = { readonly bodies: BodyBudget; readonly limits: HttpLimits; readonly clock: Clock };

/** Cuts the socket if its input exceeds the shared budget, or comes too slowly. `bytes`: the stream that the socket reads from. */
const limitSocketInput = (
  socket: WebSocket,
  bytes: Duplex,
  caller: Caller,
  { bodies, limits, clock }: SocketInputOptions,
): void => {
  const body = bodies.open(caller.name, 0);
  let [held, control, ended] = [0, 0, false];
  let stop: CancelTimer | undefined;
  const cut = (code: number, error: unknown): void => {
    socket.close(code, clientError(error).message.slice(0, 120));
    socket.terminate();
  };
  const hold = (now: number): void => {
    held = now;
    body.hold(now);
    if (now === 0) {
      stop?.();
      stop = undefined;
    } else stop ??= clock.timer(limits.requestTimeoutMs, () => cut(1008, new CloisterError('request_timeout')));
  };
  socket.on('message', () => (ended = true));
  // Control frames may arrive between two parts of a message, and do not belong to it.
  const skip = (data: Buffer): void => void (control += controlHeadBytes + data.length);
  socket.on('ping', skip);
  socket.on('pong', skip);
  // This listener runs after the socket's own, so a message that has been emitted by now is no longer buffered.
  bytes.on('data', (part: Buffer) => {
    const now = ended ? 0 : Math.max(0, held + part.length - control);
    [control, ended] = [0, false];
    try {
      if (socket.readyState === socket.OPEN) hold(now);
    } catch (error) {
      cut(1013, error);
    }
  });
  bytes.once('close', () => hold(0));
};

/** The header of a client's ping or pong: two bytes, and four for the mask. */
const controlHeadBytes = 6;
