// One client on a connection of its own: both protocols, chosen by how the client begins.
import type { Caller } from '#contracts';
import { McpServerConnection } from './connection.ts';
import type { ClientChannel } from './connection.ts';
import { subscriptionsMax } from './limits.ts';
import type { Library, ServerFor } from './server-for.ts';

export type Serve = (caller: Caller, carrier: ClientChannel) => McpServerConnection;

/** Serves whoever is on the other end of a carrier, until that or the connection is closed. */
export const serverOfConnections = async (library: Library, serverFor: ServerFor): Promise<Serve> => {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  return (caller, carrier) => {
    const connection = new McpServerConnection(library, carrier);
    serveStdio(() => serverFor(caller, connection), { transport: connection, maxSubscriptions: subscriptionsMax });
    return connection;
  };
};
