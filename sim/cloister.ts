// What `openCloister` creates, in a simulated process: the same code on a simulated world.
import { recordFormats, Semaphore } from '#base';
import type { Agent } from '#contracts';
import { validate } from '#adapters/schemas';
import { LocalCloister } from '../src/app/local-cloister.ts';
import type { SharedPorts } from '../src/app/shared-ports.ts';
import { equip, withChildren } from './agents.ts';
import type { AgentPlan } from './plan.ts';
import type { Process } from './process.ts';

export type SimulatedCloister = {
  readonly process: Process;
  readonly cloister: LocalCloister;
  /** The number of lane slots that were not released. */
  slotsMissing(): number;
};

export const openSimulatedCloister = (
  process: Process,
  agents: readonly Agent[],
  plans: readonly AgentPlan[],
): SimulatedCloister => {
  const known = new Map(plans.flatMap(withChildren).map((plan) => [plan.name, plan]));
  const slots: Readonly<Record<string, number>> = process.world.plan.lanes;
  const lanes = new Map(Object.entries(slots).map(([lane, count]) => [lane, new Semaphore(count)]));
  const shared: SharedPorts = {
    store: process.store,
    workspaces: process.workspaces,
    archives: process.archives,
    validate,
    schemaProblem: () => null,
    toolSchemaProblem: () => null,
    clock: process.clock,
    ids: process.ids,
    lanes,
    resources: {
      agents,
      redactFor: () => null,
      prepare: async () => undefined,
      resourcesFor: ({ name }) => equip(process, known.get(name)!),
      modelsOf: ({ name }) => equip(process, known.get(name)!).models,
    },
    startInfo: undefined,
    recordedBy: { format: recordFormats.newest, build: 'simulation' },
  };
  return {
    process,
    cloister: new LocalCloister(agents, shared),
    slotsMissing: () => {
      let missing = 0;
      for (const [lane, semaphore] of lanes)
        for (let slot = 0; slot < slots[lane]!; slot++) if (semaphore.acquire() !== undefined) missing++;
      return missing;
    },
  };
};

/** Closes it properly, and records what is left over. */
export const closeSimulatedCloister = async (opened: SimulatedCloister): Promise<void> => {
  const { cloister, process } = opened;
  await cloister.close();
  process.life.slotsMissing = opened.slotsMissing();
  process.life.timersLeft = process.timers;
};
