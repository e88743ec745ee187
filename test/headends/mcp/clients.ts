// The official client on each transport, with the old and the new protocol version.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Transport } from '@modelcontextprotocol/client';
import { WebSocket } from 'ws';
import { fakeService, mcpApp, serveOnPipes, serveRoutes } from './driver.ts';
import type { FakeService, RunningApp, Pipes } from './driver.ts';

export const transports = ['http', 'sse', 'websocket', 'stdio'] as const;
export const protocols = ['2025-11-25', '2026-07-28'] as const;

export type TransportName = (typeof transports)[number];
export type ProtocolName = (typeof protocols)[number];

/** A server, and a way to connect clients to it. */
export type McpTestServer = {
  readonly fake: FakeService;
  connect(caller?: string): Promise<Client>;
  /** Where it listens; empty for stdio. */
  readonly url: string;
  close(): Promise<void>;
};

export const openMcpServer = async (
  transport: TransportName,
  protocol: ProtocolName,
  options: Parameters<typeof fakeService>[0] = {},
): Promise<McpTestServer> => {
  const fake = fakeService(options);
  const harness: Pick<RunningApp, 'url' | 'close'> =
    transport === 'stdio' ? { url: '', close: async () => undefined } : await serveRoutes(await mcpApp(fake));
  const opened: (() => Promise<void>)[] = [];
  const connect = async (caller = 'me'): Promise<Client> => {
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: protocol === '2026-07-28' ? { pin: protocol } : 'legacy' } },
    );
    await client.connect(await transportOf(transport, harness.url, fake, caller, opened));
    return client;
  };
  return {
    fake,
    connect,
    url: harness.url,
    close: async () => {
      for (const close of opened) await close();
      await harness.close();
    },
  };
};

const transportOf = async (
  name: TransportName,
  url: string,
  fake: FakeService,
  caller: string,
  opened: (() => Promise<void>)[],
): Promise<Transport> => {
  const headers = { authorization: `Bearer ${caller}` };
  switch (name) {
    case 'http':
      return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
    case 'sse':
      return new SSEClientTransport(new URL(`${url}/mcp/sse`), { requestInit: { headers } });
    case 'websocket':
      return socketTransport(`${url.replace('http', 'ws')}/mcp/ws`, headers);
    case 'stdio': {
      const pipes = await serveOnPipes(fake, { name: caller });
      opened.push(async () => pipes.served.close());
      return pipeTransport(pipes);
    }
  }
};

/** The client handles notifications a moment after answers, and drops those of an answered request, so each message gets its own turn. */
const oneByOne = (transport: Transport): ((text: string) => void) => {
  let turn = Promise.resolve();
  return (text) => {
    turn = turn.then(() => new Promise(setImmediate)).then(() => transport.onmessage?.(JSON.parse(text)));
  };
};

export const socketTransport = (url: string, headers: Record<string, string>): Transport => {
  const socket = new WebSocket(url, ['mcp'], { headers });
  const transport: Transport = {
    start: async () => void (await once(socket, 'open')),
    send: async (message) => socket.send(JSON.stringify(message)),
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
  const hear = oneByOne(transport);
  socket.on('message', (data: Buffer) => hear(data.toString()));
  socket.on('close', () => transport.onclose?.());
  return transport;
};

type PipeEnds = Omit<Pipes, 'served'> & { readonly served: Pick<Pipes['served'], 'ended'> };

export const pipeTransport = ({ toServer, fromServer, served }: PipeEnds): Transport => {
  const transport: Transport = {
    start: async () => {
      createInterface({ input: fromServer }).on('line', oneByOne(transport));
    },
    send: async (message) => void toServer.write(`${JSON.stringify(message)}\n`),
    close: async () => {
      toServer.end();
      await served.ended;
      transport.onclose?.();
    },
  };
  return transport;
};
