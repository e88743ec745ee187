// A second way into the server of this process, over a Unix socket: the kernel keeps some hundred kilobytes for a reader there that
// takes nothing, and not four megabytes as it does for TCP on one machine. And how many readers are backed up, over either.
import { subscribe } from 'node:diagnostics_channel';
import { rmSync } from 'node:fs';
import { Server } from 'node:http';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type NarrowDoor = {
  readonly path: string;
  /** Sockets that have to drain before more is written to them. */
  backedUp(): number;
};

/** Before the server listens. */
export const openNarrowDoor = async (): Promise<NarrowDoor> => {
  const sockets = new Set<Socket>();
  const path = join(tmpdir(), `cloister-bench-${process.pid}.sock`);
  let inside: Server | undefined;
  subscribe('tracing:net.server.listen:asyncStart', (message) => {
    const { server } = message as { readonly server: unknown };
    if (!(server instanceof Server)) return;
    inside = server;
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  });
  const door = createServer((socket) => inside?.emit('connection', socket));
  await new Promise<void>((resolve) => door.listen({ path, backlog: 1_024 }, resolve));
  process.once('exit', () => rmSync(path, { force: true }));
  return { path, backedUp: () => [...sockets].filter((socket) => socket.writableNeedDrain).length };
};
