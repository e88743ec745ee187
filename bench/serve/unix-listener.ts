// A second way into this process's server, over a Unix socket: for a reader that does not read, the kernel buffers some hundred
// kilobytes there, instead of four megabytes as for local TCP. It also counts the backed-up readers of both.
import { subscribe } from 'node:diagnostics_channel';
import { rmSync } from 'node:fs';
import { Server } from 'node:http';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type UnixListener = {
  readonly path: string;
  /** Sockets that have to drain before more is written to them. */
  backedUp(): number;
};

/** Must be called before the server listens. */
export const openUnixListener = async (): Promise<UnixListener> => {
  const sockets = new Set<Socket>();
  const path = join(tmpdir(), `cloister-bench-${process.pid}.sock`);
  let httpServer: Server | undefined;
  subscribe('tracing:net.server.listen:asyncStart', (message) => {
    const { server } = message as { readonly server: unknown };
    if (!(server instanceof Server)) return;
    httpServer = server;
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  });
  const listener = createServer((socket) => httpServer?.emit('connection', socket));
  await new Promise<void>((resolve) => listener.listen({ path, backlog: 1_024 }, resolve));
  process.once('exit', () => rmSync(path, { force: true }));
  return { path, backedUp: () => [...sockets].filter((socket) => socket.writableNeedDrain).length };
};
