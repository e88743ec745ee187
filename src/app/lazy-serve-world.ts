// Loads the server code only for `serve`, so that other commands start faster.
import type { CliWorld } from '#headends/cli';

export const lazyServeWorld: Pick<CliWorld, 'serve' | 'makeToken'> = {
  serve: async (options, log) => {
    const { serveWorld } = await import('./serve-world.ts');
    return serveWorld.serve(options, log);
  },
  makeToken: async (name) => {
    const { serveWorld } = await import('./serve-world.ts');
    return serveWorld.makeToken(name);
  },
};
