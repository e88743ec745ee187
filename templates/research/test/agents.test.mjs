// Runs offline: test/offline.json replaces the model that .ai-agent.json names by the scripted one.
import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister } from 'cloister';
import { expectIsolated } from 'cloister/testkit';

const agents = ['lead.ai'];

await test('the lead answers from the library', async () => {
  await using cloister = await openCloister({ agents, config: 'test/offline.json', store: 'memory' });
  const { status, output, run } = await cloister.run('lead', 'How often should we test backups?').outcome;
  assert.strictEqual(status, 'completed');
  assert.match(output, /Once a month[^]*incidents\.md/u);
  assert.strictEqual((await cloister.audit(run)).ok, true);
});

await test('no agent sees private content of another', () => expectIsolated({ agents }, { pairs: 50 }));
