// What failed although there is an answer: in every protocol, read by the official clients, and only for tokens that see it.
import Anthropic from '@anthropic-ai/sdk';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { defineAgent, hashToken } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { Cause, Sees } from '#contracts';
import { serveAgents } from './http/driver.ts';

const detail = 'ENOENT: no such file: /srv/data';

/** The lead answers although the tool of its sub-agent failed. */
const agents = () => {
  const reply = ({ agent, toolResults }: RequestView): ScriptedReply => {
    if (toolResults.length > 0) return { text: agent === 'lead' ? 'There is nothing.' : 'Nothing found.' };
    return { calls: [agent === 'lead' ? { tool: 'clerk', args: { prompt: 'Look.' } } : { tool: 'peek' }] };
  };
  const models = [rehearse([{ reply }])];
  const peek = {
    name: 'peek',
    inputSchema: { type: 'object' },
    execute: (): string => {
      throw new Error(detail);
    },
  };
  const common = { description: 'Looks.', prompt: 'Look.', models };
  const clerk = defineAgent({ ...common, name: 'clerk', tools: [peek] });
  return [defineAgent({ ...common, name: 'lead', agents: [clerk] })];
};

const levels: readonly Sees[] = ['answers', 'causes', 'contents'];

const serve = () =>
  serveAgents({ agents: agents(), tokens: levels.map((name) => ({ name, sees: name, sha256: hashToken(name) })) });

type Told = { readonly text: string | null | undefined; readonly causes: readonly Cause[] | undefined };

/** The additional field of an answer. */
const causesOf = (value: object): Told['causes'] =>
  (value as { readonly cloister?: { readonly causes?: readonly Cause[] } }).cloister?.causes;

const messages = [{ role: 'user' as const, content: 'What is there?' }];

const openai = ({ url }: { url: string }, token: string) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });

const anthropic = ({ url }: { url: string }, token: string) =>
  new Anthropic({ baseURL: url, apiKey: token, authToken: null, maxRetries: 0 });

const protocols: Readonly<Record<string, (place: { url: string }, token: string) => Promise<Told>>> = {
  rest: async ({ url }, token) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ input: 'What is there?' });
    const reply = await fetch(`${url}/v1/lead`, { method: 'POST', headers, body });
    const { output, causes } = (await reply.json()) as { output: string; causes?: readonly Cause[] };
    return { text: output, causes };
  },
  chat: async (place, token) => {
    const reply = await openai(place, token).chat.completions.create({ model: 'lead', messages });
    return { text: reply.choices[0]!.message.content, causes: causesOf(reply) };
  },
  'chat, streamed': async (place, token) => {
    const stream = openai(place, token).chat.completions.stream({ model: 'lead', messages });
    const reply = await stream.finalChatCompletion();
    return { text: reply.choices[0]!.message.content, causes: causesOf(reply) };
  },
  responses: async (place, token) => {
    const reply = await openai(place, token).responses.create({ model: 'lead', input: 'What is there?' });
    return { text: reply.output_text, causes: causesOf(reply) };
  },
  'responses, streamed': async (place, token) => {
    const stream = openai(place, token).responses.stream({ model: 'lead', input: 'What is there?' });
    const reply = await stream.finalResponse();
    return { text: reply.output_text, causes: causesOf(reply) };
  },
  'responses, read again': async (place, token) => {
    const client = openai(place, token);
    const { id } = await client.responses.create({ model: 'lead', input: 'What is there?' });
    const reply = await client.responses.retrieve(id);
    return { text: reply.output_text, causes: causesOf(reply) };
  },
  messages: async (place, token) => {
    const reply = await anthropic(place, token).messages.create({ model: 'lead', max_tokens: 99, messages });
    const [block] = reply.content;
    return { text: block?.type === 'text' ? block.text : null, causes: causesOf(reply) };
  },
  'messages, streamed': async (place, token) => {
    const stream = anthropic(place, token).messages.stream({ model: 'lead', max_tokens: 99, messages });
    let causes: Told['causes'];
    stream.on('streamEvent', (event) => {
      if (event.type === 'message_delta') causes = causesOf(event);
    });
    return { text: await stream.finalText(), causes };
  },
  mcp: async ({ url }, token) => {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
    const { content, _meta, isError = false } = await client.callTool({ name: 'lead', arguments: { prompt: 'What?' } });
    await client.close();
    expect(isError).toBe(false);
    const [first] = content as readonly { readonly text?: string }[];
    return { text: first?.text, causes: _meta?.['cloister/causes'] as Told['causes'] };
  },
};

test.each(Object.keys(protocols))(
  '%s: an answer has the causes for a token that sees them, and no other',
  async (name) => {
    const place = await serve();
    for (const sees of levels) {
      const { text, causes } = await protocols[name]!(place, sees);
      expect(text).toBe('There is nothing.');
      if (sees === 'answers') expect(causes).toBeUndefined();
      else expect(causes).toMatchObject([{ path: ['lead', 'clerk'], what: 'tool', name: 'peek', detail }]);
    }
  },
);

test('details mean contents for a token that sees them: in the answer, in its stream, and in the events of the run', async () => {
  const place = await serve();
  for (const sees of levels) {
    const ask = async (path: string, body?: object): Promise<string> =>
      (
        await fetch(place.url + path, {
          headers: { authorization: `Bearer ${sees}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        })
      ).text();
    const whole = await ask('/v1/lead', { input: 'What is there?', details: true });
    const { run, events, cells } = JSON.parse(whole) as Record<'run', string> & Record<'events' | 'cells', object[]>;
    expect(cells).toHaveLength(2);
    const streamed = (await ask('/v1/lead', { input: 'What is there?', details: true, stream: true })).split(
      'event: outcome',
    )[0]!;
    const watched = await ask(`/v1/runs/${run}/events?details=true`);
    const told = [JSON.stringify(events), streamed, watched].map((text) => text.includes('"details":'));
    expect(told).toEqual(Array.from({ length: 3 }, () => sees === 'contents'));
    expect(events.length).toBeGreaterThan(10);
  }
});
