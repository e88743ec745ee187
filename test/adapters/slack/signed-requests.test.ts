// The route for Slack's signed requests, by itself: replays, and deliveries that cannot be stored.
import { expect, test } from 'vitest';
import { signedRoute } from '#adapters/slack';
import type { Json, JsonObject } from '#base';
import type { SlackDelivery } from '#contracts';
import { signSlackRequest } from '#testkit';

const command = 'command=%2Fask&text=what&team_id=T1&user_id=U1&channel_id=C1&trigger_id=17.1';

const openRoute = (receive: (delivery: SlackDelivery) => Promise<JsonObject | undefined>) => {
  let now = 1_700_000_000_000;
  const route = signedRoute({
    signingSecret: 'shh',
    team: 'T1',
    now: () => now,
    receive,
    formatError: ({ code }) => ({ code }),
  });
  const post = async (body: string, { atMs = now, json }: { atMs?: number; json?: Json } = {}) =>
    route.answer({
      id: 'req_1',
      params: {},
      query: new URLSearchParams(),
      headers: new Headers(signSlackRequest('shh', body, atMs)),
      body: json,
      bytes: Buffer.from(body),
      signal: new AbortController().signal,
    });
  return { post, pass: (ms: number) => void (now += ms) };
};

// invariant: slack-replay-answered-once
test('a request that is replayed as long as it is valid, also at the same time, is delivered once and answered alike', async () => {
  const got: SlackDelivery[] = [];
  const { post, pass } = openRoute(async (delivery) => {
    got.push(delivery);
    return { text: `Answer ${got.length}` };
  });
  const atMs = 1_700_000_000_000;
  const answer = { status: 200, body: { text: 'Answer 1' } };
  expect(await Promise.all([post(command, { atMs }), post(command, { atMs })])).toEqual([answer, answer]);
  for (let time = 0; time < 5; time++) {
    pass(60_000);
    expect(await post(command, { atMs })).toEqual(answer);
  }
  pass(1_000);
  await expect(post(command, { atMs })).rejects.toMatchObject({ code: 'signature_refused' });
  expect(got).toMatchObject([{ type: 'command', id: '17.1', payload: { text: 'what', user_id: 'U1' } }]);
});

test('a delivery that could not be stored is refused, and taken when it comes again', async () => {
  let isFull = true;
  const { post } = openRoute(async () => {
    if (isFull) throw new Error('The disk is full.');
    return undefined;
  });
  await expect(post(command)).rejects.toMatchObject({ code: 'server_busy' });
  isFull = false;
  expect(await post(command)).toEqual({ status: 200, body: undefined });
});

test('an address is verified only for whoever knows the secret', async () => {
  const { post, pass } = openRoute(async () => undefined);
  const json = { type: 'url_verification', challenge: 'abc' };
  expect(await post(JSON.stringify(json), { json })).toEqual({ status: 200, body: { challenge: 'abc' } });
  pass(301_000);
  await expect(post('{}', { atMs: 1_700_000_000_000, json })).rejects.toMatchObject({ code: 'signature_refused' });
});
