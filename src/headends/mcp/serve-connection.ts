// Serves one client on its own connection, with either protocol version; the client's first message decides which.
import type { Caller } from '#contracts';
import { McpServerConnection } from './connection.ts';
import type { ClientChannel } from './connection.ts';
import { subscriptionsMax } from './limits.ts';
import type { McpLibrary, ServerFactory } from './server-factory.ts';

export type ServeClient = (caller: Caller, carrier: ClientChannel) => McpServerConnection;

/** Returns a function that serves the client on a channel until the channel or the connection is closed. */
export const connectionServer = async (library: McpLibrary, serverFor: ServerFactory): Promise<ServeClient> => {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  return (caller, carrier) => {
    const connection = new McpServerConnection(library, carrier);
    serveStdio(() => serverFor(caller, connection), { transport: connection, maxSubscriptions: subscriptionsMax });
    return connection;
  };
};
