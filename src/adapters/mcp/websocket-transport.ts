// Transport for WebSockets: one message per frame.
import type { ClientOptions, RawData, WebSocket } from 'ws';
import { CloisterError } from '#base';
import { graceMs, messageBytesMax } from './limits.ts';
import { describeReason, unreachableError } from './server-failure.ts';
import { parseMessages, oversizedMessageError, McpTransport } from './transport.ts';
import { serverHeaders, serverTitle, serverUrl } from './server.ts';
import { settledWithin, unlessAborted } from './timeouts.ts';
import type { RemoteServer } from './server.ts';

export const openWebsocketTransport = async (server: RemoteServer, signal: AbortSignal): Promise<McpTransport> => {
  const ws = await import('ws');
  const options: ClientOptions = {
    headers: serverHeaders(server),
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
    followRedirects: false,
  };
  const url = serverUrl(server);
  try {
    return createTransport(await waitForOpen(new ws.WebSocket(url, ['mcp'], options), signal), server);
  } catch (error) {
    // The subprotocol name is only a convention; some servers support none.
    if (!(error instanceof Error)) throw error;
    if ('syscall' in error) throw unreachableError(error, server);
    if (error.message !== 'Server sent no subprotocol') throw error;
    return createTransport(await waitForOpen(new ws.WebSocket(url, options), signal), server);
  }
};

const waitForOpen = async (socket: WebSocket, signal: AbortSignal): Promise<WebSocket> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('open', resolve);
  socket.on('error', reject);
  try {
    await unlessAborted(promise, signal);
    return socket;
  } catch (error) {
    socket.terminate();
    throw error;
  }
};

const createTransport = (socket: WebSocket, server: RemoteServer): McpTransport => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const transport = new McpTransport(() => ({
    send: async (message) => socket.send(JSON.stringify(message)),
    close: async () => {
      socket.close(1000);
      await settledWithin(graceMs, closed);
      socket.terminate();
    },
  }));
  let trouble: Error | undefined;
  socket.on('error', (error) => (trouble = error));
  socket.on('message', (data: RawData) =>
    parseMessages(decodeData(data)).forEach((message) => transport.deliver(message)),
  );
  socket.once('close', (code) => {
    resolve();
    transport.connectionLost(closeError(server, transport.waiting, { code, trouble }));
  });
  return transport;
};

const decodeData = (data: RawData): string =>
  (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)).toString();

/** An oversized frame ends the connection; the request it answers is known only if exactly one was pending. */
const closeError = (
  server: RemoteServer,
  waiting: number,
  end: { code: number; trouble: Error | undefined },
): CloisterError => {
  const large =
    end.trouble !== undefined && 'code' in end.trouble && end.trouble.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
  if (large && waiting === 1) return oversizedMessageError();
  const how = large
    ? oversizedMessageError().failure.detail
    : end.trouble === undefined
      ? `code ${end.code}`
      : describeReason(end.trouble);
  return new CloisterError('server_failed', `${serverTitle(server)} closed the connection (${how}).`);
};
