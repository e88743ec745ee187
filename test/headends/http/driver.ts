// A served Cloister on a real port of this machine, with scripted models.
import { onTestFinished } from 'vitest';
import { openCloister, openServer } from 'cloister';
import type { Agent, Cloister, Server, ServerOptions } from 'cloister';
import { patientLimits } from '../../slow-machine.ts';

export type ServedAgents = {
  readonly url: string;
  readonly token: string;
  readonly cloister: Cloister;
  readonly server: Server;
  /** A request with the token. */
  ask(path: string, init?: RequestInit & { readonly json?: unknown }): Promise<Response>;
  close(): Promise<void>;
};

export type ServeOptions = Omit<ServerOptions, 'agents'> & {
  readonly agents: readonly Agent[];
  /** A folder; without one, the store is in memory. */
  readonly workspace?: string;
};

export const serveAgents = async ({ agents, workspace, ...options }: ServeOptions): Promise<ServedAgents> => {
  const storage = workspace === undefined ? ({ store: 'memory' } as const) : { workspace };
  const cloister = await openCloister({ agents, ...storage });
  const limits = patientLimits(options.limits ?? {});
  const server = await openServer(cloister, { port: 0, ...options, limits });
  const { url } = await server.listen();
  const token = server.token ?? '';
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await server.stop(0);
    await cloister.close();
  };
  onTestFinished(close);
  return {
    url,
    token,
    cloister,
    server,
    ask: (path, { json, headers, ...init } = {}) =>
      fetch(url + path, {
        ...init,
        ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
        headers: {
          authorization: `Bearer ${token}`,
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...(headers as Record<string, string> | undefined),
        },
      }),
    close,
  };
};
