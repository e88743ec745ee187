// Providers that answer a request for a stream with plain JSON, and those that say until when to wait with a date.
import { expect, onTestFinished, test } from 'vitest';
import { connectModel } from '#adapters/models';
import { defineAgent, openCloister } from 'cloister';
import { modelFailure } from '../../../src/core/session/model-failure.ts';
import { openPeer, providers, resolved } from './peer.ts';
import type { Provider } from './peer.ts';

const all = Object.entries(providers as Record<string, Provider>);

/** Like a gateway that does not stream: asks the provider for the whole answer. */
const withoutStream: typeof fetch = async (to, init) => {
  const url = (to as string).replace(':streamGenerateContent', ':generateContent').replace(/[?&]alt=sse/u, '');
  const {
    stream: _stream,
    stream_options: _options,
    ...body
  } = JSON.parse(init!.body as string) as Record<string, unknown>;
  return fetch(url, { ...init, body: JSON.stringify(body) });
};

const ask = async (provider: Provider, send: typeof fetch) => {
  const peer = await openPeer(provider, [
    { calls: [{ id: 'call_1', name: 'look_up', args: { word: 'ibis' } }] },
    { text: 'A wading bird.' },
  ]);
  onTestFinished(() => peer.close());
  let sent = 0;
  const counting: typeof fetch = (to, init) => {
    sent++;
    return send(to, init);
  };
  const language = connectModel(resolved(provider, peer.host), provider.modelId, { fetch: counting });
  const asked: unknown[] = [];
  const lookUp = {
    name: 'look_up',
    description: 'Looks up a word.',
    inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    execute: async (args: unknown) => {
      asked.push(args);
      return 'Threskiornithidae';
    },
  };
  const agent = defineAgent({
    name: 'lexicon',
    description: 'Explains words.',
    prompt: 'You explain words.',
    models: [language],
    tools: [lookUp],
  });
  await using cloister = await openCloister({ store: 'memory', agents: [agent] });
  const { run, outcome } = cloister.run('lexicon', 'What is an ibis?');
  const { status, output, failure } = await outcome;
  expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  return { status, output, failure, asked, sent };
};

test.each(all)(
  '%s: plain JSON where a stream was asked for is read, and nothing is sent again',
  async (_, provider) => {
    expect(await ask(provider, withoutStream)).toEqual({
      status: 'completed',
      output: 'A wading bird.',
      failure: null,
      asked: [{ word: 'ibis' }],
      sent: 2,
    });
  },
);

test('plain JSON that is no reply at all is named as that, and not tried again', async () => {
  const json = { headers: { 'content-type': 'application/json; charset=utf-8' } };
  const send: typeof fetch = async () => new Response('{"hello":"world"}', json);
  const { status, failure, sent } = await ask(providers['OpenAI-compatible'], send);
  expect([status, failure?.code, sent]).toEqual(['failed', 'model_request', 1]);
});

test.each([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 30_000],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT', date: 'Wed, 21 Oct 2026 07:28:30 GMT' }, 0],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }, undefined],
  [{ 'retry-after': 'soon', date: 'Wed, 21 Oct 2026 07:28:30 GMT' }, undefined],
  [{}, undefined],
])('a busy provider that says %o is asked again after %s ms', (responseHeaders, ms) => {
  const { failure } = modelFailure({ message: 'Busy.', statusCode: 429, responseHeaders }, 'sent');
  expect(failure.retryAfterMs).toBe(ms);
});
