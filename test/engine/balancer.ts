// Stands in for HAProxy between Restate and workers: each connection goes to the next worker that accepts it. Restate keeps one
// connection, so all calls go to one worker until that has ended.
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export type Balancer = { readonly port: number; add(port: number): void; close(): Promise<void> };

export const startBalancer = async (): Promise<Balancer> => {
  const workers: number[] = [];
  const open = new Set<Socket>();
  let next = 0;
  const forward = (client: Socket, tries: number): void => {
    const port = workers[next++ % Math.max(1, workers.length)];
    if (port === undefined || tries > workers.length) return void client.destroy();
    const worker = connect(port, '127.0.0.1');
    worker.on('error', () => (worker.pending ? forward(client, tries + 1) : client.destroy()));
    worker.on('connect', () => {
      client.pipe(worker).pipe(client);
      worker.on('close', () => client.destroy());
      client.on('close', () => worker.destroy());
      open.add(worker);
    });
  };
  const server = createServer((client) => {
    open.add(client);
    client.on('error', () => undefined);
    client.on('close', () => open.delete(client));
    forward(client, 0);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    add: (port) => void workers.push(port),
    close: async () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
};
