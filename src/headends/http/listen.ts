// A real server on a real port: its time-outs, its sockets, its end.
//
//   N1. A connection that sends its request too slowly, or takes its answer too slowly, is closed.
//   N2. A stop lets requests under way finish; a firm one cuts them.
import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { CloisterError } from '#base';
import type { HttpApp } from './build-app.ts';
import type { HttpLimits } from './limits.ts';
import type { Upgrade } from './sockets.ts';

export type HttpListener = {
  readonly port: number;
  readonly connections: number;
  /** No new connections; those that are idle are closed. Resolves when all are. */
  close(): Promise<void>;
  /** At once. */
  cut(): void;
};

export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly limits: HttpLimits;
  readonly upgrade?: Upgrade;
};

/** Rejects with `address_taken`, or `options_invalid` for an address that this machine does not have. */
export const listen = async (app: HttpApp, options: ListenOptions): Promise<HttpListener> => {
  const { host, port, limits, upgrade } = options;
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: limits.idleMs,
    requireHostHeader: true,
    shouldUpgradeCallback: (request) => upgrade?.wants(request) === true,
  });
  server.maxConnections = limits.connectionsMax;
  const handle = dropStalled(server, limits.stallMs, listenerOf(app, host));
  server.on('request', handle);
  // Who asks before it sends a body is told only after the gate.
  server.on('checkContinue', handle);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => void refuseBytes(app, error, socket as Socket));
  if (upgrade !== undefined) server.on('upgrade', upgrade.handle);
  await opened(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return upgrade?.open ?? 0;
    },
    close: () => closed(server),
    cut: () => {
      upgrade?.cut();
      server.closeAllConnections();
    },
  };
};

/** What never became a request is answered like one that is refused. */
const refuseBytes = async (app: HttpApp, { code }: NodeJS.ErrnoException, socket: Socket): Promise<void> => {
  if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
  const [status, error] = notRequests[code ?? ''] ?? [400, new CloisterError('request_invalid', 'It is not HTTP.')];
  const response = app.refuse(error);
  const body = await response.text();
  const headers = [...response.headers, ['content-length', Buffer.byteLength(body)], ['connection', 'close']];
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`, () => socket.destroy());
};

const notRequests: Readonly<Record<string, readonly [status: number, error: CloisterError]>> = {
  HPE_HEADER_OVERFLOW: [431, new CloisterError('request_too_large', 'Its headers are too long.')],
  ERR_HTTP_REQUEST_TIMEOUT: [408, new CloisterError('request_timeout')],
};

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

const listenerOf = (app: HttpApp, host: string): Handle => {
  const respond = getRequestListener((request, env) => app.fetch(request, env as never), {
    overrideGlobalObjects: false,
    hostname: host,
    errorHandler: (error) =>
      app.refuse(error instanceof RequestError ? new CloisterError('request_invalid', 'Its address is none.') : error),
  });
  return (incoming, outgoing) => {
    // Only the address is made of this, and one that cannot be made of it could not be refused by the gate, which sees the real one.
    if (incoming.headers.host !== undefined) incoming.headers.host = 'localhost';
    void respond(incoming, outgoing);
  };
};

/** Who takes nothing of its answer for so long is dropped, and so is a connection that is not used. A run may take its time. */
const dropStalled = (server: Server, ms: number, handle: Handle): Handle => {
  const underWay = new WeakMap<Socket, number>();
  server.setTimeout(ms, (socket) => {
    if (socket.writableLength === 0 && (underWay.get(socket) ?? 0) > 0) socket.setTimeout(ms);
    else socket.destroy();
  });
  return (incoming, outgoing) => {
    const { socket } = incoming;
    const count = (by: number): void => void underWay.set(socket, (underWay.get(socket) ?? 0) + by);
    count(1);
    outgoing.once('close', () => {
      count(-1);
      // While it closes, a connection that was in use is idle now.
      if (!server.listening) server.closeIdleConnections();
    });
    handle(incoming, outgoing);
  };
};

const opened = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    // It stays: an accept that fails later must not end the process.
    server.on('error', (error: NodeJS.ErrnoException) => reject(notOpened(error, host, port)));
    server.listen(port, host, () => resolve());
  });

const notOpened = ({ code, message }: NodeJS.ErrnoException, host: string, port: number): CloisterError =>
  code !== undefined && isElsewhere.has(code)
    ? new CloisterError('options_invalid', `host: ${host} is no address of this machine (${code}).`)
    : new CloisterError('address_taken', `${host}:${port} (${code ?? message}).`);

const isElsewhere: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN']);

/** Nobody here knows what is under way on a WebSocket: it goes on until it is cut. */
const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
