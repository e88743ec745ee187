// Serving is loaded when somebody serves: what only runs agents starts without it.
import type { Cloister } from '#contracts';
import type { Server, ServerOptions } from './server-options.ts';

/** Puts the agents of a Cloister behind REST, OpenAI's and Anthropic's protocols, and MCP. */
export const openServer = async (cloister: Cloister, options: ServerOptions = {}): Promise<Server> => {
  const server = await import('./open-server.ts');
  return server.buildServer(cloister, options);
};
