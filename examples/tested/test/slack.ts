import assert from 'node:assert';
import { test } from 'node:test';
import { FakeSlack, fakeSlackApi, virtualClock } from 'cloister/testkit';

/** A small app: it answers every mention in its thread, later if Slack says so. */
const startApp = (slack: FakeSlack): void => {
  const api = fakeSlackApi(slack);
  const answer = async (channel: string, thread: string): Promise<void> => {
    const args = { channel, thread_ts: thread, markdown_text: 'Your money is on its way.' };
    const reply = await api.call('chat.postMessage', args);
    if (reply.kind !== 'limited') return;
    await new Promise<void>((resolve) => void slack.clock.timer(reply.retryAfterMs, resolve));
    await api.call('chat.postMessage', args);
  };
  slack.connect(async ({ payload }) => {
    const { type, channel, ts } = payload['event'] as { type: string; channel: string; ts: string };
    if (type === 'app_mention') void answer(channel, ts);
    return undefined;
  });
};

await test('a mention is answered in its thread', async () => {
  const clock = virtualClock();
  const slack = new FakeSlack({ clock });
  startApp(slack);
  const asked = slack.mention('U1', 'C1', 'My order A-17, please.');
  await clock.advance(1000);
  const texts = slack.thread('C1', asked.ts).map(({ text }) => text);
  assert.deepStrictEqual(texts, ['<@UAPP> My order A-17, please.', 'Your money is on its way.']);
});

await test('while Slack limits one channel, the others get their answers', async () => {
  const clock = virtualClock();
  const slack = new FakeSlack({ clock });
  slack.fail({ method: 'chat.*', channel: 'C1', untilMs: 60_000, always: { retryAfterMs: 60_000 } });
  startApp(slack);
  const [limited, other] = [slack.mention('U1', 'C1', 'A-17?'), slack.mention('U2', 'C2', 'A-18?')];
  await clock.advance(1000);
  const answered = (): boolean[] => [limited, other].map(({ channel, ts }) => slack.thread(channel, ts).length === 2);
  assert.deepStrictEqual(answered(), [false, true]);
  await clock.advance(60_000);
  assert.deepStrictEqual(answered(), [true, true]);
});
