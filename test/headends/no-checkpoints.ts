// For services of agents that are asked for no checkpoints.
import { CloisterError } from '#base';
import type { CallerCheckpoints } from '#contracts';

const refuse = async (): Promise<never> => {
  throw new CloisterError('checkpoint_unknown');
};

export const noCheckpoints: CallerCheckpoints = {
  list: async () => [],
  show: refuse,
  create: refuse,
  diff: refuse,
  restore: refuse,
  branch: refuse,
};
