// The test server behind each transport, in this process unless the transport starts one.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { mcpSource } from '#adapters/mcp';
import type { ResolvedServer } from '#contracts';
import { compileCache } from '../../compile-cache.ts';
import { neverMs } from '../../slow-machine.ts';
import type { Peer } from '../../conformance/tool-source.ts';
import { newState, peerServer } from './peer-server.ts';
import { isAlive } from './processes.ts';

type ServerOverrides = Partial<Pick<ResolvedServer, 'trusted' | 'tools' | 'connectTimeoutMs'>>;

export const stdioServer = (
  script: string,
  args: readonly string[] = [],
  extra: ServerOverrides = {},
): ResolvedServer => ({
  name: 'peer',
  type: 'stdio',
  command: process.execPath,
  args: [fileURLToPath(new URL(script, import.meta.url)), ...args],
  env: compileCache(),
  cwd: tmpdir(),
  connectTimeoutMs: neverMs,
  ...extra,
});

export const stdioPeer = async (): Promise<Peer> => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-mcp-'));
  return {
    source: mcpSource(stdioServer('peer-stdio.ts', [folder])),
    open: async () => readdirSync(folder).filter((pid) => isAlive(Number(pid))).length,
    close: async () => rmSync(folder, { recursive: true }),
  };
};

/** A server whose requests and open connections can be inspected. */
export const listen = async (answer: RequestListener): Promise<{ server: Server; url: string; drop(): void }> => {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}`, drop: () => server.closeAllConnections() };
};

export const closed = async (server: Server): Promise<void> => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
};

const remote = (type: 'http' | 'sse' | 'websocket', url: string): ResolvedServer => ({
  name: 'peer',
  type,
  url,
  headers: {},
});

const toRequest = (message: IncomingMessage, gone: AbortSignal): Request =>
  new Request(`http://127.0.0.1${message.url}`, {
    method: message.method!,
    headers: message.headers as Record<string, string>,
    signal: gone,
    ...(message.method === 'POST' ? { body: Readable.toWeb(message) as never, duplex: 'half' } : {}),
  });

/** Answers a Node request with a web-standard handler. */
export const answerWith = async (
  message: IncomingMessage,
  to: ServerResponse,
  handle: (request: Request) => Promise<Response>,
): Promise<void> => {
  const gone = new AbortController();
  to.on('close', () => gone.abort());
  try {
    const response = await handle(toRequest(message, gone.signal));
    to.writeHead(response.status, Object.fromEntries(response.headers));
    to.flushHeaders();
    if (response.body !== null) for await (const chunk of response.body) to.write(chunk);
    to.end();
  } catch {
    to.destroy();
  }
};

/** The 2026 protocol: no sessions, one server object per request. */
export const statelessPeer = async (): Promise<Peer> => {
  let drop = (): void => undefined;
  const state = newState(() => drop());
  const handler = createMcpHandler(() => peerServer(state), { keepAliveMs: 0 });
  const { server, url, drop: dropAll } = await listen((message, to) => void answerWith(message, to, handler.fetch));
  drop = dropAll;
  return {
    source: mcpSource(remote('http', `${url}/mcp`)),
    stateless: true,
    open: async () => 0,
    close: async () => {
      await handler.close();
      await closed(server);
    },
  };
};

/** The 2025 protocol: a session begins with `initialize` and ends with DELETE. */
export const sessionsPeer = async (): Promise<Peer> => {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  let drop = (): void => undefined;
  const state = newState(() => {
    sessions.clear();
    drop();
  });
  const handle = async (request: Request): Promise<Response> => {
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
    if (known !== undefined) return known.handleRequest(request);
    if (request.headers.has('mcp-session-id')) return new Response('unknown session', { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await peerServer(state).connect(transport);
    return transport.handleRequest(request);
  };
  const { server, url, drop: dropAll } = await listen((message, to) => void answerWith(message, to, handle));
  drop = dropAll;
  return {
    source: mcpSource(remote('http', `${url}/mcp`)),
    open: async () => sessions.size,
    close: async () => closed(server),
  };
};

export const ssePeer = async (): Promise<Peer> => {
  const sessions = new Map<string, SSEServerTransport>();
  let drop = (): void => undefined;
  const state = newState(() => drop());
  const {
    server,
    url,
    drop: dropAll,
  } = await listen((message, to) => {
    const at = new URL(message.url!, 'http://127.0.0.1');
    if (message.method === 'POST') {
      const session = sessions.get(at.searchParams.get('sessionId') ?? '');
      if (session === undefined) to.writeHead(404).end();
      else void session.handlePostMessage(message, to);
      return;
    }
    const transport = new SSEServerTransport('/message', to);
    sessions.set(transport.sessionId, transport);
    to.on('close', () => sessions.delete(transport.sessionId));
    void peerServer(state).connect(transport);
  });
  drop = dropAll;
  return {
    source: mcpSource(remote('sse', `${url}/sse`)),
    open: async () => sessions.size,
    close: async () => closed(server),
  };
};

const socketTransport = (socket: WebSocket): Transport => {
  const transport: Transport = {
    start: async () => undefined,
    send: async (message) => socket.send(JSON.stringify(message)),
    close: async () => socket.close(),
  };
  socket.on('message', (data: Buffer) => transport.onmessage?.(JSON.parse(data.toString())));
  socket.on('close', () => transport.onclose?.());
  return transport;
};

export const websocketPeer = async (): Promise<Peer> => {
  const { server, url } = await listen((_, to) => void to.writeHead(404).end());
  const sockets = new WebSocketServer({ server });
  const state = newState(() => {
    for (const socket of sockets.clients) socket.terminate();
  });
  sockets.on('connection', (socket) => {
    serveStdio(() => peerServer(state), { transport: socketTransport(socket) });
  });
  return {
    source: mcpSource(remote('websocket', url.replace('http', 'ws'))),
    open: async () => sockets.clients.size,
    close: async () => {
      state.die();
      await closed(server);
    },
  };
};
