import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister } from 'cloister';
import { fakeWorld, rehearse } from 'cloister/testkit';
import desk from '../agents.ts';
import { script } from '../rehearsal.ts';

await test('an order that arrived broken is refunded', async () => {
  const models = [rehearse(script)];
  await using cloister = await openCloister({ store: 'memory', agents: desk, models });
  const { status, output } = await cloister.run('desk', 'My order A-17, please.').outcome;
  assert.deepStrictEqual({ status, output }, { status: 'completed', output: 'Your money is on its way.' });
});

await test('a provider that asks to retry in an hour is skipped for the next one, without waiting', async () => {
  const world = fakeWorld();
  const { clock, ids } = world;
  const busy = rehearse([{ reply: { fault: 429, retryAfterMs: 3_600_000 } }], { clock, modelId: 'busy' });
  const slow = rehearse([{ reply: { text: 'Somebody will look into it.', delayMs: 30_000 } }], { clock });
  await using cloister = await openCloister({ store: 'memory', agents: desk, models: [busy, slow], clock, ids });
  const { output, spent } = await world.finish(cloister.run('desk', 'My order A-17, please.').outcome);
  assert.deepStrictEqual([output, spent.ms], ['Somebody will look into it.', 30_000]);
});
