/* eslint-disable vitest/no-standalone-expect -- hooks of tests that are below */
// A resident works for one asker at a time, and its answer goes to that asker only.
import { afterEach, expect, test } from 'vitest';
import { decodeMail } from '#contracts';
import type { Agent } from '#contracts';
import { auditRun } from '#core/audit';
import { agent, cheap } from '../session/driver.ts';
import { Stage } from './stage.ts';

/** An untyped copy, so that a test can change anything. */
type Loose = any;

const talk = ['send_message', 'receive_message'] as const;

/** Ann and Bob may write to the desk, and not to each other. */
const office = (): Agent => {
  const visitor = (name: string): Agent =>
    agent(name, { tools: [...talk, 'publish'], messages: ['parent', 'desk'], topics: ['t'] });
  const desk = agent('desk', { tools: [...talk], messages: ['parent', 'ann', 'bob'], topics: ['t'] });
  return agent('lead', {
    tools: [...talk, 'spawn_agent', 'shutdown_agent'],
    spawns: { agents: [desk, visitor('ann'), visitor('bob')] },
  });
};

let stage: Stage;
let shown: { readonly agent: string; readonly prompt: string }[] = [];

const result = async (who: string, tool: string, args: object = {}): Promise<any> => {
  await stage.say(who, cheap({ calls: [{ tool, args: args as never }] }));
  const [text = ''] = stage.results(who);
  return text.startsWith('{') ? JSON.parse(text) : text;
};

/** All three have started; the desk is busy with its first task. */
const begin = async (resident = false): Promise<void> => {
  shown = [];
  stage = new Stage([office()], resident, ({ agent: name, options }) =>
    shown.push({ agent: name, prompt: JSON.stringify(options.prompt) }),
  );
  await stage.settle();
  for (const name of ['desk', 'ann', 'bob'])
    await result('lead', 'spawn_agent', { agent_id: name, initial_message: 'Begin.', auto_subscribe: ['t'] });
};

const writes = (who: string, message: string): Promise<any> => result(who, 'send_message', { to: 'desk', message });

/** Where each answer of the desk went, and what it was about. */
const answers = (): readonly string[] => {
  const sent = stage.mail().filter(({ message_type: type, agent_id: from }) => type === 'answer' && from === 'desk');
  const ids = new Map(stage.mail().map(({ id }, index) => [id, index]));
  return sent.map(({ recipient_id: to, correlation_id: about }) => `${to} ${about === null ? 'goal' : ids.get(about)}`);
};

/** What the records say about each answer of the desk. */
const recorded = () =>
  stage.frames.flatMap(({ record, cell, contents = [] }) =>
    record.type === 'post' && record.name === 'mail:answer' && cell.startsWith('desk-')
      ? [
          {
            to: JSON.stringify(record.about?.['to']).replaceAll(/"|-.*/gu, ''),
            texts: contents.map(({ content }) => decodeMail(content).text),
          },
        ]
      : [],
  );

afterEach(async () => {
  expect(await stage.audit()).toMatchObject({ problems: [], unattributedBytes: 0 });
});

// invariants: mailbox-one-asker, resident-one-asker
test('an answer to one asker is not shown to another that wrote at the same time, before or after a crash', async () => {
  for (const crashes of [false, true]) {
    await begin();
    await writes('bob', 'When do you close?');
    await writes('ann', 'My PIN?');
    await writes('bob', 'And on Sundays?');
    if (crashes) await stage.crash();
    await stage.say('desk', { text: 'Open.' });
    expect(stage.shown('desk')).toContain('And on Sundays?');
    expect(stage.shown('desk')).not.toContain('My PIN?');
    if (crashes) await stage.crash();
    await stage.say('desk', { text: 'At six, on Sundays at four.' });
    expect(stage.shown('desk')).toContain('My PIN?');
    await stage.say('desk', { text: 'Ann, your PIN is 4711.' });
    await stage.say('bob', { calls: [{ tool: 'receive_message', args: {} }] });
    expect(stage.results('bob')[0]).toContain('At six, on Sundays at four.');
    expect(await result('ann', 'receive_message')).toContain('Ann, your PIN is 4711.');
    expect(shown.filter((one) => one.agent === 'bob' && one.prompt.includes('4711'))).toEqual([]);
    expect(answers()).toEqual(['lead goal', 'bob 2', 'ann 1']);
  }
});

// invariant: resident-one-asker
test('mail that the model fetches while it works makes nobody an asker', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  expect(await result('desk', 'receive_message')).toContain('My PIN?');
  await stage.say('desk', { text: 'Done, and Ann wanted her PIN.' });
  expect(answers()).toEqual(['lead goal']);
  expect(stage.pending).not.toContain('desk');
});

test('a further message of the asker that the model fetches is answered with the same work', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  await stage.say('desk', { text: 'Open.' });
  await writes('ann', 'Quickly!');
  expect(await result('desk', 'receive_message')).toContain('Quickly!');
  await stage.say('desk', { text: '4711.' });
  expect(answers()).toEqual(['lead goal', 'ann 2']);
});

test('a person’s message that the model fetches is answered with the next work, before a shutdown and after a crash', async () => {
  for (const [crashes, closes] of [
    [false, false],
    [true, false],
    [false, true],
  ]) {
    await begin();
    stage.live.do({ do: 'send', text: 'Where is the key?', to: 'desk' });
    await writes('ann', 'My PIN?');
    expect(await result('desk', 'receive_message')).toContain('Where is the key?');
    if (closes) stage.live.do({ do: 'finish', name: 'desk' });
    await stage.say('desk', { text: 'Open.' });
    expect(stage.shown('desk')).toMatch(/Now answer the user's message m-[\w-]+, which you read/u);
    if (crashes) await stage.crash();
    await stage.say('desk', { text: 'Under the mat.' });
    expect(answers()).toEqual(['lead goal', 'person 0']);
    expect(recorded()).toEqual([
      { to: 'lead', texts: ['Open.'] },
      { to: 'outside', texts: ['Under the mat.'] },
    ]);
  }
});

test('what an agent says about a broadcast goes to nobody, and the record says so', async () => {
  await begin();
  await stage.say('desk', { text: 'Open.' });
  await result('ann', 'publish', { topic: 't', message: 'Fire!' });
  await result('bob', 'publish', { topic: 't', message: 'Where?' });
  await stage.say('desk', { text: 'I run.' });
  await stage.say('desk', { text: 'There.' });
  expect(recorded()).toEqual([
    { to: 'lead', texts: ['Open.'] },
    { to: 'null', texts: [] },
    { to: 'null', texts: [] },
  ]);
});

// invariant: resident-one-asker
test('an agent that was asked gets no second answer if it was written to meanwhile, and the record says so', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  await stage.say('desk', { text: 'Open.' });
  await result('desk', 'send_message', { to: 'ann', message: '4711.' });
  await stage.say('desk', { text: 'I told her.' });
  expect(recorded()).toEqual([
    { to: 'lead', texts: ['Open.'] },
    { to: 'null', texts: [] },
  ]);
});

test('the end of an agent tells its caller nothing that it wrote for others', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  await stage.say('desk', { text: 'Open.' });
  await stage.say('desk', { text: '4711.' });
  await stage.say('lead', { calls: [{ tool: 'shutdown_agent', args: { sub_agent_id: 'desk' } }] });
  expect(stage.results('lead')[0]).toContain('"status":"completed"');
  expect(shown.filter((one) => one.agent === 'lead' && one.prompt.includes('4711'))).toEqual([]);
  const ends = stage.frames.flatMap(({ record }) => (record.type === 'settle' && record.ended ? [record.ended] : []));
  expect(ends.map(({ outcome }) => outcome.output)).toEqual(['Open.']);
});

test('the end of an agent does not name what was missing in its work for others', async () => {
  shown = [];
  const helper = agent('helper');
  const desk = agent('desk', {
    tools: [...talk],
    messages: ['parent', 'ann'],
    agents: [helper],
    gather: { timeoutMs: 1_000 },
  });
  const ann = agent('ann', { tools: [...talk], messages: ['parent', 'desk'] });
  const lead = agent('lead', { tools: [...talk, 'spawn_agent', 'shutdown_agent'], spawns: { agents: [desk, ann] } });
  stage = new Stage([lead], false, ({ agent: name, options }) =>
    shown.push({ agent: name, prompt: JSON.stringify(options.prompt) }),
  );
  await stage.settle();
  for (const name of ['desk', 'ann'])
    await result('lead', 'spawn_agent', { agent_id: name, initial_message: 'Begin.' });
  await stage.say('desk', { text: 'Open.' });
  await writes('ann', 'My PIN?');
  await stage.say('desk', {
    calls: [{ tool: 'gather', args: { tasks: [{ agent: 'helper', prompt: 'Look.', reason: 'Why not.' }] } }],
  });
  await stage.say('helper', { fault: 400 });
  await stage.say('desk', { text: '4711.' });
  await stage.say('lead', { calls: [{ tool: 'shutdown_agent', args: { sub_agent_id: 'desk' } }] });
  const ends = stage.frames.flatMap(({ record, cell }) =>
    record.type === 'settle' && record.ended && cell.startsWith('lead-') ? [record.ended] : [],
  );
  expect(ends.map(({ outcome: { output, missing } }) => ({ output, missing }))).toEqual([
    { output: 'Open.', missing: [] },
  ]);
});

test('a failure while it works for the caller does not tell what it wrote for others before', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  await stage.say('desk', { text: 'Open.' });
  await stage.say('desk', { text: '4711.' });
  await result('lead', 'send_message', { to: 'desk', message: 'Now close.' });
  await stage.say('desk', { fault: 400 });
  const ends = stage.frames.flatMap(({ record }) => (record.type === 'settle' && record.ended ? [record.ended] : []));
  expect(ends.map(({ outcome: { status, output } }) => `${status} ${output}`)).toEqual(['failed Open.']);
});

test('who waits in the mailbox when the agent is shut down is told that it was not read', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  await writes('bob', 'When do you close?');
  await stage.say('desk', { text: 'Open.' });
  stage.live.do({ do: 'finish', name: 'desk' });
  await stage.say('desk', { text: '4711.' });
  expect(answers()).toEqual(['lead goal', 'ann 0']);
  expect(stage.mail().filter(({ state }) => state === 'dead')).toMatchObject([{ agent_id: 'bob', reason: 'ended' }]);
  await result('bob', 'receive_message', { timeout_ms: 1 });
  await stage.clock.advance(10);
  expect(stage.shown('bob')).toContain('to desk was not read: that agent has ended.');
});

// invariant: audit-derives-relations
test('the audit derives from the definitions who may write to whom', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  const frames: Loose[] = structuredClone(stage.frames);
  for (const { definitions = [] } of frames)
    for (const { definition } of definitions)
      if (definition.messages.includes('ann')) definition.messages = ['parent', 'bob'];
  const { problems } = await auditRun(frames, { readBlob: async () => new Uint8Array(), damaged: [] });
  expect(problems.map(({ message }) => message).join('\n')).toContain('definitions of its ends do not list each other');
});

// invariant: audit-derives-askers
test('the audit derives from the log who asked, and reports an answer that went to another', async () => {
  await begin();
  await writes('ann', 'My PIN?');
  await writes('bob', 'When do you close?');
  await stage.say('desk', { text: 'Open.' });
  await stage.say('desk', { text: '4711.' });
  stage.live.do({ do: 'finish', name: 'desk' });
  await stage.say('desk', { text: 'At six.' });
  const bob = stage.frames.find(({ cell }) => cell.startsWith('bob-'))!.cell;
  const problemsOf = async (change: (frame: Loose) => void): Promise<readonly string[]> => {
    const frames = structuredClone(stage.frames);
    frames.forEach(change);
    const { problems } = await auditRun(frames, { readBlob: async () => new Uint8Array(), damaged: [] });
    return problems.map(({ message }) => message.replaceAll(/-\w+|"/gu, ''));
  };
  const toAnn = ({ contents = [] }: Loose): Loose => contents.find(({ content }: Loose) => content.endsWith('\n4711.'));
  expect(await problemsOf((frame) => toAnn(frame) && (frame.record.about.to = bob))).toEqual([
    'it answers bob, but the work was for ann',
  ]);
  expect(await problemsOf((frame) => toAnn(frame) && (toAnn(frame).to = bob))).toContain(
    'an answer crosses to bob, but the work was for ann',
  );
  const waits = stage.frames.flatMap(({ record, cell }) =>
    record.type === 'settle' && cell.startsWith('desk-') && 'messages' in ((record.value ?? {}) as object)
      ? [(record.value as { messages: number[] }).messages]
      : [],
  );
  expect(waits.slice(0, 2).map(({ length }) => length)).toEqual([1, 1]);
  const atOnce = await problemsOf(({ record }) => {
    if (String(record.value?.messages) === String(waits[0])) record.value.messages = waits.slice(0, 2).flat();
  });
  expect(atOnce).toContain('its work is for several senders at once');
  const told = await problemsOf(({ record }) => record.ended && (record.ended.outcome.output = '4711.'));
  expect(told).toContain('its output was not written for its caller');
});
