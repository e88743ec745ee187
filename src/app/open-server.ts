// Loads the server code on first use, so that programs that only run agents start faster.
import type { Cloister } from '#contracts';
import type { Server, ServerOptions } from './server-options.ts';

/** Serves the agents of a Cloister over REST, the OpenAI and Anthropic protocols, and MCP. */
export const openServer = async (cloister: Cloister, options: ServerOptions = {}): Promise<Server> => {
  const server = await import('./build-server.ts');
  return server.buildServer(cloister, options);
};
