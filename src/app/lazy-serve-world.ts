// Serving is loaded when somebody serves: other commands start without it.
import type { CliWorld } from '#headends/cli';

export const lazyServeWorld: Pick<CliWorld, 'serve' | 'makeToken'> = {
  serve: async (options, log) => {
    const { createServeWorld } = await import('./serve-world.ts');
    return createServeWorld.serve(options, log);
  },
  makeToken: async (name) => {
    const { createServeWorld } = await import('./serve-world.ts');
    return createServeWorld.makeToken(name);
  },
};
