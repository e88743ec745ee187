// Whoever iterates late sees every recorded event all the same.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';

const look = {
  name: 'look',
  description: 'Looks',
  inputSchema: { type: 'object' },
  repeat: 'free',
  execute: () => 'seen',
} as const;

const eventsFrom = async (where: { store: 'memory' } | { workspace: string }, late: number) => {
  const model = rehearse([
    { when: { turn: 6 }, reply: 'Done.' },
    { reply: { calls: [{ tool: 'look' }, { tool: 'look' }] } },
  ]);
  const agent = defineAgent({ name: 'solo', description: 'Looks', prompt: '', models: [model], tools: [look] });
  await using cloister = await openCloister({ ...where, agents: [agent] });
  const session = cloister.run('solo', 'Go');
  for (let turn = 0; turn < late; turn++) await new Promise((resolve) => setImmediate(resolve));
  const ids: string[] = [];
  for await (const event of session) if ('id' in event) ids.push(event.id);
  return { ids, all: (await cloister.show(session.run)).events.map(({ id }) => id) };
};

test.each([0, 1, 2, 3, 5, 8, 13, 21, 34, 200])('after %i turns of the event loop', async (late) => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-late-'));
  try {
    for (const where of [{ store: 'memory' } as const, { workspace: folder }]) {
      const { ids, all } = await eventsFrom(where, late);
      expect(ids).toEqual(all);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
