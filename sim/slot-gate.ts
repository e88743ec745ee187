// What ends a run's wait for people passes through a gate, as on a server: the run must have a slot again, which may take a while.
import type { AdmitWork, Frame, RunSession } from '#contracts';
import type { PeoplePlan } from './plan.ts';
import type { Process } from './process.ts';

/**
 * `hasSlot`: whether the run has one; it is given back when somebody is told that the run waits. `lateMs`: how long each of those that
 * passed, and have not ended yet, had to wait.
 */
export type SlotGate = { hasSlot: boolean; readonly lateMs: number[] };

/** Until the gate opens, all wait; then they pass in the order in which they came. */
export const guardWithSlot = (process: Process, session: RunSession, { slotMs }: PeoplePlan): void => {
  const { world } = process;
  const { slotGates, slotRandom: random, faults } = world;
  const gate: SlotGate = { hasSlot: true, lateMs: [] };
  session.onWaiting((waits) => void (gate.hasSlot = !waits));
  const key = `${process.no} ${session.run}`;
  slotGates.set(key, gate);
  // The same process may resume the run.
  const remove = (): void => void (slotGates.get(key) === gate && slotGates.delete(key));
  session.outcome.then(remove, remove);
  const pass = <T>(act: () => Promise<T>, lateMs: number): Promise<T> => {
    gate.lateMs.push(lateMs);
    const leave = (): void => void gate.lateMs.splice(gate.lateMs.indexOf(lateMs), 1);
    try {
      const acting = act();
      void Promise.resolve(acting).then(leave, leave);
      return acting;
    } catch (error) {
      leave();
      throw error;
    }
  };
  let opening: Promise<void> | undefined;
  const waitForSlot = async (): Promise<void> => {
    faults.count('person: waits for a slot');
    await process.pause(random.log(1, slotMs), 'slot');
    opening = undefined;
  };
  const admit: AdmitWork = (act) => {
    if (slotMs === 0) return pass(act, 0);
    const cameAt = world.now;
    return (opening ??= waitForSlot()).then(() => pass(act, world.now - cameAt));
  };
  session.admitWith(admit);
};

/** Whether this frame ends the wait for people, or may do so: an answer, or a question that expires. */
export const endsWait = ({ record }: Frame): boolean =>
  record.type === 'ruling' ||
  (record.type === 'settle' &&
    typeof record.value === 'object' &&
    record.value !== null &&
    'expired' in record.value &&
    record.value['expired'] === true);
