// What happens to processes that own their runs by lease: they freeze, are cut off from the disk, and lose runs to others meanwhile.
import type { DisturbPorts } from './disturb-processes.ts';
import type { LeasePlan } from './plan.ts';
import type { Random } from './random.ts';
import type { Freezable, World } from './world.ts';

/** The share of the seeds without people, mail and conversations in which runs are owned by lease. */
const leaseShare = 0.3;

export const planLeases = (random: Random): LeasePlan | null =>
  random.chance(leaseShare)
    ? { freeze: 0.3 + random.unit() * 0.6, cut: random.unit() * 0.5, late: random.unit() * 0.2 }
    : null;

/** Again and again: a process freezes or is cut off, for less or more than a lease. Others try to take over what it works on. */
export const disturbLeases = (world: World, plan: LeasePlan, ports: DisturbPorts): void => {
  const { scheduler, faults, leaseRandom: random } = world;
  scheduler.after(random.log(10, 1_500), 'freeze', () => {
    if (!faults.on || ports.done()) return;
    const process = random.pick([...ports.awake().map((one) => one.process), null]);
    if (process !== null && random.chance(plan.freeze)) {
      faults.count('lease: process freezes');
      process.reach.freeze(random.chance(0.25) ? random.log(50, 2_900) : random.log(3_100, 9_000));
      rivalsComeFor(world, ports);
    } else if (process !== null && random.chance(plan.cut)) {
      faults.count('lease: process is cut off');
      process.reach.cutOff(random.log(500, 9_000));
      rivalsComeFor(world, ports);
    }
    disturbLeases(world, plan, ports);
  });
};

const rivalsComeFor = ({ scheduler, leaseRandom: random }: World, ports: DisturbPorts): void => {
  for (let nth = 0; nth < 5; nth++)
    scheduler.after(random.log(2_000, 9_000), 'rival', () => {
      const unfinished = ports.tasks.filter(({ done, run }) => !done && run !== null);
      if (unfinished.length > 0) ports.resume(random.pick(unfinished));
    });
};

/** Wakes a frozen process soon after it lost a run, while the new owner has hardly begun. */
export const wakeSoon = ({ scheduler, leaseRandom: random }: World, process: Freezable | undefined): void => {
  if (process !== undefined && random.chance(0.6)) scheduler.after(random.log(1, 80), 'thaw', () => process.thaw());
};
