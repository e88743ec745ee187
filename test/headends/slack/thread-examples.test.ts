// What a thread looks like to a person, and which calls it takes.
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import type { JsonObject } from '#base';
import { FakeSlack, fakeSlackApi, virtualClock } from '#testkit';
import type { FakeSlackOptions } from '#testkit';
import { CallQueue, ThreadWriter, ThreadWriteRefusal } from '#testing/headends/slack';
import type { SlackApi, TaskCard } from '#testing/headends/slack';

const open = (options: Partial<FakeSlackOptions> = {}, charsMax?: number) => {
  const clock = virtualClock(1_700_000_000_000);
  const slack = new FakeSlack({ clock, ...options });
  const { ts: thread } = slack.mention('U1', 'C1', 'Hello');
  const place = { team: 'T1', channel: 'C1', thread, message: thread, user: 'U1' };
  const newWriter = (): ThreadWriter => {
    const queue = new CallQueue({ api: fakeSlackApi(slack), clock });
    return new ThreadWriter({
      queue,
      clock,
      place,
      marker: 'run1',
      bot: 'UAPP',
      ...(charsMax === undefined ? {} : { charsMax }),
    });
  };
  return {
    clock,
    slack,
    place,
    newWriter,
    writer: newWriter(),
    messages: () => slack.thread('C1', thread).filter(({ isByApp }) => isByApp),
    texts: () => slack.thread('C1', thread).flatMap((one) => (one.isByApp ? [one.text] : [])),
    methods: () => slack.log.map(({ method }) => method.replace(/^chat\./u, '')),
  };
};

const card = (id: string, more: Partial<TaskCard> = {}): TaskCard => ({
  id,
  title: id,
  status: 'in_progress',
  details: '',
  output: '',
  ...more,
});
const done = (id: string): TaskCard => card(id, { status: 'complete', output: '2 s, $0.01' });
const button = { type: 'button', action_id: 'again', value: 'x', text: { type: 'plain_text', text: 'Again' } };
const end = { blocks: [{ type: 'actions', elements: [button] }], status: 'active' } as const;

test('a short answer is one message with its cards, written in few calls', async () => {
  const { clock, writer, messages, methods, slack } = open();
  writer.show({ text: '', cards: [card('lead')] });
  await clock.advance(2_000);
  for (const text of ['The', 'The answer', 'The answer is 4'])
    writer.show({ text, cards: [card('lead'), card('child', { details: 'adds' })] });
  await clock.advance(2_000);
  void writer.finish({ text: 'The answer is 42.', cards: [done('lead'), done('child')] }, end);
  await clock.runAll();
  expect(methods()).toEqual(['startStream', 'appendStream', 'appendStream', 'stopStream']);
  expect(messages().map(({ shown }) => shown)).toEqual([
    'The answer is 42.\n(complete) lead · 2 s, $0.01\n(complete) child · adds · 2 s, $0.01\n[Again]',
  ]);
  expect(slack.log[0]!.args).toMatchObject({
    recipient_user_id: 'U1',
    recipient_team_id: 'T1',
    task_display_mode: 'timeline',
    unfurl_links: false,
    unfurl_media: false,
  });
  expect(slack.log.slice(1).map(({ args }) => args['chunks'])).toMatchObject([
    [{ type: 'task_update', id: 'child' }],
    [{ type: 'markdown_text', text: 'The answer is' }],
    [{ status: 'complete' }, { status: 'complete' }, { text: ' 42.' }],
  ]);
});

// invariant: content-marker
test('every message carries the marker of its run, and no text unfurls', async () => {
  const { clock, writer, slack } = open({}, 120);
  writer.show({ text: 'word '.repeat(60), cards: [card('lead')] });
  await clock.advance(20_000);
  void writer.finish({ text: 'word '.repeat(90), cards: [done('lead')] }, end);
  await clock.runAll();
  const made = slack.log.filter(({ method }) => /startStream|postMessage/u.test(method));
  expect(made.length).toBeGreaterThan(4);
  for (const { args } of made) {
    expect(args).toMatchObject({ unfurl_links: false, unfurl_media: false });
    const [first] = (args['chunks'] ?? (args['blocks'] as JsonObject[]).slice(1)) as JsonObject[];
    expect(first!['id'] ?? first!['block_id']).toMatch(/^run1\./u);
  }
});

test('a code block that continues in the next message is closed and opened again', async () => {
  const { clock, writer, texts } = open({}, 120);
  const lines = Array.from({ length: 12 }, (_, index) => `  line${index}();`);
  void writer.finish(
    { text: `Look:\n\n\`\`\`js\n${lines.join('\n')}\n\`\`\`\n\nThat is it.`, cards: [done('lead')] },
    end,
  );
  await clock.runAll();
  expect(texts()).toEqual([
    `Look:\n\n\`\`\`js\n${lines.slice(0, 6).join('\n')}\n\`\`\``,
    `\`\`\`js\n${lines.slice(6).join('\n')}\n\`\`\``,
    'That is it.',
  ]);
});

test('a word that exceeds a message is cut between characters', async () => {
  const { clock, writer, texts } = open({}, 120);
  const family = '👨‍👩‍👧';
  void writer.finish({ text: `${family.repeat(30)} ${'<'.repeat(50)}`, cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts().join('')).toBe(family.repeat(30) + '&lt;'.repeat(50));
  for (const text of texts()) expect(text).toMatch(/^(?:(?:👨‍👩‍👧)+|(?:&lt;)+)$/u);
});

test('Windows line ends arrive as line ends, also when a piece ends between them', async () => {
  const { clock, writer, texts } = open();
  for (const text of ['a\r', 'a\r\n', 'a\r\nb\r', 'a\r\nb\r\nc d']) {
    writer.show({ text, cards: [card('lead')] });
    await clock.advance(2_000);
  }
  void writer.finish({ text: 'a\r\nb\r\nc d', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts()).toEqual(['a\nb\nc d']);
});

test('text after a pause begins a new message, so that a question can stand between them', async () => {
  const { clock, writer, slack, texts, messages } = open();
  writer.show({ text: 'May I delete it', cards: [card('lead')] });
  let isPaused = false;
  void writer.pause().then(() => (isPaused = true));
  await clock.runAll();
  expect([isPaused, messages()[0]!.isStreaming]).toEqual([true, false]);
  slack.call('chat.postMessage', { channel: 'C1', thread_ts: messages()[0]!.thread!, text: 'Allow?' });
  void writer.finish({ text: 'May I delete it\n\nDone.', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts()).toEqual(['May I delete it', 'Allow?', 'Done.']);
  expect(messages()[0]!.shown).toBe('May I delete it\n✓ *lead* 2 s, $0.01');
});

test('a stream that Slack closed after five minutes continues in a new message', async () => {
  const { clock, writer, texts } = open();
  writer.show({ text: 'One two ', cards: [card('lead')] });
  await clock.advance(400_000);
  void writer.finish({ text: 'One two three.', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts()).toEqual(['One two', 'three.']);
});

test('where Slack does not stream, the answer is posted at the end', async () => {
  const { clock, writer, texts, methods } = open({
    faults: [{ method: 'chat.startStream', always: { error: 'channel_type_not_supported' } }],
  });
  writer.show({ text: 'One ', cards: [card('lead')] });
  await clock.advance(10_000);
  void writer.finish({ text: 'One two.', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts()).toEqual(['One two.']);
  expect(methods()).toEqual(['startStream', 'postMessage', 'agents.sessions.setStatus']);
});

test('where Slack lets no message be changed, what is uncertain is written again', async () => {
  const { clock, writer, texts } = open({
    faults: [
      { method: 'chat.update', always: { error: 'edit_window_closed' } },
      { method: 'chat.appendStream', at: { 1: 'lost' } },
    ],
  });
  writer.show({ text: 'One two ', cards: [card('lead')] });
  await clock.advance(2_000);
  writer.show({ text: 'One two three four ', cards: [card('lead')] });
  await clock.advance(2_000);
  void writer.finish({ text: 'One two three four five.', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts()).toEqual(['One two three four five.']);
});

test('a thread that cannot be written to is told, with the code of Slack', async () => {
  const { clock, writer } = open({ faults: [{ method: 'chat.*', always: { error: 'is_archived' } }] });
  const finished = writer.finish({ text: 'One.', cards: [done('lead')] }, end);
  const told = finished.catch((error: unknown) => error);
  await clock.runAll();
  expect(await told).toBeInstanceOf(ThreadWriteRefusal);
  expect(await told).toMatchObject({ code: 'is_archived' });
});

test('Slack may be down for half an hour', async () => {
  const { clock, writer, texts, slack } = open();
  writer.show({ text: 'One ', cards: [card('lead')] });
  await clock.advance(2_000);
  slack.fail({ always: 503, fromMs: clock.now(), untilMs: clock.now() + 1_800_000 });
  for (let words = 1; words <= 600; words++) {
    writer.show({ text: `One ${'two '.repeat(words)}`, cards: [card('lead')] });
    await clock.advance(1_000);
  }
  void writer.finish({ text: `One ${'two '.repeat(600)}three.`, cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts().join(' ')).toBe(`One ${'two '.repeat(600)}three.`);
  expect(slack.log.length).toBeLessThan(120);
});

test('forty agents are shown in several messages, each as it ended', async () => {
  const { clock, writer, messages } = open();
  const ids = Array.from({ length: 40 }, (_, index) => `agent${index}`);
  for (let count = 1; count <= 40; count++) {
    writer.show({ text: '', cards: ids.slice(0, count).map((id) => card(id)) });
    await clock.advance(1_500);
  }
  void writer.finish({ text: 'Done.', cards: ids.map(done) }, end);
  await clock.runAll();
  const shown = messages().map((message) => message.shown);
  for (const id of ids)
    expect(
      shown.some((text) => new RegExp(`\\b${id}\\b`, 'u').test(text)),
      id,
    ).toBe(true);
  expect(shown.join('\n')).not.toMatch(/in_progress|… \*/u);
  expect(messages().every(({ cards }) => cards.length <= 20)).toBe(true);
});

test('35,000 characters are four messages within the limits of Slack', async () => {
  const { clock, writer, texts } = open({ limits: { textMax: 12_000 } });
  const text = Array.from({ length: 700 }, (_, index) => `Paragraph ${index} has a few more words than this.`).join(
    '\n\n',
  );
  writer.show({ text: text.slice(0, 20_000), cards: [card('lead')] });
  await clock.advance(10_000);
  void writer.finish({ text, cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts().length).toBe(4);
  expect(texts().join('\n\n')).toBe(text);
});

test('a finished turn that another process could not finish is brought to its text without a new message', async () => {
  const { clock, writer, newWriter, texts, methods } = open();
  writer.show({ text: 'One two three ', cards: [card('lead')] });
  await clock.advance(2_000);
  writer.close();
  const next = newWriter();
  next.recover();
  void next.finish({ text: 'One two three four.', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts()).toEqual(['One two three four.']);
  expect(methods()).toEqual([
    'startStream',
    'conversations.replies',
    'stopStream',
    'conversations.replies',
    'update',
    'agents.sessions.setStatus',
  ]);
});

test('messages of a text that was withdrawn are deleted', async () => {
  const { clock, writer, texts } = open({}, 120);
  writer.show({ text: 'first attempt '.repeat(20), cards: [card('lead')] });
  await clock.advance(10_000);
  expect(texts().length).toBeGreaterThan(2);
  writer.show({ text: 'Second', cards: [card('lead')] });
  await clock.advance(10_000);
  void writer.finish({ text: 'Second attempt.', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts()).toEqual(['Second attempt.']);
});

test('a word that was not complete at a pause is whole in the next message', async () => {
  const { clock, writer, texts } = open();
  writer.show({ text: 'Shall I del', cards: [card('lead')] });
  void writer.pause();
  await clock.runAll();
  expect(texts()).toEqual(['Shall I del']);
  void writer.finish({ text: 'Shall I delete it?', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(texts().join(' ')).toBe('Shall I delete it?');
});

test('a message of another app that carries the marker of a run is left alone', async () => {
  const { clock, slack, place, messages } = open();
  const api = fakeSlackApi(slack);
  const foreign = {
    ts: '9999999999.000001',
    user: 'U7',
    text: '',
    blocks: [{ type: 'context', block_id: 'run1.x.0' }],
  };
  const call: SlackApi['call'] = async (method, args) => {
    const reply = await api.call(method, args);
    if (method !== 'conversations.replies' || reply.kind !== 'ok') return reply;
    return { kind: 'ok', body: { ...reply.body, messages: [...(reply.body['messages'] as JsonObject[]), foreign] } };
  };
  const queue = new CallQueue({ api: { ...api, call }, clock });
  const writer = new ThreadWriter({ queue, clock, place, marker: 'run1', bot: 'UAPP' });
  writer.recover();
  void writer.finish({ text: 'The answer.', cards: [done('lead')] }, end);
  await clock.runAll();
  expect(slack.log.filter(({ args }) => args['ts'] === foreign.ts)).toEqual([]);
  expect(messages().map(({ text }) => text)).toEqual(['The answer.']);
});

test('a writer that has ended, or was closed, leaves nothing at the signal of the server', async () => {
  const { clock, slack, place } = open();
  const { signal } = new AbortController();
  const newWriter = (): ThreadWriter => {
    const queue = new CallQueue({ api: fakeSlackApi(slack), clock });
    return new ThreadWriter({ queue, clock, place, marker: 'run1', bot: 'UAPP', stopping: signal });
  };
  const writer = newWriter();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  void writer.finish({ text: 'The answer.', cards: [done('lead')] }, end);
  await clock.runAll();
  newWriter().close();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
