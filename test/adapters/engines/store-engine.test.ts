import { StoreEngine } from '#adapters/engines';
import { conformEngine } from '../../conformance/engine.ts';

const clock = {
  now: () => Date.now(),
  timer: (ms: number, due: () => void) => {
    const timer = setTimeout(due, ms);
    return () => clearTimeout(timer);
  },
};

conformEngine(
  'none',
  async () =>
    async ({ driver }) =>
      new StoreEngine({ driver, clock }),
);
