// Stands in for HAProxy between Restate and workers: each call goes to the next worker that is there, over HTTP/2.
import { connect, createServer } from 'node:http2';
import type { ClientHttp2Session, ServerHttp2Session, ServerHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';

export type Balancer = { readonly port: number; add(port: number): void; close(): Promise<void> };

export const startBalancer = async (): Promise<Balancer> => {
  const workers: number[] = [];
  const sessions = new Map<number, Promise<ClientHttp2Session | null>>();
  const clients = new Set<ServerHttp2Session>();
  /** Those that were there before. One that is still starting is not given up. */
  const seen = new Set<number>();
  let next = 0;
  const sessionOf = (port: number): Promise<ClientHttp2Session | null> => {
    const known = sessions.get(port);
    if (known !== undefined) return known;
    const opened = new Promise<ClientHttp2Session | null>((resolve) => {
      const session = connect(`http://127.0.0.1:${port}`);
      const over = (): void => {
        sessions.delete(port);
        resolve(null);
      };
      session.on('connect', () => {
        seen.add(port);
        resolve(session);
      });
      session.on('error', () => {
        // It has ended, and its port may be anybody's now.
        if (seen.has(port) && workers.includes(port)) workers.splice(workers.indexOf(port), 1);
        over();
      });
      session.on('close', over);
      session.on('goaway', over);
    });
    sessions.set(port, opened);
    return opened;
  };
  const nextSession = async (): Promise<ClientHttp2Session | null> => {
    for (let tries = 0; tries < workers.length; tries++) {
      const session = await sessionOf(workers[next++ % workers.length]!);
      if (session !== null && !session.closed) return session;
    }
    return null;
  };
  /** A worker that has just ended takes no more. */
  const send = (session: ClientHttp2Session | null, headers: IncomingHttpHeaders) =>
    session === null || session.destroyed ? undefined : session.request(headers);
  const forward = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    const worker = send(await nextSession(), headers);
    if (worker === undefined || stream.destroyed) return stream.close();
    worker.on('response', (reply) => !stream.destroyed && stream.respond(reply));
    worker.on('error', () => stream.close());
    worker.on('close', () => stream.close());
    stream.on('error', () => worker.close());
    stream.on('close', () => worker.close());
    stream.pipe(worker).pipe(stream);
  };
  const server = createServer();
  server.on('session', (session) => {
    clients.add(session);
    session.on('error', () => undefined);
    session.on('close', () => clients.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    void forward(stream, headers);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    add: (port) => void workers.push(port),
    close: async () => {
      server.close();
      for (const client of clients) client.destroy();
      for (const opened of sessions.values()) (await opened)?.destroy();
    },
  };
};
