// A client that costs as little as possible: it sends prepared bytes and only counts what it receives.
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { payload } from './messages.ts';
import type { RunningServer } from './running-server.ts';

const requestTo = ({ port, token }: RunningServer, path: string, body: string): Buffer =>
  Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n` +
      `accept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );

const connectTcp = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
    socket.setNoDelay(true);
  });

const connectUnix = (path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket));
    socket.once('error', reject);
  });

export type LoadResult = { readonly requests: number; readonly errors: number; readonly seconds: number };

/** Sends `requests` requests over `connections` connections; each connection sends its next one when it has its response. */
export const sendRequests = async (
  server: RunningServer,
  connections: number,
  requests: number,
): Promise<LoadResult> => {
  const request = requestTo(server, '/v1/instant', payload);
  const sockets = await Promise.all(Array.from({ length: connections }, () => connectTcp(server.port)));
  let [left, errors, done] = [requests, 0, 0];
  const from = performance.now();
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve, reject) => {
          const next = (): void => {
            if (left-- > 0) socket.write(request);
            else {
              socket.destroy();
              resolve();
            }
          };
          socket.once('error', reject);
          eachResponse(socket, (status) => {
            if (status !== 200) errors += 1;
            done += 1;
            next();
          });
          next();
        }),
    ),
  );
  return { requests: done, errors, seconds: (performance.now() - from) / 1_000 };
};

/** Calls `each` for every complete response with a content-length. */
const eachResponse = (socket: Socket, each: (status: number) => void): void => {
  let buffered: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (;;) {
      const end = buffered.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = buffered.toString('latin1', 0, end);
      const length = Number(/content-length: (\d+)/iu.exec(head)?.[1] ?? 0);
      if (buffered.length < end + 4 + length) return;
      buffered = buffered.subarray(end + 4 + length);
      each(Number(head.slice(9, 12)));
    }
  });
};

export type StreamResult = { readonly ended: number; readonly errors: number; readonly bytes: number };

/** Opens `count` streams at once and reads each to its end. */
export const readStreams = async (server: RunningServer, path: string, count: number): Promise<StreamResult> => {
  const body = JSON.stringify({ input: 'Go.', stream: true });
  let [ended, errors, bytes] = [0, 0, 0];
  await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = await connectTcp(server.port);
      let last = '';
      let text = 0;
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        const words = chunk.toString('latin1');
        text += words.split('event: text-delta').length - 1;
        last = (last + words).slice(-4_096);
        if (last.endsWith('\r\n0\r\n\r\n')) socket.destroy();
      });
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.on('error', () => undefined);
      socket.write(requestTo(server, path, body));
      await closed;
      ended += 1;
      if (!last.includes('"status":"completed"') || text === 0) errors += 1;
    }),
  );
  return { ended, errors, bytes };
};

/** Opens `count` readers that request a stream and read nothing. Resolves when the server is blocked on nearly all of them. */
export const openStalledReaders = async (
  server: RunningServer,
  path: string,
  count: number,
  asks: unknown = { input: 'Go.', stream: true },
): Promise<readonly Socket[]> => {
  if (server.path === undefined) throw new Error('The server has no Unix socket.');
  const body = JSON.stringify(asks);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const socket = await connectUnix(server.path);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(requestTo(server, path, body));
    // Gives the server time to accept: its backlog is bounded.
    if (sockets.push(socket) % 100 === 0) await server.usage();
  }
  const until = performance.now() + stallingMs;
  while ((await server.usage()).backedUp < count * nearlyAll) {
    if (performance.now() > until) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await checkStalled(server, count);
  return sockets;
};

const [stallingMs, nearlyAll] = [60_000, 0.99];

/** Throws if stalled readers have received their whole stream. */
export const checkStalled = async (server: RunningServer, count: number): Promise<number> => {
  const { backedUp } = await server.usage();
  if (backedUp < count * nearlyAll) throw new Error(`Only ${backedUp} of ${count} stalled readers are backed up.`);
  return backedUp;
};
