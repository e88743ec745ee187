// Runs offline: test/offline.json replaces the model that .ai-agent.json names by the scripted one.
import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister } from 'cloister';
import { expectIsolated } from 'cloister/testkit';

const agents = ['.claude/agents/reviewer.md'];

await test('the reviewer answers, with the help of security', async () => {
  await using cloister = await openCloister({ agents, config: 'test/offline.json', store: 'memory' });
  const { status, output, run } = await cloister.run('reviewer', 'Review: const total = a + b').outcome;
  assert.strictEqual(status, 'completed');
  assert.match(output, /One finding/u);
  assert.strictEqual((await cloister.audit(run)).ok, true);
});

await test('no agent sees private content of another', () => expectIsolated({ agents }, { pairs: 50 }));
