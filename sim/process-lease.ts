// The lease of one simulated process: its requests travel to the disk and back, come late, and get lost.
import type { LeasePorts } from '#testing/adapters/stores';
import type { Process } from './process.ts';

export const simulatedLease = (process: Process): LeasePorts => {
  const { world } = process;
  const { leaseRandom: random, leases, faults } = world;
  // A clock of its own, which shows another time and runs as fast.
  const offsetMs = random.int(-1_000_000, 1_000_000);
  const isLate = (): boolean => faults.on && random.chance(world.plan.leases!.late);
  return {
    now: () => world.now + offsetMs,
    timer: (ms, due) => process.later(ms, 'lease', due),
    renew: () => {
      const answer = Promise.withResolvers<{ readonly lapses: number }>();
      // What is on its way to the disk arrives, whatever has become of the process.
      const cut = process.reach.isCutOff;
      world.scheduler.after(random.log(1, isLate() ? 4_000 : 30), `renew ${process.no}`, () => {
        if (cut || !process.alive) return;
        const renewed = leases.renew(process.no);
        world.trace.note(`lease of ${process.no} renewed, found lapsed ${renewed.lapses}`);
        process.later(random.log(1, isLate() ? 4_000 : 30), 'renewed', () => answer.resolve(renewed));
      });
      return answer.promise;
    },
  };
};
