// The memory budget: what a cell and all its descendants hold at one time.
import { describe, expect, test } from 'vitest';
import { agent } from '../session/driver.ts';
import { Stage } from './stage.ts';

const lead = (memory: number) =>
  agent('lead', {
    tools: ['spawn_agent', 'shutdown_agent', 'send_message', 'receive_message'],
    spawns: { agents: [agent('ann', { prompt: 'x'.repeat(20_000) }), agent('bob', { prompt: 'x'.repeat(20_000) })] },
    budget: { memory },
  });

const spawn = async (stage: Stage, name: string): Promise<void> =>
  stage.say('lead', { calls: [{ tool: 'spawn_agent', args: { agent_id: name, initial_message: 'Go' } }] });

describe('a memory budget', () => {
  // invariant: account-memory-is-a-level
  test('covers all descendants, refuses an agent that would exceed it, and is released when an agent ends', async () => {
    const stage = new Stage([lead(45_000)], false);
    await stage.settle();
    await spawn(stage, 'ann');
    expect(stage.pending).toContain('ann');
    await spawn(stage, 'bob');
    expect(stage.pending).not.toContain('bob');
    const ended = stage.frames.flatMap(({ record }) =>
      record.type === 'settle' && record.ended ? [record.ended] : [],
    );
    expect(ended.map(({ outcome }) => [outcome.status, outcome.failure?.code])).toEqual([['budget', 'budget_refused']]);
    await stage.say('ann', { text: 'Done.' });
    await stage.say('lead', { calls: [{ tool: 'shutdown_agent', args: { sub_agent_id: 'ann' } }] });
    await stage.settle();
    await stage.crash();
    await spawn(stage, 'bob');
    expect(stage.pending).toContain('bob');
    expect(await stage.audit()).toMatchObject({ problems: [] });
  });

  test('is not counted when no agent has one', async () => {
    const stage = new Stage([agent('plain')], false);
    await stage.settle();
    const holds = stage.frames.flatMap(({ record }) => (record.type === 'begin' && record.hold ? [record.hold] : []));
    expect(holds).toEqual([{ tokens: expect.any(Number) }]);
  });
});
