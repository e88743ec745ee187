import assert from 'node:assert';
import { test } from 'node:test';
import { expectResumable, rehearse } from 'cloister/testkit';
import desk from '../agents.ts';
import { script } from '../rehearsal.ts';

await test('a crash at any moment loses nothing and pays nothing twice', async () => {
  const { crashes, outcome } = await expectResumable(({ clock }) => ({
    agents: desk,
    models: [rehearse(script, { clock })],
    input: 'My order A-17, please.',
  }));
  assert.strictEqual(outcome.output, 'Your money is on its way.');
  assert.ok(crashes > 10);
});
