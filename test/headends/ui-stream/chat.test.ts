// The AI SDK's own chat against a real server: text, nested agents, approvals, resuming, stopping, failures.
// invariants: ui-stream-own-chats, ui-stream-done, ui-chunks-one-message, ui-chunks-withdrawn, ui-chunks-bounded
import type { UIMessage, UIMessageChunk } from 'ai';
import { readUIMessageStream } from 'ai';
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { describe, expect, test } from 'vitest';
import { gatedAgent } from '../../app/serve/gated-agent.ts';
import { eventually } from '../ag-ui/driver.ts';
import type { Team } from '../ag-ui/driver.ts';
import { dataLines, serveChats, textsOf } from './driver.ts';
import type { ChatClient } from './driver.ts';

const ends = ['finish', 'abort', 'error'];

/** One stream, from its start to its only end. */
const expectOneMessage = (chunks: readonly UIMessageChunk[], last = 'finish'): void => {
  const types = chunks.map(({ type }) => type);
  expect(types.filter((type) => type === 'start')).toEqual(['start']);
  expect(types[0]).toBe('start');
  expect(types.filter((type) => ends.includes(type))).toEqual([last]);
  expect(types.at(-1)).toBe(last);
  expect(types.filter((type) => type === 'start-step').length).toBe(
    types.filter((type) => type === 'finish-step').length,
  );
};

const solo = (agent: Agent): Team => ({ agents: [agent], model: rehearse([{ reply: 'x' }]), sent: [] });

const leadWith = (model: ReturnType<typeof rehearse>, more: object = {}): Agent =>
  defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model], ...more });

const nestedIn = (output: unknown): UIMessage => output as UIMessage;

describe('a chat', () => {
  test('streams text, and its message says which run it was', async () => {
    const { chat, cloister } = await serveChats();
    const answer = await chat.say('plain');
    const chunks = await chat.chunks();
    expectOneMessage(chunks);
    expect(chat.streams[0]!.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    expect(chunks.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(1);
    expect(textsOf(answer)).toEqual(['Plain it is.']);
    const [{ run } = { run: '' }] = await cloister.runs();
    expect(answer).toMatchObject({ id: `msg-${run}`, metadata: { run, agent: 'lead', status: 'completed' } });
    expect(chat.chat.status).toBe('ready');
  });

  test('is read by the library’s own reader, too', async () => {
    const { chat } = await serveChats();
    const stream = await chat.transport.sendMessages({
      chatId: 'c',
      trigger: 'submit-message',
      messageId: undefined,
      abortSignal: undefined,
      messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
    });
    const seen: UIMessage[] = [];
    for await (const message of readUIMessageStream({ stream })) seen.push(message);
    expect(textsOf(seen.at(-1)!)).toEqual(['I ask.', 'Done after 1.']);
  });

  test('shows a sub-agent as the growing output of the call that started it', async () => {
    const { chat } = await serveChats({}, 'contents');
    const answer = await chat.say('go');
    const chunks = await chat.chunks();
    expectOneMessage(chunks);
    expect(textsOf(answer)).toEqual(['I ask.', 'Done after 1.']);
    expect(answer.parts.filter(({ type }) => type === 'step-start')).toHaveLength(2);
    const [helper] = chat.tools;
    expect(helper).toMatchObject({ toolName: 'helper', state: 'output-available', input: { prompt: 'go' } });
    const nested = nestedIn(helper!.output);
    expect(nested).toMatchObject({ role: 'assistant', metadata: { agent: 'helper', status: 'done' } });
    expect(nested.parts.filter(({ type }) => type !== 'step-start')).toMatchObject([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'I look.', state: 'done' },
      { type: 'dynamic-tool', toolName: 'look', state: 'output-available', output: 'seen' },
      { type: 'text', text: 'helped: seen' },
    ]);
    const growing = chunks.filter((chunk) => chunk.type === 'tool-output-available' && chunk.preliminary === true);
    expect(growing.length).toBeGreaterThan(3);
    expect(chunks.filter(({ type }) => type === 'data-crossing')).toHaveLength(4);
  });

  test('nests agents at any depth', async () => {
    const digger = defineAgent({
      name: 'digger',
      description: 'd',
      prompt: 'p',
      models: [rehearse([{ reply: 'dug' }])],
    });
    const call = (tool: string) => ({ calls: [{ tool, args: { prompt: 'go', reason: 'r' } }] });
    const helper = leadWith(rehearse([{ when: { turn: 1 }, reply: call('digger') }, { reply: 'helped' }]), {
      name: 'helper',
      agents: [digger],
    });
    const lead = leadWith(rehearse([{ when: { turn: 1 }, reply: call('helper') }, { reply: 'led' }]), {
      agents: [helper],
    });
    const { chat } = await serveChats({}, 'answers', solo(lead));
    await chat.say('go');
    expectOneMessage(await chat.chunks());
    const middle = nestedIn(chat.tools[0]!.output);
    const inner = middle.parts.find((part) => part.type === 'dynamic-tool')!;
    expect(inner).toMatchObject({ toolName: 'digger', state: 'output-available', preliminary: false });
    expect(textsOf(middle)).toEqual(['helped']);
    expect(textsOf(nestedIn(inner.output))).toEqual(['dug']);
  });

  test('shows those who see answers what happened, and not what tools returned or models thought', async () => {
    const { chat } = await serveChats();
    await chat.say('go');
    const wire = JSON.stringify(await chat.chunks());
    for (const text of ['"seen"', 'Hm.']) expect(wire).not.toContain(text);
    expect(wire).toContain('this token does not show contents');
  });

  test('sends its messages as history, once, without what sub-agents said', async () => {
    const { chat, model } = await serveChats({}, 'contents');
    await chat.say('go there');
    await chat.say('plain words');
    const prompt = JSON.stringify(model.requests.at(-1)!.prompt);
    for (const text of ['go there', 'I ask.', 'Done after 1.', 'plain words'])
      expect(prompt.split(text), text).toHaveLength(2);
    for (const text of ['helped', 'I look.', 'seen', 'Hm.']) expect(prompt).not.toContain(text);
  });

  test('writes a message again: the old answer is not part of the history', async () => {
    let answers = 0;
    const model = rehearse([{ reply: () => `Answer ${++answers}.` }]);
    const { chat } = await serveChats({}, 'answers', solo(leadWith(model)));
    await chat.say('go');
    await chat.chat.regenerate();
    expect(chat.chat.messages.map((message) => textsOf(message))).toEqual([['go'], ['Answer 2.']]);
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).not.toContain('Answer 1.');
    // A client that sends the old answer along means the same.
    const messages = chat.chat.messages.map(({ id, role, parts }) => ({ id, role, parts }));
    const stream = await chat.transport.sendMessages({
      chatId: 'c',
      trigger: 'regenerate-message',
      messageId: messages.at(-1)!.id,
      abortSignal: undefined,
      messages,
    });
    for await (const message of readUIMessageStream({ stream })) void message;
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).not.toContain('Answer 2.');
  });

  test('takes back the text of a failed attempt', async () => {
    let requests = 0;
    const model = rehearse([
      { reply: () => (requests++ === 0 ? { text: 'Half an ans', fault: 'cut' } : 'The whole answer.') },
    ]);
    const { chat } = await serveChats({}, 'answers', solo(leadWith(model, { limits: { maxRetries: 2 } })));
    const answer = await chat.say('go');
    expect((await chat.chunks()).map(({ type }) => type)).toContain('reset-step');
    expect(textsOf(answer)).toEqual(['The whole answer.']);
  });

  test('says in words why there is no answer', async () => {
    const model = rehearse([{ reply: { text: 'Half an ans', fault: 'cut' } }]);
    const { chat } = await serveChats({}, 'answers', solo(leadWith(model, { limits: { maxRetries: 0 } })));
    await chat.say('go');
    expectOneMessage(await chat.chunks(), 'error');
    expect(chat.chat.status).toBe('error');
    expect(chat.errors.map(({ message }) => message)).toEqual([
      'The model’s response stream ended early. Retry; if it keeps happening, check the connection.'.replace('’', "'"),
    ]);
  });

  test('that does not fit is refused before anything runs', async () => {
    const { chat, chatOf, cloister, ask } = await serveChats();
    const post = async (json: object) => {
      const reply = await ask('/ui/lead', { json, headers: { authorization: 'Bearer ann' } });
      return [reply.status, JSON.stringify(await reply.json())] as const;
    };
    const user = { id: '1', role: 'user', parts: [{ type: 'text', text: 'plain' }] };
    const agent = { id: '2', role: 'assistant', parts: [{ type: 'text', text: 'Yes.' }] };
    const file = { type: 'file', mediaType: 'image/png', url: 'https://example.com/x.png' };
    for (const [body, words] of [
      [{ messages: [user] }, 'id'],
      [{ id: 'c', messages: [] }, 'at least one message'],
      [{ id: 'c', messages: [user, agent] }, 'last message must come from the user'],
      [{ id: 'c', messages: [{ ...user, role: 'system' }] }, '--allow-system'],
      [{ id: 'c', messages: [{ ...user, parts: [file] }] }, 'data: URL'],
      [{ id: 'c', messages: [user], tools: [{ name: 'paint' }] }, '--allow-tools'],
      [{ id: 'c', messages: [{ ...user, role: 'robot' }] }, 'role'],
      [{ id: 'c', messages: [user], trigger: 'maybe' }, 'trigger'],
    ] as const) {
      const [status, text] = await post(body);
      expect([status, text.includes(words), text]).toEqual([400, true, text]);
    }
    await chatOf('ann', { agent: 'nobody' }).say('plain');
    expect(await cloister.runs()).toEqual([]);
    await chat.say('plain');
    expect(textsOf(chat.last)).toEqual(['Plain it is.']);
  });
});

describe('an approval', () => {
  const answerAll = async ({ chat, streams }: ChatClient, approved: boolean, reason?: string): Promise<void> => {
    const before = streams.length;
    const said = reason === undefined ? {} : { reason };
    for (const part of chat.messages.at(-1)!.parts)
      if (part.type === 'dynamic-tool' && part.state === 'approval-requested')
        await chat.addToolApprovalResponse({ id: part.approval.id, approved, ...said });
    await eventually(() => expect(streams.length).toBeGreaterThan(before));
    await eventually(() => expect(chat.status).toBe('ready'));
  };

  test.each(['answers', 'contents'] as const)(
    'is requested, and its answer continues the same message without saying anything twice (%s)',
    async (sees) => {
      const { chat, sent, cloister } = await serveChats({}, sees);
      await chat.say('own send');
      expectOneMessage(await chat.chunks());
      expect(chat.tools).toMatchObject([
        {
          toolName: 'send',
          state: 'approval-requested',
          input: { to: 'y' },
          approval: { requestReason: 'lead wants to call send.' },
        },
      ]);
      expect(sent).toEqual([]);
      await answerAll(chat, true);
      expectOneMessage(await chat.chunks());
      expect(sent).toEqual(['y']);
      expect(textsOf(chat.last)).toEqual(['I send.', 'Done after 1.']);
      expect(chat.tools).toMatchObject([{ toolName: 'send', state: 'output-available' }]);
      expect(chat.chat.messages).toHaveLength(2);
      expect(await cloister.runs()).toHaveLength(1);
    },
  );

  test('of a sub-agent is a part of the message, and of the sub-agent', async () => {
    const { chat, sent } = await serveChats({}, 'contents');
    await chat.say('send');
    expect(chat.tools).toMatchObject([
      { toolName: 'helper', state: 'output-available', preliminary: true },
      { toolName: 'send', state: 'approval-requested', title: 'lead › helper: send' },
    ]);
    await answerAll(chat, true);
    expect(sent).toEqual(['x']);
    expect(chat.tools.map(({ toolName, state }) => [toolName, state])).toEqual([
      ['helper', 'output-available'],
      ['send', 'output-available'],
    ]);
    const nested = nestedIn(chat.tools[0]!.output);
    expect(nested.parts.filter(({ type }) => type !== 'step-start')).toMatchObject([
      { type: 'text', text: 'I look and send.' },
      { toolName: 'look', output: 'seen' },
      { toolName: 'send', output: 'sent to x' },
      { type: 'text', text: 'helped: seen, sent to x' },
    ]);
    expect(textsOf(chat.last)).toEqual(['I ask.', 'Done after 1.']);
  });

  test('that is denied says so, and the agent is told why', async () => {
    const { chat, sent, model } = await serveChats();
    await chat.say('own send');
    await answerAll(chat, false, 'Too early.');
    expect(sent).toEqual([]);
    expect(chat.tools).toMatchObject([{ state: 'output-denied' }]);
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain('Too early.');
    expect(textsOf(chat.last)).toEqual(['I send.', 'Done after 1.']);
  });

  test('answers an agent that asks something with its reason', async () => {
    const model = rehearse([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'ask_person', args: { question: 'Which?' } }] } },
      { reply: ({ toolResults }) => `You said: ${toolResults[0]!.text}` },
    ]);
    const { chat } = await serveChats({}, 'answers', solo(leadWith(model, { asks: true })));
    await chat.say('go');
    expect(chat.tools).toMatchObject([{ toolName: 'ask_person', approval: { requestReason: 'Which?' } }]);
    await answerAll(chat, true, 'Green.');
    expect(textsOf(chat.last).at(-1)).toContain('Green.');
  });

  test('of somebody else’s run is as unknown as one that nobody asked', async () => {
    const { chat, sent, url } = await serveChats();
    await chat.say('own send');
    const message = structuredClone(chat.last) as unknown as { parts: any[] };
    const part = message.parts.find(({ type }) => type === 'dynamic-tool');
    const post = async (token: string, id: string, agent = 'lead') => {
      const answered = { ...part, state: 'approval-responded', approval: { id, approved: true } };
      const reply = await fetch(`${url}/ui/${agent}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ id: 'chat-1', messages: [{ ...message, parts: [answered] }] }),
      });
      return [reply.status, (await reply.text()).replaceAll(id.split('.')[0]!, '<id>')];
    };
    const { id } = part.approval as { id: string };
    const unknown = 'q-000000000000-1.2';
    for (const token of ['ben', 'ops']) expect(await post(token, id)).toEqual(await post(token, unknown));
    expect(await post('ann', id, 'other')).toEqual(await post('ann', unknown, 'other'));
    expect((await post('ben', id))[0]).toBe(404);
    expect(sent).toEqual([]);
    await answerAll(chat, true);
    expect(sent).toEqual(['y']);
  });

  test('that somebody else gives while the stream is open is shown when its call happens', async () => {
    const lead = (await import('../../app/serve/asking-agent.ts')).askingAgent({ by: ['ops'] });
    const { chat, rest } = await serveChats({}, 'answers', { ...solo(lead.agent), sent: lead.sent });
    const said = chat.say('x');
    await eventually(async () => expect((await rest('ops', '/v1/questions')).questions).toHaveLength(1));
    const { questions } = await rest('ops', '/v1/questions');
    await rest('ops', `/v1/questions/${questions[0].id}`, { allow: true, sha256: questions[0].sha256 });
    await said;
    expectOneMessage(await chat.chunks());
    expect(chat.tools).toMatchObject([{ toolName: 'send', state: 'output-available' }]);
    expect(textsOf(chat.last)).toEqual(['I will send.', 'Results: sent to x']);
  });
});

describe('a stream', () => {
  const open = async (body: object = {}, how: 'answers' | 'contents' = 'answers') => {
    const { agent, gate } = gatedAgent('lead');
    const served = await serveChats({}, how, solo(agent));
    const chat = served.chatOf('ann', { body });
    const running = chat.say('go');
    await gate.arrived(1);
    return { ...served, chat, gate, running };
  };
  const state = async ({ cloister }: Awaited<ReturnType<typeof open>>) => (await cloister.runs({ caller: 'ann' }))[0]!;

  test('that its client stops ends the run', async () => {
    const opened = await open();
    await opened.chat.chat.stop();
    await opened.running;
    await eventually(async () => expect(await state(opened)).toMatchObject({ state: 'ended', status: 'cancelled' }));
    expect(opened.chat.chat.status).toBe('ready');
  });

  test('that is resumable goes on without its reader, and is read again from its start', async () => {
    const opened = await open({ resumable: true });
    await opened.chat.chat.stop();
    await opened.running;
    expect(await state(opened)).toMatchObject({ state: 'running' });
    const again = opened.chatOf('ann');
    const resumed = again.chat.resumeStream();
    await eventually(() => expect(again.streams).toHaveLength(1));
    opened.gate.open();
    await resumed;
    expectOneMessage(await again.chunks());
    expect(again.chat.messages.map((message) => textsOf(message))).toEqual([['Done: go']]);
    expect(again.last.id).toBe(`msg-${(await state(opened)).run}`);
    // Nothing runs any more.
    await again.chat.resumeStream();
    expect(again.streams.map(({ status }) => status)).toEqual([200, 204]);
  });

  test('of a chat that breaks off replaces what the client has, and nothing is doubled', async () => {
    const gate = Promise.withResolvers<void>();
    const model = rehearse([
      { when: { turn: 1 }, reply: { text: 'First I look.', calls: [{ tool: 'look', args: {} }] } },
      { reply: 'Then I answer.' },
    ]);
    const look = {
      name: 'look',
      description: 'd',
      inputSchema: { type: 'object' },
      execute: () => gate.promise.then(() => 'seen'),
    };
    const { chatOf } = await serveChats({}, 'contents', solo(leadWith(model, { tools: [look] })));
    const chat = chatOf('ann', { body: { resumable: true } });
    const running = chat.say('go');
    await eventually(() => expect(chat.tools).toHaveLength(1));
    await chat.chat.stop();
    await running;
    const resumed = chat.chat.resumeStream();
    await eventually(() => expect(chat.streams).toHaveLength(2));
    gate.resolve();
    await resumed;
    expect(chat.chat.messages).toHaveLength(2);
    expect(textsOf(chat.last)).toEqual(['First I look.', 'Then I answer.']);
    expect(chat.tools).toMatchObject([{ toolName: 'look', state: 'output-available', output: 'seen' }]);
  });

  test('of somebody else does not exist', async () => {
    const opened = await open({ resumable: true });
    const { url } = opened;
    const get = async (token: string, path: string, method = 'GET') => {
      const reply = await fetch(`${url}/ui/${path}`, { method, headers: { authorization: `Bearer ${token}` } });
      if (reply.status === 200) await reply.body!.cancel();
      return reply.status;
    };
    expect(await get('ben', 'lead/chat-1/stream')).toBe(204);
    expect(await get('ben', 'lead/chat-1/stream', 'DELETE')).toBe(204);
    expect(await get('ann', 'lead/chat-2/stream')).toBe(204);
    expect(await get('ann', 'nobody/chat-1/stream')).toBe(404);
    expect(await state(opened)).toMatchObject({ state: 'running' });
    // A chat of somebody else with the same id is another one.
    const own = opened.chatOf('ben', { body: { resumable: true } }).say('mine');
    await opened.gate.arrived(2);
    expect(await get('ben', 'lead/chat-1/stream', 'DELETE')).toBe(204);
    await own;
    expect(await get('ann', 'lead/chat-1/stream')).toBe(200);
    // A reader that comes and goes changes nothing.
    expect(await state(opened)).toMatchObject({ state: 'running' });
    expect(await get('ann', 'lead/chat-1/stream', 'DELETE')).toBe(204);
    await opened.running;
    expectOneMessage(await opened.chat.chunks(), 'abort');
    expect(await state(opened)).toMatchObject({ status: 'cancelled' });
    expect(await get('ann', 'lead/chat-1/stream')).toBe(204);
  });

  test('ends with words if the server stops', async () => {
    const { chat, server, running } = await open();
    const stopped = server.stop(0);
    await running;
    expectOneMessage(await chat.chunks(), 'error');
    expect(chat.errors[0]!.message).toMatch(/^The server is shutting down\./u);
    await stopped;
  });

  test('of a waiting run asks again', async () => {
    const { chat, chatOf, sent } = await serveChats();
    await chat.say('own send');
    const again = chatOf('ann');
    await again.chat.resumeStream();
    expect(again.tools).toMatchObject([{ toolName: 'send', state: 'approval-requested' }]);
    expect(sent).toEqual([]);
  });

  test('of a sub-agent that writes much is a small multiple of what it writes', async () => {
    const words = 'word '.repeat(20_000);
    const helper = leadWith(rehearse([{ reply: { pieces: words.match(/.{1,10}/gu)! } }]), { name: 'helper' });
    const call = { tool: 'helper', args: { prompt: 'go', reason: 'r' } };
    const lead = leadWith(rehearse([{ when: { turn: 1 }, reply: { calls: [call] } }, { reply: 'Done.' }]), {
      agents: [helper],
    });
    const { chat } = await serveChats({}, 'contents', solo(lead));
    await chat.say('go');
    const bytes = dataLines(chat.streams[0]!).join('').length;
    expect(bytes).toBeLessThan(25 * words.length);
    const written = textsOf(nestedIn(chat.tools[0]!.output)).join('');
    expect([written.length, words.startsWith(written)]).toEqual([words.trimEnd().length, true]);
  });
});

test('the client’s own tools are called by the client, and its results continue the message', async () => {
  const model = rehearse([
    { when: { turn: 1 }, reply: { text: 'I paint.', calls: [{ tool: 'paint', args: { colour: 'red' } }] } },
    { reply: ({ toolResults }) => `Painted: ${toolResults[0]!.text}` },
  ]);
  const { chatOf, cloister } = await serveChats({ clients: { tools: true } }, 'contents', solo(leadWith(model)));
  const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }];
  const chat = chatOf('ann', { body: { tools } });
  await chat.say('go');
  expect(chat.tools).toMatchObject([{ toolName: 'paint', state: 'input-available', input: { colour: 'red' } }]);
  const { toolCallId } = chat.tools[0]!;
  await chat.chat.addToolOutput({ tool: 'paint', toolCallId, output: 'a red wall' });
  await chat.chat.sendMessage();
  expectOneMessage(await chat.chunks());
  expect(textsOf(chat.last)).toEqual(['I paint.', 'Painted: a red wall']);
  expect(chat.tools).toMatchObject([{ toolName: 'paint', output: 'a red wall' }]);
  expect(await cloister.runs()).toHaveLength(1);
});
