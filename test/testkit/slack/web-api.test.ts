// The fake Slack's web API: streams, messages, limits and faults, on a virtual clock.
import { expect, test } from 'vitest';
import { FakeSlack, fakeSlackApi, virtualClock } from '#testkit';
import type { FakeSlackOptions, SlackFault } from '#testkit';
import type { JsonObject } from '#base';

const open = (options: Partial<FakeSlackOptions> = {}) => {
  const clock = virtualClock(1_700_000_000_000);
  const slack = new FakeSlack({ clock, ...options });
  const asked = slack.mention('U1', 'C1', 'Hello');
  const place = { channel: 'C1', thread_ts: asked.ts, recipient_team_id: 'T1', recipient_user_id: 'U1' };
  const start = (chunks: JsonObject[] = [], more: JsonObject = {}) =>
    slack.call('chat.startStream', { ...place, chunks, ...more });
  return { clock, slack, asked, place, start, api: fakeSlackApi(slack) };
};

const text = (words: string): JsonObject => ({ type: 'markdown_text', text: words });
const card = (id: string, status: string, more: JsonObject = {}): JsonObject => ({
  type: 'task_update',
  id,
  title: id,
  status,
  ...more,
});

test('a stream shows its text and cards; details and output of a card are added to, title and status are replaced', () => {
  const { slack, asked, start } = open();
  const { ts } = start([text('One '), card('a', 'in_progress', { details: 'reads' })]);
  const place = { channel: 'C1', ts: ts! };
  expect(slack.call('chat.appendStream', { ...place, chunks: [text('two')] })).toMatchObject({ ok: true, ts });
  slack.call('chat.appendStream', {
    ...place,
    chunks: [card('a', 'complete', { title: 'A', details: ', writes', output: '1 s' })],
  });
  const buttons = [{ type: 'button', action_id: 'again', value: 'x', text: { type: 'plain_text', text: 'Again' } }];
  const blocks = [{ type: 'actions', elements: buttons }];
  expect(slack.thread('C1', asked.ts).at(-1)).toMatchObject({ isStreaming: true });
  slack.call('chat.stopStream', { ...place, blocks, session_status: 'active' });
  expect(slack.thread('C1', asked.ts).at(-1)).toMatchObject({
    text: 'One two',
    cards: [{ id: 'a', title: 'A', status: 'complete', details: 'reads, writes', output: '1 s' }],
    buttons: [{ text: 'Again', actionId: 'again', value: 'x' }],
    shown: 'One two\n(complete) A · reads, writes · 1 s\n[Again]',
    isStreaming: false,
    isByApp: true,
  });
  expect(slack.session('C1', asked.ts)).toMatchObject({ status: 'active' });
  expect(slack.call('chat.appendStream', { ...place, chunks: [text('x')] })).toEqual({
    ok: false,
    error: 'message_not_in_streaming_state',
  });
});

test('Slack closes a stream after five minutes, and refuses to update or delete one that is open', async () => {
  const { slack, clock, start } = open();
  const place = { channel: 'C1', ts: start([text('a')])['ts']! };
  expect(slack.call('chat.update', { ...place, text: 'b' })['error']).toBe('streaming_state_conflict');
  expect(slack.call('chat.delete', place)['error']).toBe('cant_delete_message');
  await clock.advance(299_999);
  expect(slack.call('chat.appendStream', { ...place, chunks: [text('b')] })['ok']).toBe(true);
  await clock.advance(1);
  expect(slack.call('chat.stopStream', place)['error']).toBe('message_not_in_streaming_state');
  expect(slack.call('chat.update', { ...place, markdown_text: '**c**' })['ok']).toBe(true);
  expect(slack.message({ channel: 'C1', ts: place.ts as string })).toMatchObject({
    text: '**c**',
    cards: [],
    edits: 1,
  });
});

test.each<[string, JsonObject, string]>([
  ['12,001 characters', { chunks: [text('x'.repeat(12_001))] }, 'msg_too_long'],
  ['text beside chunks', { markdown_text: 'a', chunks: [text('a')] }, 'cannot_provide_both_markdown_text_and_chunks'],
  ['text in a stream of chunks', { markdown_text: 'a' }, 'streaming_mode_mismatch'],
  ['nothing', {}, 'no_text'],
  ['an unknown chunk', { chunks: [{ type: 'song' }] }, 'invalid_chunks'],
  ['a card without status', { chunks: [{ type: 'task_update', id: 'a', title: 'a' }] }, 'invalid_chunks'],
  ['257 characters in a card', { chunks: [card('a', 'error', { output: 'x'.repeat(257) })] }, 'invalid_chunks'],
  [
    '51 blocks',
    { chunks: [{ type: 'blocks', blocks: Array.from({ length: 51 }, () => ({ type: 'divider' })) }] },
    'invalid_blocks',
  ],
])('an append with %s is refused, and nothing of it is shown', (_, args, error) => {
  const { slack, start } = open();
  const place = { channel: 'C1', ts: start([text('before')])['ts'] as string };
  expect(slack.call('chat.appendStream', { ...place, ...args })).toMatchObject({ ok: false, error });
  expect(slack.message(place)).toMatchObject({ text: 'before', cards: [], isStreaming: true });
});

const words = (length: number): JsonObject => ({ type: 'plain_text', text: 'x'.repeat(length) });
const button = (more: JsonObject): JsonObject => ({
  type: 'actions',
  elements: [{ type: 'button', text: words(75), value: 'v'.repeat(2000), action_id: 'a'.repeat(255), ...more }],
});

test.each<[string, JsonObject, string | undefined]>([
  ['a section of 3,000', { type: 'section', text: words(3000) }, undefined],
  ['a section of 3,001', { type: 'section', text: words(3001) }, '/blocks/0/text/text'],
  ['a header of 151', { type: 'header', text: words(151) }, '/blocks/0/text/text'],
  ['a button at all limits', button({}), undefined],
  ['a button text of 76', button({ text: words(76) }), '/blocks/0/elements/0/text/text'],
  ['a value of 2,001', button({ value: 'v'.repeat(2001) }), '/blocks/0/elements/0/value'],
  ['an action_id of 256', button({ action_id: 'a'.repeat(256) }), '/blocks/0/elements/0/action_id'],
  ['an unknown type', { type: 'song' }, '/blocks/0/type'],
])('%s: Slack says whether and where it is too long', (_, block, pointer) => {
  const { slack } = open();
  const body = slack.call('chat.postMessage', { channel: 'C1', text: 'x', blocks: [block] });
  if (pointer === undefined) return expect(body).toMatchObject({ ok: true });
  expect(body).toMatchObject({ ok: false, error: 'invalid_blocks' });
  expect(JSON.stringify(body)).toContain(`[json-pointer:${pointer}]`);
});

test('replies are paged in order, with metadata if asked for, and Markdown comes back as rich text', () => {
  const { slack, asked } = open();
  const metadata = { event_type: 'e', event_payload: { n: 1 } };
  for (let n = 1; n <= 5; n++)
    slack.call('chat.postMessage', {
      channel: 'C1',
      thread_ts: asked.ts,
      markdown_text: `${n} < **6**`,
      metadata,
      unfurl_links: false,
      unfurl_media: false,
    });
  const found: JsonObject[] = [];
  for (let cursor = ''; ;) {
    const page = slack.call('conversations.replies', {
      channel: 'C1',
      ts: asked.ts,
      limit: 2,
      cursor,
      include_all_metadata: true,
    });
    found.push(...(page['messages'] as unknown as JsonObject[]));
    cursor = (page['response_metadata'] as { next_cursor: string }).next_cursor;
    expect(page['has_more']).toBe(cursor !== '');
    if (cursor === '') break;
  }
  expect(found.map((one) => one['text'])).toEqual(['<@UAPP> Hello', ...[1, 2, 3, 4, 5].map((n) => `${n} &lt; **6**`)]);
  expect(found[0]).toMatchObject({ user: 'U1', thread_ts: asked.ts, reply_count: 5 });
  expect(found[1]).toMatchObject({ metadata, parent_user_id: 'U1', bot_id: 'B1', blocks: [{ type: 'rich_text' }] });
  expect(slack.thread('C1', asked.ts)[1]).toMatchObject({ unfurlLinks: false, unfurlMedia: false });
});

test('a dialog opens once with a trigger of the last three seconds', async () => {
  const { slack, clock } = open();
  const view = { type: 'modal', title: words(24), blocks: [] };
  const trigger = () => slack.command('U1', 'C1', '/ask', '').payload['trigger_id'] as string;
  const first = trigger();
  expect(slack.call('views.open', { trigger_id: first, view })['ok']).toBe(true);
  expect(slack.call('views.open', { trigger_id: first, view })['error']).toBe('invalid_trigger_id');
  const late = trigger();
  await clock.advance(3001);
  expect(slack.call('views.open', { trigger_id: late, view })['error']).toBe('expired_trigger_id');
  const [shown] = slack.views('U1');
  expect(slack.call('views.update', { view_id: shown!.id, hash: 'old', view })['error']).toBe('hash_conflict');
  expect(slack.call('views.update', { view_id: shown!.id, hash: shown!.hash, view })['ok']).toBe(true);
  expect(slack.call('views.open', { trigger_id: trigger(), view: { ...view, title: words(25) } })['error']).toBe(
    'invalid_arguments',
  );
});

test('a file is in its thread when its upload is complete', async () => {
  const { slack, asked, api } = open();
  const reply = await api.upload({ channel: 'C1', thread: asked.ts, name: 'run.json', text: '{"a":"ä"}' });
  expect(reply.kind).toBe('ok');
  expect(slack.files).toMatchObject([{ name: 'run.json', text: '{"a":"ä"}', thread: asked.ts, isComplete: true }]);
  expect(slack.thread('C1', asked.ts).at(-1)?.files).toEqual([slack.files[0]!.id]);
});

test.each<[SlackFault, object, number]>([
  [503, { kind: 'unknown' }, 0],
  ['network', { kind: 'unknown' }, 0],
  ['hang', { kind: 'unknown' }, 0],
  ['lost', { kind: 'unknown' }, 1],
  ['lost in silence', { kind: 'unknown' }, 1],
  [{ retryAfterMs: 30_000 }, { kind: 'limited', retryAfterMs: 30_000 }, 0],
  [{ error: 'fatal_error' }, { kind: 'refused', error: 'fatal_error' }, 0],
  [{ slowMs: 9000 }, { kind: 'ok' }, 1],
  [{ slowMs: 11_000 }, { kind: 'unknown' }, 1],
])('a call with the fault %j ends as it should, and happens or not', async (fault, kind, happened) => {
  const { slack, clock, asked, api } = open();
  slack.fail({ method: 'chat.postMessage', channel: 'C1', at: { 1: fault } });
  const reply = api.call('chat.postMessage', { channel: 'C1', thread_ts: asked.ts, text: 'x' });
  await clock.advance(10_000);
  expect(await reply).toMatchObject(kind);
  expect(slack.thread('C1', asked.ts)).toHaveLength(1 + happened);
  expect(slack.log.at(-1)).toMatchObject({ method: 'chat.postMessage', fault });
  expect(await api.call('chat.postMessage', { channel: 'C1', text: 'x' })).toMatchObject({ kind: 'ok' });
});

test('an outage ends by itself, hits only what its rule names, and a stream may be closed early', async () => {
  const { slack, clock, api, start } = open({ channels: ['C2'] });
  const now = clock.now();
  slack.fail({ channel: 'C1', fromMs: now, untilMs: now + 120_000, always: 'network' });
  const post = (channel: string) => api.call('chat.postMessage', { channel, text: 'x' });
  expect([(await post('C1')).kind, (await post('C2')).kind]).toEqual(['unknown', 'ok']);
  await clock.advance(120_000);
  expect((await post('C1')).kind).toBe('ok');
  const { ts } = start([text('a')]);
  const stop = slack.fail({ method: 'chat.append*', always: 'close stream' });
  const append = () => api.call('chat.appendStream', { channel: 'C1', ts: ts!, chunks: [text('b')] });
  expect(await append()).toEqual({ kind: 'refused', error: 'message_not_in_streaming_state' });
  stop();
  expect(await append()).toEqual({ kind: 'refused', error: 'message_not_in_streaming_state' });
});

test('the same seed gives the same faults', async () => {
  const run = async (seed: number) => {
    const { slack, api } = open({ faults: [{ seed, percent: 30, kinds: ['network', { retryAfterMs: 1000 }] }] });
    for (let n = 0; n < 50; n++) await api.call('chat.postMessage', { channel: 'C1', text: 'x' });
    return slack.log.map(({ fault }) => fault);
  };
  const [one, again, other] = [await run(1), await run(1), await run(2)];
  expect(again).toEqual(one);
  expect(other).not.toEqual(one);
  expect(one.filter((fault) => fault !== undefined).length).toBeGreaterThan(5);
});
