import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister } from 'cloister';
import type { Agent } from 'cloister';
import { fakeWorld, faultyModel, faultyTool, rehearse } from 'cloister/testkit';
import type { FaultPlan, ModelFault } from 'cloister/testkit';
import { deskWith, lookUp, refund } from '../agents.ts';
import { script } from '../rehearsal.ts';

const ask = async (agent: Agent, faults: FaultPlan<ModelFault> = {}): Promise<string> => {
  const world = fakeWorld();
  const { clock, ids } = world;
  const steady = rehearse(script, { clock });
  const models = [faultyModel(steady, { clock, ...faults }), steady];
  await using cloister = await openCloister({ store: 'memory', agents: [agent], models, clock, ids });
  return (await world.finish(cloister.run('desk', 'My order A-17, please.').outcome)).output;
};

await test('nothing is refunded while the order lookup is down', async () => {
  const down = faultyTool(lookUp, { at: { 1: 503 } });
  assert.strictEqual(await ask(deskWith({ lookUp: down, refund })), 'Somebody will look into it.');
});

await test('a refund whose result is lost is not paid twice', async () => {
  let paid = 0;
  const counted = { ...refund, execute: () => `Refund ${++paid}.` };
  const lossy = faultyTool(counted, { percent: 100, kinds: ['lost'] });
  assert.strictEqual(await ask(deskWith({ lookUp, refund: lossy })), 'Somebody will look into it.');
  assert.strictEqual(paid, 1);
});

await test('a model that fails half of the time does no harm if there is a fallback model', async () => {
  for (let seed = 0; seed < 20; seed++) {
    const faults = { seed, percent: 50, kinds: [429, 503, 'cut', 'network'] } as const;
    assert.strictEqual(await ask(deskWith({ lookUp, refund }), faults), 'Your money is on its way.');
  }
});
