// A server behind a WebSocket: one message a frame.
import type { ClientOptions, RawData, WebSocket } from 'ws';
import { CloisterError } from '#base';
import { graceMs, messageBytesMax } from './limits.ts';
import { reasonOf, unreachable } from './server-failure.ts';
import { parseMessages } from './parse-messages.ts';
import { serverHeaders, serverTitle, serverUrl } from './server.ts';
import type { RemoteServer } from './server.ts';
import { oversizedMessageError, McpTransport } from './transport.ts';
import { settledWithin, unlessAborted } from './timeouts.ts';

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
    return wireOf(await opened(new ws.WebSocket(url, ['mcp'], options), signal), server);
  } catch (error) {
    // The name of the subprotocol is a custom; some servers know of none.
    if (!(error instanceof Error)) throw error;
    if ('syscall' in error) throw unreachable(error, server);
    if (error.message !== 'Server sent no subprotocol') throw error;
    return wireOf(await opened(new ws.WebSocket(url, options), signal), server);
  }
};

const opened = async (socket: WebSocket, signal: AbortSignal): Promise<WebSocket> => {
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

const wireOf = (socket: WebSocket, server: RemoteServer): McpTransport => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const wire = new McpTransport(() => ({
    send: async (message) => socket.send(JSON.stringify(message)),
    close: async () => {
      socket.close(1000);
      await settledWithin(graceMs, closed);
      socket.terminate();
    },
  }));
  let trouble: Error | undefined;
  socket.on('error', (error) => (trouble = error));
  socket.on('message', (data: RawData) => parseMessages(textOf(data)).forEach((message) => wire.deliver(message)));
  socket.once('close', (code) => {
    resolve();
    wire.lose(lossOf(server, wire.waiting, { code, trouble }));
  });
  return wire;
};

const textOf = (data: RawData): string =>
  (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)).toString();

/** A frame that is too large ends the connection: whose answer it was is known only when one alone was waited for. */
const lossOf = (
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
      : reasonOf(end.trouble);
  return new CloisterError('server_failed', `${serverTitle(server)} ended the connection (${how}).`);
};
