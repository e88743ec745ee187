/* eslint-disable vitest/no-standalone-expect -- hooks of tests that are below */
// Regression tests for defects once found in mail.
import { afterEach, expect, test } from 'vitest';
import type { Agent } from '#contracts';
import { agent, cheap, tool } from '../session/driver.ts';
import { Stage } from './stage.ts';

const tools = ['spawn_agent', 'shutdown_agent', 'send_message', 'receive_message', 'subscribe', 'publish'] as const;
const lead = (agents: readonly (Agent | 'self')[], more: object = {}, spawns: object = {}): Agent =>
  agent('lead', { tools: [...tools], topics: ['t'], spawns: { agents, perMinute: 100, ...spawns }, ...more });

let stage: Stage;

const begin = async (root: Agent, resident = false): Promise<void> => {
  stage = new Stage([root], resident);
  await stage.settle();
};

const result = async (who: string, name: string, args: object = {}): Promise<any> => {
  await stage.say(who, cheap({ calls: [{ tool: name, args: args as never }] }));
  const [text = ''] = stage.results(who);
  return text.startsWith('{') ? JSON.parse(text) : text;
};

const spawn = (name: string, more: object = {}): Promise<any> =>
  result('lead', 'spawn_agent', { agent_id: name, initial_message: 'Begin.', ...more });

afterEach(async () => {
  expect(await stage.audit()).toMatchObject({ problems: [], unattributedBytes: 0 });
});

test('two calls that shut down the same agent in one turn are both answered', async () => {
  await begin(lead([agent('ann')]));
  await spawn('ann', { initial_message: undefined });
  const call = { tool: 'shutdown_agent', args: { sub_agent_id: 'ann' } };
  await stage.say('lead', { calls: [call, call] });
  expect(stage.results('lead').map((text) => JSON.parse(text).success)).toEqual([true, true]);
});

test('an agent without tools is shown long mail in full, because it could not read the rest', async () => {
  await begin(lead([agent('ann')]));
  await spawn('ann', { initial_message: undefined });
  await result('lead', 'send_message', { to: 'ann', message: `${'long '.repeat(5_000)}END` });
  expect(stage.shown('ann')).toContain('END');
});

test('waiting for all returns at least one message of each sender, however many one has sent', async () => {
  await begin(
    lead([
      agent('ann', { tools: ['send_message'], limits: { max_steps: 100, maxToolCallsPerTurn: 50 } }),
      agent('bob'),
    ]),
  );
  await spawn('ann');
  await spawn('bob');
  await stage.say('ann', {
    calls: Array.from({ length: 25 }, (_, nth) => ({
      tool: 'send_message',
      args: { to: 'parent', message: `Nr ${nth}` },
    })),
  });
  await stage.say('bob', { text: 'Bob is here.' });
  const read = await result('lead', 'receive_message', { from: ['ann', 'bob'], wait_for: 'all' });
  expect(read).toContain('Bob is here.');
  expect(read).toContain('20 messages.');
});

// invariant: mailbox-bounded-per-sender
test('an answer reaches its asker even if the asker’s mailbox is full of broadcasts', async () => {
  const ann = agent('ann', { tools: ['publish'], topics: ['t'], limits: { max_steps: 200, maxToolCallsPerTurn: 200 } });
  await begin(lead([ann]));
  await result('lead', 'subscribe', { topic: 't' });
  await spawn('ann');
  await stage.say('ann', {
    calls: Array.from({ length: 101 }, () => ({ tool: 'publish', args: { topic: 't', message: 'Hey' } })),
  });
  await stage.say('ann', { text: 'Done at last.' });
  expect(await result('lead', 'receive_message')).toContain('Done at last.');
  expect(stage.mail().filter(({ reason }) => reason === 'overflow')).toMatchObject([
    { message_type: 'broadcast', topic: 't' },
  ]);
});

test('a spawned agent can spawn no deeper than its parent', async () => {
  const mid = agent('mid', { tools: ['spawn_agent'], spawns: { agents: [agent('leaf')] } });
  await begin(lead([mid], {}, { depth: 1 }));
  await spawn('mid');
  expect(await result('mid', 'spawn_agent', { agent_id: 'leaf' })).toMatchObject({ error: { code: 'SPAWN_DEPTH' } });
});

// invariant: mail-addressed-to-a-cell
test('a message to an ended agent does not go to a later agent of the same name', async () => {
  await begin(lead([agent('ann')]));
  const first = await spawn('ann', { initial_message: undefined });
  await result('lead', 'shutdown_agent', { sub_agent_id: 'ann' });
  const second = await spawn('ann', { initial_message: undefined });
  expect(second.sub_agent_id).not.toBe(first.sub_agent_id);
  expect(await result('lead', 'send_message', { to: first.sub_agent_id, message: 'Hi' })).toMatchObject({
    error: { code: 'AGENT_ENDED' },
  });
  expect(await result('lead', 'send_message', { to: second.sub_agent_id, message: 'Hi' })).toMatchObject({
    success: true,
  });
});

test('an agent can message another instance of itself', async () => {
  await begin(lead(['self']));
  const { sub_agent_id: other } = await spawn('self', { initial_message: undefined });
  expect(other).not.toBe('lead');
  await stage.say('lead', { calls: [{ tool: 'send_message', args: { to: other, message: 'Hi' } }] });
  expect(stage.mail()).toMatchObject([{ recipient_id: other, state: 'read' }]);
});

test('an agent that asks several times before the answer gets one answer, about the newest question', async () => {
  await begin(lead([agent('ann')]));
  await spawn('ann');
  for (const message of ['One?', 'Two?', 'Three?']) await result('lead', 'send_message', { to: 'ann', message });
  await stage.say('ann', { text: 'I begin.' });
  await stage.say('ann', { text: 'All three.' });
  const answers = stage.mail().filter(({ message_type: type }) => type === 'answer');
  const [, , third] = stage.mail().filter(({ message_type: type }) => type === 'message');
  expect(answers.map(({ correlation_id: about }) => about)).toEqual([null, third!.id]);
});

// invariant: resident-waits-free
test('an agent’s time budget does not run while it waits', async () => {
  await begin(lead([agent('ann', { budget: { ms: 10_000 } })]));
  await spawn('ann', { initial_message: undefined });
  await stage.clock.advance(60_000);
  await result('lead', 'send_message', { to: 'ann', message: 'Awake?' });
  expect(stage.pending).toContain('ann');
});

// invariant: resident-limits-per-work
test('each piece of work has its own steps, turns and time', async () => {
  const limits = { max_steps: 1, maxToolTurns: 2, timeout_ms: 10_000 };
  await begin(lead([agent('ann', { tools: [tool('look', () => 'Seen.')], limits })]));
  await spawn('ann');
  for (let work = 0; work < 3; work++) {
    await stage.clock.advance(6_000);
    await stage.say('ann', cheap({ calls: [{ tool: 'look', args: {} }] }));
    await stage.say('ann', cheap({ text: `Done ${work}.` }));
    expect(await result('lead', 'receive_message')).toContain(`Done ${work}.`);
    await result('lead', 'send_message', { to: 'ann', message: 'Once more.' });
  }
  expect(stage.pending).toContain('ann');
});

test('a person’s message to a working root is answered, and the root’s unprompted answer reaches the person', async () => {
  await begin(lead([agent('ann')]), true);
  await spawn('ann');
  stage.live.do({ do: 'send', text: 'What time is it?' });
  expect(await result('lead', 'receive_message')).toContain('What time is it?');
  await stage.say('lead', { text: 'Ten past four.' });
  await stage.say('ann', { text: 'I am done.' });
  await stage.say('lead', { text: 'Ann is done!' });
  const out = stage.mail().filter(({ to }) => to === 'outside');
  expect(out.map(({ message_type: type, state }) => `${type} ${state}`)).toEqual(['answer queued', 'message queued']);
  // Delivered is what was handed out, and only that.
  stage.live.do({ do: 'confirm', message: out[1]!.id });
  expect(stage.mail().flatMap(({ to, state }) => (to === 'outside' ? [state] : []))).toEqual(['queued', 'delivered']);
});

test('an agent with JSON input is started only with JSON that fits its schema', async () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  await begin(lead([agent('ann', { input: { format: 'json', schema } })]));
  expect(await spawn('ann', { initial_message: 'Hello' })).toMatchObject({ error: { code: 'INVALID_MESSAGE' } });
  expect(await spawn('ann', { initial_message: '{"n":"x"}' })).toMatchObject({ error: { code: 'INVALID_MESSAGE' } });
  expect(await spawn('ann', { initial_message: '{"n":1}' })).toMatchObject({ success: true });
});

test('after a crash, mail to an agent that has not come back yet is delivered', async () => {
  await begin(lead([agent('ann')]), true);
  await spawn('ann', { initial_message: undefined });
  const crashing = stage.crash();
  // Its session is created later, when its parent has followed the log that far.
  stage.live.do({ do: 'send', text: 'Are you there?', to: 'ann' });
  await crashing;
  expect(stage.shown('ann')).toContain('Are you there?');
  expect(stage.mail().map(({ state }) => state)).not.toContain('dead');
});
