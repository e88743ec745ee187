// What people of the fake Slack do, and how the app is told about it.
import { expect, test } from 'vitest';
import { connectReceiver, FakeSlack, virtualClock } from '#testkit';
import type { FakeSlackOptions, SlackEnvelope } from '#testkit';
import type { JsonObject } from '#base';
import type { SlackDelivery } from '#contracts';

const open = (options: Partial<FakeSlackOptions> = {}) => {
  const clock = virtualClock(1_700_000_000_000);
  return { clock, slack: new FakeSlack({ clock, ...options }) };
};

/** Acknowledges everything, and keeps it. */
const consume = (slack: FakeSlack, answer: (envelope: SlackEnvelope) => JsonObject | undefined = () => undefined) => {
  const got: SlackEnvelope[] = [];
  const connection = slack.connect(async (envelope) => {
    got.push(envelope);
    return answer(envelope);
  });
  return { got, connection };
};

const eventsOf = (got: readonly SlackEnvelope[]): JsonObject[] =>
  got.map(({ payload }) => payload['event'] as JsonObject);

test('a mention gives an app_mention and a message with the same ts, a reply names the writer of the first message', async () => {
  const { slack } = open();
  const { got } = consume(slack);
  const asked = slack.mention('U1', 'C1', 'Hello');
  slack.say('U2', 'C1', 'Me too', { thread: asked.ts });
  await Promise.all(slack.sent.map(({ acknowledged }) => acknowledged));
  expect(eventsOf(got)).toMatchObject([
    { type: 'app_mention', user: 'U1', channel: 'C1', ts: asked.ts, text: '<@UAPP> Hello', event_ts: asked.ts },
    { type: 'message', channel_type: 'channel', ts: asked.ts },
    { type: 'message', user: 'U2', thread_ts: asked.ts, parent_user_id: 'U1', text: 'Me too' },
  ]);
  expect(got[0]).toMatchObject({
    type: 'events_api',
    payload: { type: 'event_callback', team_id: 'T1', api_app_id: 'A1' },
  });
  expect(new Set(got.map(({ payload }) => payload['event_id'])).size).toBe(3);
});

test('direct messages are of the type im, and only subscribed events are sent', async () => {
  const { slack } = open({ events: ['message.im'] });
  const { got } = consume(slack);
  slack.mention('U1', 'C1', 'Hello');
  await slack.dm('U1', 'Hi').sent[0]?.acknowledged;
  expect(eventsOf(got)).toMatchObject([{ type: 'message', channel: 'D1', channel_type: 'im', text: 'Hi' }]);
});

test('an event that is not acknowledged in three seconds comes again at once, after one and after five minutes', async () => {
  const { slack, clock } = open();
  const at: number[] = [];
  slack.connect(async () => {
    at.push(clock.now());
    return new Promise<never>(() => undefined);
  });
  const [sent] = slack.dm('U1', 'Hi').sent;
  await clock.runAll();
  expect(at.map((ms) => ms - at[0]!)).toEqual([0, 3000, 66_000, 369_000]);
  expect(sent?.attempts.map(({ envelope }) => [envelope.retryAttempt, envelope.retryReason])).toEqual([
    [0, undefined],
    [1, 'timeout'],
    [2, 'timeout'],
    [3, 'timeout'],
  ]);
  expect(new Set(sent?.attempts.map(({ envelope }) => envelope.payload['event_id'])).size).toBe(1);
  expect(await sent?.acknowledged).toBe(false);
});

test('what a connection had not acknowledged when it ended goes to another one; a command is not sent again', async () => {
  const { slack, clock } = open();
  const first = slack.connect(() => new Promise<never>(() => undefined));
  const [sent] = slack.dm('U1', 'Hi').sent;
  const command = slack.command('U1', 'C1', '/ask', 'now');
  const { got } = consume(slack);
  first.end();
  await clock.advance(0);
  expect(await sent?.acknowledged).toBeUndefined();
  expect(got).toMatchObject([{ type: 'events_api', retryAttempt: 1, retryReason: 'connection_failed' }]);
  expect(await command.acknowledged).toBe(false);
});

test('connections take turns, and a delivery can come twice though it was acknowledged', async () => {
  const { slack } = open();
  const [one, other] = [consume(slack), consume(slack)];
  for (let n = 0; n < 4; n++) slack.dm('U1', 'Hi');
  slack.sendAgain(slack.sent[0]!);
  expect([one.got.length, other.got.length]).toEqual([3, 2]);
  expect(one.got.at(-1)).toMatchObject({ retryAttempt: 1, payload: one.got[0]!.payload });
});

test('a command has a trigger and a response_url; what is acknowledged or sent there is seen by that person', async () => {
  const { slack } = open();
  consume(slack, () => ({ text: 'On it.' }));
  const { payload, acknowledged } = slack.command('U1', 'C1', '/ask', 'the time');
  expect(payload).toMatchObject({ command: '/ask', text: 'the time', user_id: 'U1', channel_id: 'C1', team_id: 'T1' });
  await acknowledged;
  slack.respond(payload['response_url'] as string, { text: 'Noon.' });
  slack.respond(payload['response_url'] as string, { text: 'All: noon.', response_type: 'in_channel' });
  expect(slack.ephemerals('U1').map(({ text }) => text)).toEqual(['On it.', 'Noon.']);
  expect(slack.messages('C1').map(({ text }) => text)).toEqual(['All: noon.']);
});

const view = (submit: string): JsonObject => ({
  type: 'modal',
  callback_id: 'edit',
  private_metadata: 'secret',
  title: { type: 'plain_text', text: 'Edit' },
  submit: { type: 'plain_text', text: submit },
  blocks: [
    {
      type: 'input',
      block_id: 'goal',
      label: { type: 'plain_text', text: 'Goal' },
      element: { type: 'plain_text_input', action_id: 'text', initial_value: 'old' },
    },
  ],
});

test('a button is pressed by those who see it; a dialog stays open with errors and closes without', async () => {
  const { slack } = open();
  const { ts } = slack.say('U1', 'C1', 'Hi');
  slack.say('U2', 'C1', 'Hi');
  const elements = [{ type: 'button', action_id: 'edit', value: 'v1', text: { type: 'plain_text', text: 'Edit' } }];
  const body = { channel: 'C1', user: 'U1', text: 'x', blocks: [{ type: 'actions', block_id: 'b', elements }] };
  const hidden = { channel: 'C1', ts: slack.call('chat.postEphemeral', body)['message_ts'] as string };
  expect(() => slack.press('U2', hidden, 'edit')).toThrow('no message');
  expect(() => slack.press('U1', { channel: 'C1', ts }, 'edit')).toThrow('no button');

  const { connection } = consume(slack);
  const pressed = slack.press('U1', hidden, 'Edit').payload;
  expect(pressed).toMatchObject({
    type: 'block_actions',
    team: { id: 'T1' },
    user: { id: 'U1' },
    api_app_id: 'A1',
    container: { type: 'message', is_ephemeral: true },
    actions: [{ type: 'button', action_id: 'edit', block_id: 'b', value: 'v1' }],
  });
  expect(slack.press('U1', hidden, 'edit', { value: 'forged' }).payload['actions']).toMatchObject([
    { value: 'forged' },
  ]);
  slack.call('views.open', { trigger_id: pressed['trigger_id']!, view: view('Go') });
  const [opened] = slack.views('U1');
  expect(() => slack.submit('U2', opened!.id)).toThrow('no open view');

  connection.end();
  const answers = [{ response_action: 'errors', errors: { goal: 'Too short.' } }, undefined];
  consume(slack, () => answers.shift());
  const refused = slack.submit('U1', opened!.id, { text: 'a' });
  expect(refused.payload).toMatchObject({
    type: 'view_submission',
    view: {
      callback_id: 'edit',
      private_metadata: 'secret',
      state: { values: { goal: { text: { type: 'plain_text_input', value: 'a' } } } },
    },
  });
  await refused.acknowledged;
  expect(slack.views('U1')).toMatchObject([{ errors: { goal: 'Too short.' } }]);
  await slack.submit('U1', opened!.id, { goal: 'better' }).acknowledged;
  expect(slack.views('U1')).toEqual([]);
});

test('the stop button exists while the session is processing; pressing it closes the streams of the thread', async () => {
  const { slack } = open();
  const { got } = consume(slack);
  const { ts: thread } = slack.dm('U1', 'Hi');
  expect(() => slack.stop('U1', 'D1', thread)).toThrow('no stop button');
  slack.call('agents.sessions.setStatus', { channel_id: 'D1', thread_ts: thread, status: 'processing', title: 'Hi' });
  const { ts } = slack.call('chat.startStream', { channel: 'D1', thread_ts: thread, markdown_text: 'a' });
  await slack.stop('U1', 'D1', thread).acknowledged;
  expect(eventsOf(got).at(-1)).toMatchObject({
    type: 'agent_session_stopped',
    channel: 'D1',
    user: 'U1',
    thread_ts: thread,
    streaming_message_ts: [ts],
  });
  expect(slack.call('chat.appendStream', { channel: 'D1', ts: ts!, markdown_text: 'b' })['error']).toBe(
    'message_not_in_streaming_state',
  );
  expect(slack.session('D1', thread)).toMatchObject({ status: 'processing', title: 'Hi' });
});

test('a receiver gets deliveries by kind; one that rejects gets the event again with the same id', async () => {
  const { slack, clock } = open();
  const got: SlackDelivery[] = [];
  connectReceiver(slack, async (delivery) => {
    got.push(delivery);
    if (got.length === 1) throw new Error('not stored');
    return undefined;
  });
  const said = slack.dm('U1', 'Hi');
  await clock.advance(0);
  slack.command('U1', 'C1', '/ask', '');
  slack.shortcut('U1', 'ask-about', said);
  slack.shortcut('U1', 'ask');
  expect(got.map(({ type }) => type)).toEqual(['event', 'event', 'command', 'shortcut', 'shortcut']);
  expect(got.slice(0, 2)).toMatchObject([{ retry: 0 }, { retry: 1, id: got[0]!.id }]);
  expect(got[3]).toMatchObject({ payload: { type: 'message_action', message: { text: 'Hi' }, message_ts: said.ts } });
});
