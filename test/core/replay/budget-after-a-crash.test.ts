// After a crash, a budget counts every request that was in flight, and refuses nothing that fits.
import { expect, test } from 'vitest';
import type { Agent, Budget, Frame } from '#contracts';
import { defineAgent } from '#core/orchestration';
import { Stage } from '../mail/stage.ts';

const usage = { input: 100, output: 10 };
const spent = usage.input + usage.output;
const agentOf = (name: string, more: object = {}): Agent =>
  defineAgent({ name, description: `Is ${name}`, prompt: `You are ${name}.`, models: ['sim/m'], ...more });

/** `<agent>/<operation>`. */
const keyOf = ({ cell, record }: Frame): string => `${cell.split('-')[0]}/${'op' in record ? record.op : ''}`;

const holdsIn = (frames: readonly Frame[]): Record<string, number> =>
  Object.fromEntries(
    frames.flatMap((frame) =>
      frame.record.type === 'begin' && frame.record.hold !== undefined
        ? [[keyOf(frame), frame.record.hold.tokens!]]
        : [],
    ),
  );

const keysOf = (frames: readonly Frame[], type: Frame['record']['type']): readonly string[] =>
  frames.filter(({ record }) => record.type === type).map(keyOf);

/** `a` and `b` work, `c` waits for its hold until its time is over, then `b` works on. */
const stopWhileWaiting = async (budget: Budget): Promise<Stage> => {
  const look = { name: 'look', description: 'Looks', inputSchema: { type: 'object' }, execute: async () => 'seen' };
  const agents = [agentOf('a'), agentOf('b', { tools: [look] }), agentOf('c', { budget: { ms: 2_000 } })];
  const stage = new Stage([agentOf('lead', { agents, budget }), ...agents], false);
  await stage.settle();
  await stage.say('lead', { calls: ['a', 'b', 'c'].map((tool) => ({ tool, args: { prompt: 'Go.' } })), usage });
  await stage.clock.advance(3_000);
  await stage.settle();
  await stage.say('b', { calls: [{ tool: 'look', args: {} }], usage });
  return stage;
};

test('a request counts that began after another agent was stopped while it waited for its hold', async () => {
  const holds = holdsIn((await stopWhileWaiting({})).frames);
  const tokens = spent + holds['lead/0']! + holds['a/0']! + holds['b/0']! + holds['c/0']! - 1_000;
  const stage = await stopWhileWaiting({ tokens });
  const stopped = stage.frames.find((frame) => keyOf(frame) === 'c/0' && frame.record.type === 'settle');
  expect(stopped?.record).toMatchObject({ ok: false, failure: { code: 'deadline_passed' } });
  expect(keysOf(stage.frames, 'held')).toEqual([]);
  expect(stage.pending).toEqual(['a', 'b']);
  await stage.crash();
  expect(keysOf(stage.frames, 'again')).toEqual(['a/0', 'b/2']);
});

const spawnAndContinue = async (budget: Budget): Promise<Stage> => {
  const scout = agentOf('scout');
  const more = { tools: ['spawn_agent'], spawns: { agents: [scout] }, budget };
  const stage = new Stage([agentOf('lead', more), scout], false);
  await stage.settle();
  await stage.say('lead', {
    calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout', initial_message: 'Go.' } }],
    usage,
  });
  return stage;
};

test('an agent that is resumed before its parent is refused nothing that fits', async () => {
  const holds = holdsIn((await spawnAndContinue({})).frames);
  const [first, second] = Object.entries(holds).flatMap(([key, hold]) => (key.startsWith('lead') ? [hold] : []));
  // The parent once held more than it does now.
  expect(first).toBeGreaterThan(second!);
  const stage = await spawnAndContinue({ tokens: spent + 2 * (second! + holds['scout/0']!) });
  expect([...stage.pending].sort()).toEqual(['lead', 'scout']);
  await stage.crash();
  expect([...stage.pending].sort()).toEqual(['lead', 'scout']);
});
