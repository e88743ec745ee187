// A real HTTP server on loopback that keeps what it was sent.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export type Arrived = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

export const listenLoopback = async (
  answer: (arrived: Arrived, to: ServerResponse) => void,
): Promise<AsyncDisposable & { readonly url: string; readonly arrived: readonly Arrived[] }> => {
  const arrived: Arrived[] = [];
  const take = async (message: IncomingMessage, to: ServerResponse): Promise<void> => {
    const one = { url: message.url ?? '', headers: message.headers, body: await text(message) };
    arrived.push(one);
    answer(one, to);
  };
  const server = createServer((message, to) => void take(message, to));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    arrived,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
