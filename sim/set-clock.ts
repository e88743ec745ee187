// Changes the wall clock now and then, forwards or backwards.
import type { World } from './world.ts';

export const setClockSoon = (world: World, done: () => boolean): void => {
  const { random, faults, scheduler } = world;
  scheduler.after(random.log(5, 2_000), 'clock', () => {
    if (!faults.on || done()) return;
    const jump = faults.draw(faults.plan.clock, 'clock', { forwards: 2, back: 1 });
    if (jump !== null) world.shiftWallClock((jump === 'back' ? -1 : 1) * random.log(1, 100_000));
    setClockSoon(world, done);
  });
};
