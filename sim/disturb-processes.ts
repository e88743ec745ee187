// What disturbs processes besides crashes: they are closed in the middle of their work, and others try to take over their runs.
import { closeSimulatedCloister } from './cloister.ts';
import type { SimulatedCloister } from './cloister.ts';
import { noteCancel } from './follow-session.ts';
import { disturbLeases } from './lease-faults.ts';
import type { RunTask } from './run-tasks.ts';
import { setClockSoon } from './set-clock.ts';
import type { World } from './world.ts';

/** Closes a process properly. */
export const closeAtWork = async (world: World, opened: SimulatedCloister): Promise<void> => {
  const { sessions, trace } = world;
  const { process } = opened;
  trace.note(`process ${process.no} is closed`);
  for (const one of sessions)
    if (one.process === process.no && one.endedAt === null && one.cancelledAt === null) noteCancel(world, one);
  await closeSimulatedCloister(opened);
  process.exit();
};

export type DisturbPorts = {
  done(): boolean;
  /** Processes that are not frozen. */
  awake(): readonly Pick<SimulatedCloister, 'process'>[];
  readonly tasks: readonly RunTask[];
  /** In another process. */
  resume(task: RunTask): void;
};

export const disturbProcesses = (world: World, ports: DisturbPorts): void => {
  const { faults, leases } = world.plan;
  if (faults.rivals > 0) scheduleRivals(world, ports);
  if (faults.clock > 0) setClockSoon(world, () => ports.done());
  if (leases !== null) disturbLeases(world, leases, ports);
};

/** Again and again. */
const scheduleRivals = (world: World, ports: DisturbPorts): void => {
  const { random, faults, scheduler } = world;
  scheduler.after(random.log(20, 2_000), 'rival', () => {
    if (!faults.on || ports.done()) return;
    const unfinished = ports.tasks.filter(({ done }) => !done);
    if (unfinished.length > 0 && faults.draw(faults.plan.rivals / 2, 'process', { 'second owner': 1 }) !== null)
      ports.resume(random.pick(unfinished));
    scheduleRivals(world, ports);
  });
};
