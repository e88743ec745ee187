// A thread in Slack is a conversation: whoever mentions the app is answered there, and replies are turns.
// invariants: delivered-once, thread-of-one, names-from-ids, thread-text-of-root, thread-card-per-cell
import { expect, test } from 'vitest';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackWorld } from './slack-world.ts';
import { slackTeam } from './slack-team.ts';

const answers = (world: SlackWorld, channel: string, thread: string, count: number): Promise<void> =>
  world.time.until(
    () =>
      world.slack
        .thread(channel, thread)
        .filter(({ isByApp, buttons }) => isByApp && buttons.some(({ text }) => text === 'Details')).length === count,
    `${count} answers`,
  );

const runCount = async ({ time }: SlackWorld, process: Awaited<ReturnType<SlackWorld['start']>>, user = 'U1') =>
  (await time.finish(process.service.runs(person(user), { most: 50 }))).runs.length;

test('a mention is answered in its thread, with a card and buttons, and a reply is the next turn', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time, said } = world;
  const process = await world.start();
  const first = slack.mention('U1', 'C1', 'Hello');
  await answers(world, 'C1', first.ts, 1);
  const [message] = slack.thread('C1', first.ts).filter(({ isByApp }) => isByApp);
  expect(message).toMatchObject({ text: 'Answer to Hello', isStreaming: false });
  expect(message!.cards.map(({ title, status }) => [title, status])).toEqual([['lead', 'complete']]);
  expect(message!.cards[0]!.output).toMatch(/^completed, .*\$|unknown/u);
  expect(message!.buttons.map(({ text }) => text)).toEqual(['Retry', 'Details', 'JSON']);
  expect(slack.session('C1', first.ts)).toMatchObject({ status: 'active', title: 'Hello', initiator: 'U1' });
  slack.say('U1', 'C1', 'And now?', { thread: first.ts });
  await answers(world, 'C1', first.ts, 2);
  expect(said('C1', first.ts)).toEqual(['Answer to Hello', 'Answer to And now?']);
  const { runs } = await time.finish(process.service.runs(person('U1'), { most: 10 }));
  expect(runs.map(({ conversation }) => conversation?.name)).toEqual(Array(2).fill(`T1/C1/${first.ts}`));
  expect(process.logged).toEqual([]);
  await process.stop();
});

test('a helper has a card of its own, and only the text of the agent that was asked is shown', async () => {
  const world = openSlackWorld(slackTeam());
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'help me');
  await answers(world, 'C1', ts, 1);
  const [message] = world.slack.thread('C1', ts).filter(({ isByApp }) => isByApp);
  expect(message!.text).toBe('I ask my helper.\n\nAnswer to help me after | Helped.');
  expect(message!.cards.map(({ title, status }) => [title, status])).toEqual([
    ['lead', 'complete'],
    ['helper', 'complete'],
  ]);
  await process.stop();
});

test('a direct message, a slash command and a shortcut begin threads too', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time, said } = world;
  const process = await world.start();
  const direct = slack.dm('U1', 'In private');
  await answers(world, direct.channel, direct.ts, 1);
  expect(said(direct.channel, direct.ts)).toEqual(['Answer to In private']);
  slack.command('U1', 'C1', '/ask', 'By *command* <!channel>');
  await time.until(() => slack.messages('C1').some(({ isByApp }) => isByApp));
  const opened = slack.messages('C1').find(({ isByApp }) => isByApp)!;
  expect(opened.shown).toContain('By *command*');
  await answers(world, 'C1', opened.ts, 1);
  expect(said('C1', opened.ts).at(-1)).toContain('Answer to By');
  const other = slack.say('U2', 'C1', 'Something said by others');
  slack.shortcut('U1', 'ask', other);
  await time.until(() => slack.messages('C1').filter(({ isByApp }) => isByApp).length === 2);
  const about = slack.messages('C1').findLast(({ isByApp }) => isByApp)!;
  await answers(world, 'C1', about.ts, 1);
  expect(await runCount(world, process)).toBe(3);
  expect(await runCount(world, process, 'U2')).toBe(0);
  await process.stop();
});

test('messages to nobody, of bots, edited ones, old ones and those of other workspaces begin nothing', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const process = await world.start();
  const { receive } = process.headend;
  const ts = `${Math.floor(time.now() / 1000)}.000001`;
  const base = { type: 'message', channel: 'C1', user: 'U1', text: '<@UAPP> hi', ts, channel_type: 'channel' };
  const events = [
    { ...base, bot_id: 'B2' },
    { ...base, subtype: 'message_changed' },
    { ...base, subtype: 'bot_message' },
    { ...base, edited: { user: 'U1', ts } },
    { ...base, user: 'UAPP' },
    { ...base, user_team: 'T2' },
    { ...base, text: 'no mention' },
    { ...base, ts: `${Math.floor(time.now() / 1000) - 90_000}.000001` },
    { ...base, user: '<!channel>' },
    { ...base, ts: '../../x' },
  ];
  for (const [nth, event] of events.entries())
    await time.finish(receive({ type: 'event', id: `E${nth}`, team: 'T1', event, retry: 0 }));
  await time.finish(receive({ type: 'event', id: 'E99', team: 'T2', event: base, retry: 0 }));
  await time.pass(60_000);
  expect(await runCount(world, process)).toBe(0);
  expect(slack.log.filter(({ method }) => method.startsWith('chat.'))).toEqual([]);
  await process.stop();
});

test('where nobody answers, each person is told once, privately', async () => {
  const world = openSlackWorld(slackTeam());
  const process = await world.start();
  for (const text of ['one', 'two']) world.slack.mention('U1', 'C7', text);
  await world.time.pass(10_000);
  expect(world.slack.ephemerals('U1').map(({ text }) => text)).toEqual([
    'I do not answer here. Ask whoever set me up where I do.',
  ]);
  expect(await runCount(world, process)).toBe(0);
  await process.stop();
});

test('a thread belongs to whoever began it: others are told so when they mention the app, and ignored otherwise', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time, said } = world;
  let process = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'Mine');
  await answers(world, 'C1', ts, 1);
  for (let round = 1; round <= 2; round++) {
    slack.say('U2', 'C1', 'I say something', { thread: ts });
    slack.mention('U2', 'C1', 'And you?', { thread: ts });
    await time.pass(20_000);
    expect(slack.ephemerals('U2')).toHaveLength(round);
    expect(slack.ephemerals('U2').at(-1)!.text).toContain('belongs to somebody else');
    expect(said('C1', ts)).toHaveLength(1);
    // A process that knows nothing about the thread decides the same.
    await process.stop();
    process = await world.start();
  }
  slack.say('U1', 'C1', 'Still mine', { thread: ts });
  await answers(world, 'C1', ts, 2);
  expect(await runCount(world, process, 'U2')).toBe(0);
  await process.stop();
});

test('whoever is the first to mention the app in a thread of people is answered there', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack } = world;
  const process = await world.start();
  const root = slack.say('U2', 'C1', 'People talk');
  slack.mention('U1', 'C1', 'What do you think?', { thread: root.ts });
  await answers(world, 'C1', root.ts, 1);
  slack.mention('U2', 'C1', 'Me too', { thread: root.ts });
  await world.time.pass(10_000);
  expect(slack.ephemerals('U2')).toHaveLength(1);
  await process.stop();
});

test('a message that is delivered again and again is answered once, also by another process', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time, said } = world;
  const first = await world.start();
  const message = slack.mention('U1', 'C1', 'Once');
  for (const sent of message.sent) slack.sendAgain(sent);
  await answers(world, 'C1', message.ts, 1);
  for (const sent of message.sent) slack.sendAgain(sent);
  await time.pass(20_000);
  await first.stop();
  const second = await world.start();
  for (const sent of message.sent) slack.sendAgain(sent);
  await time.pass(60_000);
  expect(said('C1', message.ts)).toEqual(['Answer to Once']);
  expect(await runCount(world, second)).toBe(1);
  await second.stop();
});

test('messages of a thread are answered one after the other, in their order', async () => {
  const world = openSlackWorld(slackTeam());
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'slow one');
  for (const text of ['two', 'three', 'four']) world.slack.say('U1', 'C1', text, { thread: ts });
  await answers(world, 'C1', ts, 4);
  expect(world.said('C1', ts)).toEqual([
    'One. Two. Three. Four of slow one.',
    'Answer to two',
    'Answer to three',
    'Answer to four',
  ]);
  await process.stop();
});

test('history comes along only where the config says so, as context', async () => {
  const prompts: string[] = [];
  const team = slackTeam();
  const world = openSlackWorld({
    ...team,
    config: { channels: { C1: { agent: 'lead', history: 2 }, C2: { agent: 'lead' } } },
  });
  const process = await world.start();
  for (const channel of ['C1', 'C2']) {
    for (const text of ['first', 'second', 'third']) world.slack.say('U2', channel, text);
    const { ts } = world.slack.mention('U1', channel, 'What did they say?');
    await answers(world, channel, ts, 1);
    const { runs } = await world.time.finish(process.service.runs(person('U1'), { most: 1 }));
    const found = await world.time.finish(process.service.find({ ...person('U1'), sees: 'contents' }, runs[0]!.run));
    prompts.push(JSON.stringify(await world.time.finish(found.transcript())));
  }
  expect(prompts[0]).toContain('U2: second');
  expect(prompts[0]).toContain('U2: third');
  expect(prompts[0]).not.toContain('U2: first');
  expect(prompts[1]).not.toContain('third');
  await process.stop();
});

test('a command is answered where it was given: in words if nobody answers there, in a direct message if we may not write there', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const process = await world.start();
  for (let nth = 0; nth < 2; nth++)
    expect(await time.finish(slack.command('U1', 'C7', '/ask', 'Hello').acknowledged)).toEqual({
      response_type: 'ephemeral',
      text: 'I do not answer here. Ask whoever set me up where I do.',
    });
  slack.fail({ channel: 'C1', always: { error: 'not_in_channel' } });
  slack.command('U1', 'C1', '/ask', 'Hello');
  await time.until(() => slack.messages('DU1').length > 0 || slack.messages('D1').length > 0);
  const [told] = [...slack.messages('DU1'), ...slack.messages('D1')];
  expect(told!.text).toBe('<#C1>: I cannot write in this channel. Invite me there, and ask again.');
  expect(await runCount(world, process)).toBe(0);
  await process.stop();
});

test('a thread that began without a mention stays with whoever began it, also for a process that knows nothing', async () => {
  const world = openSlackWorld({ ...slackTeam(), config: { channels: { C1: { agent: 'lead', when: 'all' } } } });
  const { slack, time } = world;
  let process = await world.start();
  const { ts } = slack.say('U1', 'C1', 'Nobody is mentioned');
  await answers(world, 'C1', ts, 1);
  await process.stop();
  process = await world.start();
  slack.mention('U2', 'C1', 'And me?', { thread: ts });
  await time.until(() => slack.ephemerals('U2').length > 0);
  expect(slack.ephemerals('U2')[0]!.text).toContain('belongs to somebody else');
  slack.say('U1', 'C1', 'Still mine', { thread: ts });
  await answers(world, 'C1', ts, 2);
  expect(await runCount(world, process, 'U2')).toBe(0);
  await process.stop();
});

// invariant: owner-proven
test('where Slack does not show the thread, nobody who might be somebody else is answered', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  let process = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'Mine');
  await answers(world, 'C1', ts, 1);
  await process.stop();
  process = await world.start();
  slack.fail({ method: 'conversations.replies', always: { error: 'missing_scope' } });
  slack.mention('U2', 'C1', 'And me?', { thread: ts });
  await time.until(() => slack.ephemerals('U2').length > 0);
  expect(slack.ephemerals('U2')[0]!.text).toContain('Try again in');
  expect(await runCount(world, process, 'U2')).toBe(0);
  await process.stop();
});

test('a reply that arrives before the message it follows is answered too', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const first = await world.start();
  // Slack sends it again after a minute.
  const { ts } = slack.mention('U1', 'C1', 'First');
  first.kill();
  const process = await world.start();
  slack.say('U1', 'C1', 'Second', { thread: ts });
  slack.say('U2', 'C1', 'I say something', { thread: ts });
  await answers(world, 'C1', ts, 2);
  await time.pass(600_000);
  expect(world.said('C1', ts).toSorted()).toEqual(['Answer to First', 'Answer to Second']);
  expect(await runCount(world, process, 'U2')).toBe(0);
  await process.stop();
});
