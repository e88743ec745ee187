import { CloisterError } from '#base';
import type { ResolvedServer } from '#contracts';

export type StdioServer = Extract<ResolvedServer, { type: 'stdio' }>;
export type RemoteServer = Exclude<ResolvedServer, StdioServer>;

/** How a server is called in messages. Of an address only the origin is shown: the rest may hold a token. */
export const serverTitle = (server: ResolvedServer): string =>
  server.type === 'stdio' ? `Server "${server.name}"` : `Server "${server.name}" at ${originOf(serverUrl(server))}`;

/** `origin` of what is no web address is `null` in some versions of Node. */
const originOf = ({ protocol, host }: URL): string => `${protocol}//${host}`;

export const serverUrl = (server: RemoteServer): URL => {
  const refuse = (what: string): CloisterError =>
    new CloisterError('config_invalid', `mcpServers.${server.name}.url ${what}.`);
  if (!URL.canParse(server.url)) throw refuse('is not a URL');
  const url = new URL(server.url);
  const scheme = server.type === 'websocket' ? 'ws' : 'http';
  if (url.protocol !== `${scheme}:` && url.protocol !== `${scheme}s:`)
    throw refuse(`must begin with ${scheme}:// or ${scheme}s://`);
  if (url.username !== '' || url.password !== '') throw refuse('holds a password: send it in `headers`');
  return url;
};

/** What cannot be sent is refused here, in words that do not repeat it. */
export const serverHeaders = ({ name, headers }: RemoteServer): Record<string, string> => {
  const sendable = new Headers();
  for (const [key, value] of Object.entries(headers)) {
    try {
      sendable.append(key, value);
    } catch {
      throw new CloisterError(
        'config_invalid',
        `mcpServers.${name}.headers: "${key}" is not a header that HTTP allows.`,
      );
    }
  }
  return { ...headers };
};
