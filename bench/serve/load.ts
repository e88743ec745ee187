// A client that costs as little as possible: prepared bytes out, lengths counted in.
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { payload } from './messages.ts';
import type { Started } from './started.ts';

const requestTo = ({ port, token }: Started, path: string, body: string): Buffer =>
  Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );

const opened = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
    socket.setNoDelay(true);
  });

const openedAt = (path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket));
    socket.once('error', reject);
  });

export type Load = { readonly requests: number; readonly errors: number; readonly seconds: number };

/** So many connections, each asking again as soon as it is answered, until enough was asked. */
export const ask = async (server: Started, connections: number, requests: number): Promise<Load> => {
  const request = requestTo(server, '/v1/instant', payload);
  const sockets = await Promise.all(Array.from({ length: connections }, () => opened(server.port)));
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

/** Responses with a content-length, whole. */
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

export type Streams = { readonly ended: number; readonly errors: number; readonly bytes: number };

/** So many streams at once, each read to its end. */
export const stream = async (server: Started, path: string, count: number): Promise<Streams> => {
  const body = JSON.stringify({ input: 'Go.', stream: true });
  let [ended, errors, bytes] = [0, 0, 0];
  await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = await opened(server.port);
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

/** So many that ask for a stream and read nothing of it. When they are there, the server waits for nearly all of them. */
export const stall = async (server: Started, path: string, count: number): Promise<readonly Socket[]> => {
  if (server.path === undefined) throw new Error('The server has no narrow door.');
  const body = JSON.stringify({ input: 'Go.', stream: true });
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const socket = await openedAt(server.path);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(requestTo(server, path, body));
    // So that it can let them in: what is queued at its door is bounded.
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

/** Throws if those who take nothing have been given all that there is. */
export const checkStalled = async (server: Started, count: number): Promise<number> => {
  const { backedUp } = await server.usage();
  if (backedUp < count * nearlyAll)
    throw new Error(`Of ${count} readers that take nothing, ${backedUp} are backed up.`);
  return backedUp;
};
