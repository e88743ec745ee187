import { CloisterError } from '#base';
import type { ResolvedServer } from '#contracts';

export type StdioServer = Extract<ResolvedServer, { type: 'stdio' }>;
export type RemoteServer = Exclude<ResolvedServer, StdioServer>;

/** The name of a server in messages. Only the origin of its URL is shown: the rest may contain a token. */
export const serverTitle = (server: ResolvedServer): string =>
  server.type === 'stdio' ? `Server "${server.name}"` : `Server "${server.name}" at ${originOf(serverUrl(server))}`;

/** Not `url.origin`, which is `null` for WebSocket URLs in some versions of Node. */
const originOf = ({ protocol, host }: URL): string => `${protocol}//${host}`;

export const serverUrl = (server: RemoteServer): URL => {
  const refuse = (what: string): CloisterError =>
    new CloisterError('config_invalid', `mcpServers.${server.name}.url ${what}.`);
  if (!URL.canParse(server.url)) throw refuse('is not a URL');
  const url = new URL(server.url);
  const scheme = server.type === 'websocket' ? 'ws' : 'http';
  if (url.protocol !== `${scheme}:` && url.protocol !== `${scheme}s:`)
    throw refuse(`must start with ${scheme}:// or ${scheme}s://`);
  if (url.username !== '' || url.password !== '')
    throw refuse('contains a user name or password; send credentials in `headers`');
  return url;
};

/** Throws for an invalid header, without repeating its value. */
export const serverHeaders = ({ name, headers }: RemoteServer): Record<string, string> => {
  const sendable = new Headers();
  for (const [key, value] of Object.entries(headers)) {
    try {
      sendable.append(key, value);
    } catch {
      throw new CloisterError('config_invalid', `mcpServers.${name}.headers: "${key}" is not a valid HTTP header.`);
    }
  }
  return { ...headers };
};
