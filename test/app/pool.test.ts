// Spawn pools: agents prepared in advance, indistinguishable from agents that start cold.
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { ToolSource } from 'cloister';
import { countingIds, rehearse, virtualClock } from '#testkit';

const twice = { agent_id: 'digger', initial_message: 'Dig.' };

const play = async (pool: Readonly<Record<string, number>>) => {
  const clock = virtualClock(1_000_000);
  const lists: string[] = [];
  let open = 0;
  const source: ToolSource = {
    name: 'shed',
    list: async () => {
      lists.push('asked');
      open++;
      const spade = { name: 'spade', description: 'Digs.', inputSchema: { type: 'object' }, execute: () => 'Dug.' };
      return { tools: [spade], close: async () => void open-- };
    },
  };
  const model = rehearse(
    [
      { when: { agent: 'digger' }, reply: 'Dug.' },
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'list_spawned_agents' }], delayMs: 50 } },
      {
        when: { agent: 'lead', turn: 2 },
        reply: {
          calls: [
            { tool: 'spawn_agent', args: twice },
            { tool: 'spawn_agent', args: twice },
          ],
        },
      },
      { when: { agent: 'lead' }, reply: ({ turn }) => (turn < 5 ? { calls: [{ tool: 'receive_message' }] } : 'Done.') },
    ],
    { clock },
  );
  const digger = defineAgent({ name: 'digger', description: 'Digs.', prompt: 'Dig.', tools: [source] });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    tools: ['spawn_agent', 'list_spawned_agents', 'receive_message'],
    spawns: { agents: [digger], pool },
  });
  await using cloister = await openCloister({
    store: 'memory',
    agents: [lead],
    models: [model],
    clock,
    ids: countingIds(),
  });
  const session = cloister.run('lead', 'Go');
  await clock.advance(0);
  const readyBefore = lists.length;
  while (clock.waiting > 0) await clock.runAll();
  const { status } = await session.outcome;
  const digs = model.requests.filter(({ prompt }) => JSON.stringify(prompt).includes('agent \\"digger\\"'));
  return { status, readyBefore, asked: lists.length, open, digs: digs.map((request) => JSON.stringify(request)) };
};

// invariants: pool-one-session, pool-changes-nothing-seen
test('a pooled agent’s first prompt is byte for byte the same as without a pool, and nothing is left open', async () => {
  const [cold, warm] = [await play({}), await play({ digger: 1 })];
  expect(cold).toMatchObject({ status: 'completed', open: 0, asked: 2 });
  expect(warm).toMatchObject({ status: 'completed', open: 0 });
  expect(warm.readyBefore).toBe(1);
  // Two were used, and one more was ready in the end.
  expect(warm.asked).toBe(3);
  expect(warm.digs).toEqual(cold.digs);
  expect(cold.digs).toHaveLength(2);
});
