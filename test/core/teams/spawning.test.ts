// Teams in which every agent may spawn agents and does whatever it is asked. They end, and by a limit that has a name.
import { expect, test } from 'vitest';
import { defineAgent, defineTeam } from 'cloister';
import { Stage } from '../mail/stage.ts';
import { TeamStage } from './stage.ts';
import type { Reply, Say } from './stage.ts';

const spawn: Reply = {
  text: '',
  ms: 5,
  call: { tool: 'spawn_agent', args: { agent_id: 'self', initial_message: 'Spawn an agent with this message.' } },
};
const wait: Reply = { text: '', ms: 5, call: { tool: 'receive_message', args: { timeout_ms: 600_000 } } };

/** Two members with one task each, with the default limits. */
const runTeam = async (say: Say, onEnd: 'wait' | 'stop' = 'wait') => {
  const stage = new TeamStage(say);
  const member = (name: string) =>
    stage.agent(name, {
      tools: ['spawn_agent', 'send_message', 'receive_message'],
      spawns: { agents: ['self'], onEnd },
      messages: ['parent', 'children'],
    });
  const team = defineTeam({ name: 'crew', agents: [member('ann'), member('bob')] });
  const tasks = ['ann', 'bob'].map((name) => ({
    id: name,
    title: name,
    description: 'Spawn an agent.',
    assignee: name,
  }));
  const startedAt = stage.clock.now();
  const { cloister, session, outcome } = await stage.run(team, tasks);
  const ms = stage.clock.now() - startedAt;
  const { cells } = await cloister.show(session.run);
  const audit = await cloister.audit(session.run);
  const replay = await cloister.replay(session.run);
  await cloister.close();
  const members = cells.filter(({ depth }) => depth === 1);
  return { outcome, ms, members, sound: audit.ok && replay.ok };
};

/** Whether the newest message in the prompt is a request, and not the result of a call. */
const isAsked = ({ options: { prompt } }: Parameters<Say>[0]): boolean => prompt.at(-1)?.role === 'user';

test('agents that spawn in every turn end with their turns, after as many spawns as the limits allow', async () => {
  const { outcome, ms, sound } = await runTeam(() => spawn);
  expect(outcome.failure?.code).toBe('turns_used');
  // Each member starts 5 agents within a minute, each of those starts 5, and those may start none: 2 × (1 + 5 + 25).
  expect(outcome.spent.spawns).toBe(62);
  expect({ sound, isQuick: ms < 6_000 }).toEqual({ sound: true, isQuick: true });
});

test('members that wait for mail that never comes end with `mailTimeout`, not after ten waits of ten minutes', async () => {
  const { outcome, ms, members, sound } = await runTeam((request) => (isAsked(request) ? spawn : wait));
  expect(outcome.failure?.code).toBe('agent_limit');
  expect(members.map(({ outcome: end }) => end?.failure?.detail)).toEqual([
    'AgentLimitExceeded("mailTimeout")',
    'AgentLimitExceeded("mailTimeout")',
  ]);
  expect({ sound, isQuick: ms < 606_000 }).toEqual({ sound: true, isQuick: true });
});

test('when members end, agents that are busy on two levels below them get one grace period, not one for each level', async () => {
  const { outcome, ms, sound } = await runTeam((request) => {
    if (!isAsked(request)) return { text: 'Done.', ms: request.prompt.startsWith('# Task') ? 100 : 3_600_000 };
    return spawn;
  }, 'stop');
  // Their tasks are not done: an answer that leaves spawned work behind is incomplete.
  expect(outcome.status).toBe('failed');
  expect({ sound, isQuick: ms < 6_000 }).toEqual({ sound: true, isQuick: true });
});

// invariant: resident-waits-free
test('a long-lived agent may wait for mail longer than its `mailTimeout`: nobody waits for it', async () => {
  const scout = defineAgent({
    name: 'scout',
    description: 'Scouts',
    prompt: 'Scout.',
    models: ['sim/m'],
    tools: ['receive_message'],
    limits: { timeout_ms: 1_000, llmTimeout: 1_000, mailTimeout: 1_000 },
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads',
    prompt: 'Lead.',
    models: ['sim/m'],
    tools: ['spawn_agent'],
    spawns: { agents: [scout] },
  });
  const stage = new Stage([lead, scout], false);
  await stage.settle();
  await stage.say('lead', {
    calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout', initial_message: 'Wait.' } }],
  });
  await stage.say('scout', { calls: [{ tool: 'receive_message', args: { timeout_ms: 60_000 } }] });
  await stage.clock.advance(60_500);
  await stage.settle();
  expect(stage.pending).toContain('scout');
});
