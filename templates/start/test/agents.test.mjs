// Runs offline: test/offline.json replaces the model that .ai-agent.json names by the scripted one.
import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister } from 'cloister';
import { expectIsolated } from 'cloister/testkit';

const agents = ['lead.ai'];

await test('the lead answers from what the researcher found', async () => {
  await using cloister = await openCloister({ agents, config: 'test/offline.json', store: 'memory' });
  const { status, output, run } = await cloister.run('lead', 'What about backups?').outcome;
  assert.strictEqual(status, 'completed');
  assert.match(output, /Test the restore/u);
  assert.strictEqual((await cloister.audit(run)).ok, true);
});

await test('no agent sees private content of another', () => expectIsolated({ agents }, { pairs: 50 }));
