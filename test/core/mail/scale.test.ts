// Many agents in parallel: a whole tree that is cancelled, and spawn attempts that race for the same limit.
import { expect, test } from 'vitest';
import { agent, cheap } from '../session/driver.ts';
import { Stage } from './stage.ts';

const spawnsOf = (spawns: object) => ({ tools: ['spawn_agent'] as const, spawns: spawns as never });

// invariants: spawn-checked-without-await, spawn-refusal-costs-nothing
test('of 5,000 parallel spawn attempts exactly as many succeed as are allowed', async () => {
  const leaf = agent('leaf');
  const rules = { agents: [leaf], children: 1_000, perMinute: 7 };
  const limits = { maxToolCallsPerTurn: 5_000, max_steps: 10_000 };
  const stage = new Stage([agent('root', { ...spawnsOf(rules), limits })], false);
  await stage.settle();
  const calls = Array.from({ length: 5_000 }, () => ({ tool: 'spawn_agent', args: { agent_id: 'leaf' } }));
  await stage.say('root', cheap({ calls }));
  await stage.until(() => stage.pending.includes('root'));
  const spawned = stage.frames.filter(({ record }) => record.type === 'begin' && record.do === 'child');
  expect(spawned).toHaveLength(7);
  const codes = stage.frames.flatMap(({ record }) =>
    record.type === 'post' ? [JSON.parse((record.value as { text: string }).text).error?.code ?? 'ok'] : [],
  );
  expect(codes).toHaveLength(5_000);
  expect(codes.filter((code) => code === 'ok')).toHaveLength(7);
  expect(new Set(codes)).toEqual(new Set(['ok', 'SPAWN_RATE']));
  stage.live.do({ do: 'cancel' });
  await stage.settle();
  expect(await stage.live.outcome).toMatchObject({ status: 'cancelled', spent: { spawns: 7 } });
});

test('a cancelled tree of 1,111 cells starts nothing afterwards, and no cell is left', async () => {
  const kinds = ['root', 'one', 'two', 'leaf'];
  const call = { tool: 'spawn_agent', args: { agent_id: '', initial_message: 'Go' } };
  const rules = { children: 10, perMinute: 10 };
  const leaf = agent('leaf');
  const two = agent('two', spawnsOf({ ...rules, agents: [leaf] }));
  const one = agent('one', spawnsOf({ ...rules, agents: [two] }));
  const root = agent('root', { ...spawnsOf({ ...rules, agents: [one] }) });
  const stage = new Stage([root], false);
  stage.answerAll((name) => {
    const below = kinds[kinds.indexOf(name) + 1];
    return below === undefined
      ? null
      : { calls: Array.from({ length: 10 }, () => ({ ...call, args: { ...call.args, agent_id: below } })) };
  });
  for (let round = 0; round < 8; round++) await stage.settle();
  const cellCount = stage.frames.filter(({ record }) => 'birth' in record && record.birth !== undefined).length;
  expect(cellCount).toBe(1_111);
  stage.live.do({ do: 'cancel' });
  const at = stage.frames.length;
  await stage.clock.advance(50);
  expect(await stage.live.outcome).toMatchObject({ status: 'cancelled' });
  const after = stage.frames.slice(at).map(({ record }) => record.type);
  expect(after.filter((type) => type !== 'settle' && type !== 'close')).toEqual([]);
  const ended = stage.frames.filter(({ record }) => record.type === 'settle' && record.ended !== undefined);
  expect(ended).toHaveLength(1_110);
  // Descendants end first: no cell ends before one of its children.
  const depth = new Map(
    stage.frames.flatMap(({ record }) =>
      'birth' in record && record.birth ? ([[record.birth.cell, record.birth]] as const) : [],
    ),
  );
  const endedCells = new Set<string>();
  for (const { record } of ended) {
    const cell = record.type === 'settle' ? record.ended!.cell : ('' as never);
    for (const birth of depth.values()) if (birth.parent === cell) expect(endedCells.has(birth.cell)).toBe(true);
    endedCells.add(cell);
  }
  expect(stage.timers.size).toBe(0);
}, 60_000);
