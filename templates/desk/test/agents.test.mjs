// Runs offline: test/offline.json replaces the model that .ai-agent.json names by the scripted one.
import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister } from 'cloister';
import { expectIsolated } from 'cloister/testkit';

const agents = ['desk.ai'];

await test('the desk answers with what both of its agents said', async () => {
  await using cloister = await openCloister({ agents, config: 'test/offline.json', store: 'memory' });
  const { status, output, run } = await cloister.run('desk', 'Anna wants her bike repaired on Monday.').outcome;
  assert.strictEqual(status, 'completed');
  assert.match(output, /Monday at 10\.[^]*blue bike/u);
  assert.strictEqual((await cloister.audit(run)).ok, true);
});

await test('no agent sees private content of another', () => expectIsolated({ agents }, { pairs: 50 }));
