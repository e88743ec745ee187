// WebSockets: the same gate, then texts in both directions.
//
//   K1. A socket is opened only after host, origin and token have been looked at, as for every other route. Who does not pass is
//       answered as any other request is.
//   K2. What a reader has not taken is bounded; past that the socket is closed.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { Caller, Clock, ServedSocket, SocketRoute, Stop } from '#contracts';
import type { Gate } from './gate.ts';
import type { HttpLimits } from './limits.ts';

export type Upgrade = {
  readonly open: number;
  /** Whether this one is to become a socket. */
  wants(this: void, request: IncomingMessage): boolean;
  handle(this: void, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Says goodbye. */
  close(): void;
  cut(): void;
};

export type UpgradeOptions = {
  readonly gate: Gate;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
};

const bufferedMax = 256 * 1024;
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
      server.handleUpgrade(request, socket, head, (opened) => serve(opened, route, caller, options));
    },
    close: () => server.clients.forEach((client) => client.close(1001, 'The server is being stopped.')),
    cut: () => server.clients.forEach((client) => client.terminate()),
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
  // One that is there twice is none that we know.
  const [host, origin, authorization, key] = ['host', 'origin', 'authorization', 'x-api-key'].map((name) =>
    headersDistinct[name]?.join(', '),
  );
  try {
    gate.checkHost(host);
    gate.checkOrigin(origin, host);
    const caller = { ...gate.enter(authorization, key) };
    return isStopping() ? null : { route, caller };
  } catch {
    return null;
  }
};

const serve = (socket: WebSocket, route: SocketRoute, caller: Caller, { limits, clock }: UpgradeOptions): void => {
  const stop = watchAlive(socket, clock);
  let stopStall: Stop | undefined;
  socket.on('error', () => socket.terminate());
  socket.on('close', () => {
    stop();
    stopStall?.();
  });
  const served: ServedSocket = {
    send: (text) => {
      if (socket.readyState !== socket.OPEN) return;
      if (socket.bufferedAmount > bufferedMax) return socket.terminate();
      stopStall ??= clock.timer(limits.stallMs, () => socket.terminate());
      socket.send(text, () => {
        if (socket.bufferedAmount > 0) return;
        stopStall?.();
        stopStall = undefined;
      });
    },
    close: () => socket.close(),
    onText: (listener) => {
      socket.on('message', (data, isBinary) => {
        if (isBinary) socket.close(1003, 'Texts only.');
        else listener((data as Buffer).toString('utf8'));
      });
    },
    onClose: (listener) => void socket.once('close', listener),
  };
  route.open(served, caller);
};

/** A connection that is gone without a word is found out. */
const watchAlive = (socket: WebSocket, clock: Clock): Stop => {
  let alive = true;
  let stop: Stop;
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
