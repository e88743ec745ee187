// The official client on each transport, with the old protocol and with the new one.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Transport } from '@modelcontextprotocol/client';
import { WebSocket } from 'ws';
import { fakeServing, routesOf, serveOnPipes, serveRoutes } from './driver.ts';
import type { Fake, Harness, Pipes } from './driver.ts';

export const transports = ['http', 'sse', 'websocket', 'stdio'] as const;
export const protocols = ['2025-11-25', '2026-07-28'] as const;

export type TransportName = (typeof transports)[number];
export type ProtocolName = (typeof protocols)[number];

/** A server, and whoever connects to it. */
export type Peer = {
  readonly fake: Fake;
  connect(caller?: string): Promise<Client>;
  /** Where it listens; not on standard input. */
  readonly url: string;
  close(): Promise<void>;
};

export const openPeer = async (
  transport: TransportName,
  protocol: ProtocolName,
  options: Parameters<typeof fakeServing>[0] = {},
): Promise<Peer> => {
  const fake = fakeServing(options);
  const harness: Pick<Harness, 'url' | 'close'> =
    transport === 'stdio' ? { url: '', close: async () => undefined } : await serveRoutes(await routesOf(fake));
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
  fake: Fake,
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

/** The client forgets who asked as soon as it has an answer, and hears notes a moment later: so each message has a turn of its own. */
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
