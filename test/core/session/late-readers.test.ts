// A reader that starts late still gets every recorded event.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { RunSession, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';

/** Starts to iterate during the n-th tool call: the events before it may not be on disk yet. */
const eventsFrom = async (where: { store: 'memory' } | { workspace: string }, nth: number) => {
  const model = rehearse([
    { when: { turn: 6 }, reply: 'Done.' },
    { reply: { calls: [{ tool: 'look' }, { tool: 'look' }] } },
  ]);
  let calls = 0;
  let session: RunSession | undefined;
  let reading: Promise<readonly string[]> = Promise.resolve([]);
  const read = async (): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const event of session!) if ('id' in event) ids.push(event.id);
    return ids;
  };
  const look: ToolDefinition = {
    name: 'look',
    description: 'Looks',
    inputSchema: { type: 'object' },
    repeat: 'free',
    execute: () => {
      if (++calls === nth) reading = read();
      return 'seen';
    },
  };
  const agent = defineAgent({ name: 'solo', description: 'Looks', prompt: '', models: [model], tools: [look] });
  await using cloister = await openCloister({ ...where, agents: [agent] });
  session = cloister.run('solo', 'Go');
  await session.outcome;
  return { ids: await reading, all: (await cloister.show(session.run)).events.map(({ id }) => id) };
};

test.each([1, 2, 3, 6, 10])('a reader that starts during tool call %i gets all events', async (nth) => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-late-'));
  try {
    for (const where of [{ store: 'memory' } as const, { workspace: folder }]) {
      const { ids, all } = await eventsFrom(where, nth);
      expect(ids).toEqual(all);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
