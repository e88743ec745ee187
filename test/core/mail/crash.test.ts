// A run with spawned agents, crashed after every record: nothing is lost, nothing is delivered twice.
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { expectResumable, rehearse } from 'cloister/testkit';
import type { MakeWorkflow, Script } from 'cloister/testkit';
import { agent } from '../session/driver.ts';
import { Stage } from './stage.ts';

const talk = ['send_message', 'receive_message', 'publish', 'subscribe', 'receive_broadcast'] as const;
const call = (tool: string, args: object = {}) => ({ tool, args: args as any });

const script: Script = [
  {
    when: { agent: 'lead', turn: 1 },
    reply: {
      calls: [
        call('spawn_agent', { agent_id: 'scout', initial_message: 'Look around', auto_subscribe: ['camp'] }),
        call('spawn_agent', { agent_id: 'scout', auto_subscribe: ['camp'] }),
        call('subscribe', { topic: 'camp' }),
      ],
    },
  },
  {
    when: { agent: 'lead', turn: 2 },
    reply: { text: 'R: {{results}}', calls: [call('publish', { topic: 'camp', message: 'Who is there?' })] },
  },
  {
    when: { agent: 'lead', turn: 3 },
    reply: { calls: [call('receive_broadcast', { timeout_ms: 5_000 }), call('receive_message')] },
  },
  { when: { agent: 'lead', turn: 4 }, reply: { calls: [call('send_message', { to: 'scout', message: 'Come back' })] } },
  {
    when: { agent: 'lead', turn: 5 },
    reply: { calls: [call('receive_message', { timeout_ms: 10_000 })], delayMs: 20 },
  },
  {
    when: { agent: 'lead', turn: 6 },
    reply: { calls: [call('shutdown_agent', { sub_agent_id: 'scout' }), call('receive_message')] },
  },
  { when: { agent: 'lead', turn: 7 }, reply: 'Home: {{results}}' },
  {
    when: { agent: 'scout', turn: 1 },
    reply: { calls: [call('publish', { topic: 'camp', message: 'I am' })], delayMs: 30 },
  },
  { when: { agent: 'scout' }, reply: { text: 'Seen.', delayMs: 10 } },
];

const workflow: MakeWorkflow = ({ clock }) => {
  const models = [rehearse(script, { clock })];
  const topics = ['camp'];
  const scout = defineAgent({
    name: 'scout',
    description: 'Scouts.',
    prompt: 'You scout.',
    models,
    tools: [...talk],
    topics,
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'You lead.',
    models,
    tools: ['spawn_agent', 'shutdown_agent', 'list_spawned_agents', ...talk],
    topics,
    spawns: { agents: [scout] },
  });
  return { agents: [lead], input: 'Go' };
};

// invariant: mailbox-holds-what-is-logged
test('a crash after any record of a run with mail loses nothing and repeats nothing', async () => {
  const { records, crashes, outcome } = await expectResumable(workflow);
  expect(outcome).toMatchObject({ status: 'completed' });
  expect(crashes).toBe(records - 1);
});

test('a resident that was started with a history and no goal is resumed with that history, and no goal', async () => {
  const history = {
    conversation: 'plums',
    leftOut: 0,
    entries: [{ agent: null, category: 'DIALOG', text: 'The word is plum.' }],
  } as const;
  const askAfter = async (crashes: boolean): Promise<string> => {
    const stage = new Stage([agent('desk')], true, undefined, { goal: null, history });
    await stage.settle();
    expect(stage.pending).toEqual([]);
    if (crashes) await stage.crash();
    stage.live.do({ do: 'send', text: 'Which word?' });
    await stage.settle();
    if (crashes) await stage.crash();
    const shown = stage.shown('desk');
    await stage.say('desk', { text: 'Plum.' });
    stage.live.do({ do: 'finish' });
    await stage.settle();
    expect(await stage.live.outcome).toMatchObject({ status: 'completed' });
    expect(await stage.audit()).toMatchObject({ problems: [], unattributedBytes: 0 });
    return shown;
  };
  const shown = await askAfter(false);
  expect(shown).toContain('The word is plum.');
  expect(shown).toContain('Which word?');
  expect(await askAfter(true)).toBe(shown);
});
