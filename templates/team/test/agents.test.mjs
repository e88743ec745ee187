// Runs offline: test/offline.json replaces the model that .ai-agent.json names by the scripted one.
import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister } from 'cloister';
import { expectIsolated } from 'cloister/testkit';

const agents = ['team.yaml'];

await test('the page is written from the two results that it depends on', async () => {
  await using cloister = await openCloister({ agents, config: 'test/offline.json', store: 'memory' });
  const { status, output, run } = await cloister.runTeam('editorial', 'A page on backups.').outcome;
  assert.strictEqual(status, 'completed');
  assert.match(output, /restore one at random/u);
  const tasks = await cloister.tasks(run);
  assert.deepStrictEqual(
    tasks.map(({ id, status: state }) => `${id} ${state}`),
    ['facts completed', 'risks completed', 'page completed'],
  );
  assert.strictEqual((await cloister.audit(run)).ok, true);
});

await test('no agent sees private content of another', () => expectIsolated({ agents }, { pairs: 50 }));
