// Loads the server code only for `serve`, so that other commands start faster.
import type { CliServer } from '#headends/cli';

export const lazyServeWorld: CliServer = {
  serve: async (options, log) => {
    const { serveWorld } = await import('./serve-world.ts');
    return serveWorld.serve(options, log);
  },
  makeToken: async (name) => {
    const { serveWorld } = await import('./serve-world.ts');
    return serveWorld.makeToken(name);
  },
};
