// The Node server on a port: timeouts, sockets and shutdown.
//
//   slow-connection-closed. A connection that sends its request too slowly, or reads its response too slowly, is closed.
//   close-finishes-cut-ends. `close` lets requests in flight finish; `cut` ends them.
import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { CloisterError } from '#base';
import type { HttpApp } from './build-app.ts';
import type { HttpLimits } from './limits.ts';
import type { SocketUpgrade } from './sockets.ts';

export type HttpListener = {
  readonly port: number;
  readonly connections: number;
  /** Accepts no new connections and closes idle ones. Resolves when all connections are closed. */
  close(): Promise<void>;
  /** Closes all connections immediately. */
  cut(): void;
};

type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly limits: HttpLimits;
  readonly upgrade?: SocketUpgrade;
};

/** Rejects with `address_taken`, or with `options_invalid` for an address that this machine does not have. */
export const listen = async (app: HttpApp, options: ListenOptions): Promise<HttpListener> => {
  const { host, port, limits, upgrade } = options;
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: limits.idleMs,
    requireHostHeader: true,
    shouldUpgradeCallback: (request) => upgrade?.accepts(request) === true,
  });
  server.maxConnections = limits.connectionsMax;
  const handle = dropStalled(server, limits.stallMs, requestListener(app, host));
  server.on('request', handle);
  // A client that sends `Expect: 100-continue` is answered only after the gate.
  server.on('checkContinue', handle);
  server.on(
    'clientError',
    (error: NodeJS.ErrnoException, socket) => void answerMalformedRequest(app, error, socket as Socket),
  );
  if (upgrade !== undefined) server.on('upgrade', upgrade.handle);
  await startListening(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return upgrade?.openSockets ?? 0;
    },
    close: () => stopListening(server),
    cut: () => {
      upgrade?.cut();
      server.closeAllConnections();
    },
  };
};

/** Answers input that never became a request in the same way as a refused request. */
const answerMalformedRequest = async (app: HttpApp, { code }: NodeJS.ErrnoException, socket: Socket): Promise<void> => {
  if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
  const [status, error] = parserErrors[code ?? ''] ?? [
    400,
    new CloisterError('request_invalid', 'This is not an HTTP request.'),
  ];
  const response = app.refuse(error);
  const body = await response.text();
  const headers = [...response.headers, ['content-length', Buffer.byteLength(body)], ['connection', 'close']];
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`, () => socket.destroy());
};

const parserErrors: Readonly<Record<string, readonly [status: number, error: CloisterError]>> = {
  HPE_HEADER_OVERFLOW: [431, new CloisterError('request_too_large', 'The headers are too long.')],
  ERR_HTTP_REQUEST_TIMEOUT: [408, new CloisterError('request_timeout')],
};

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

const requestListener = (app: HttpApp, host: string): Handle => {
  const respond = getRequestListener((request, env) => app.fetch(request, env as never), {
    overrideGlobalObjects: false,
    hostname: host,
    errorHandler: (error) =>
      app.refuse(
        error instanceof RequestError ? new CloisterError('request_invalid', 'The request URL is invalid.') : error,
      ),
  });
  return (incoming, outgoing) => {
    // The adapter uses this header only to build the URL. With an invalid host it would fail before the gate, which checks the original header.
    if (incoming.headers.host !== undefined) incoming.headers.host = 'localhost';
    void respond(incoming, outgoing);
  };
};

/** Drops a client that reads nothing of its response for so long, and an unused connection. A connection that waits for a run is kept. */
const dropStalled = (server: Server, ms: number, handle: Handle): Handle => {
  const inFlight = new WeakMap<Socket, number>();
  server.setTimeout(ms, (socket) => {
    if (socket.writableLength === 0 && (inFlight.get(socket) ?? 0) > 0) socket.setTimeout(ms);
    else socket.destroy();
  });
  return (incoming, outgoing) => {
    const { socket } = incoming;
    const count = (by: number): void => void inFlight.set(socket, (inFlight.get(socket) ?? 0) + by);
    count(1);
    outgoing.once('close', () => {
      count(-1);
      // While the server closes, this connection may have just become idle.
      if (!server.listening) server.closeIdleConnections();
    });
    handle(incoming, outgoing);
  };
};

const startListening = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    // The listener stays attached: an accept that fails later must not end the process.
    server.on('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)));
    server.listen(port, host, () => resolve());
  });

const listenError = ({ code, message }: NodeJS.ErrnoException, host: string, port: number): CloisterError =>
  code !== undefined && foreignHostCodes.has(code)
    ? new CloisterError('options_invalid', `host: ${host} is not an address of this machine (${code}).`)
    : new CloisterError('address_taken', `${host}:${port} (${code ?? message}).`);

const foreignHostCodes: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN']);

/** WebSockets stay open until they are cut, because this server cannot tell whether one of them is idle. */
const stopListening = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
