// AG-UI's own client against a real server: text, nested agents, questions, cancelling, failures.
// invariants: ag-ui-one-run, ag-ui-closed, ag-ui-withdrawn, activity-in-order, activity-ends, activity-answer-last
// invariants: activity-one-end, activity-once, texts-withdrawn, texts-whole, returned-answer-by-right, position-decides-nothing
import { rmSync } from 'node:fs';
import type { BaseEvent } from '@ag-ui/client';
import { buildResumeArray } from '@ag-ui/client';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { gatedAgent } from '../../app/serve/gated-agent.ts';
import { cleanUpAfter } from '../../cleanup.ts';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';
import { eventually, interruptsOf, serveTeam, team } from './driver.ts';
import type { Client, SeenRun } from './driver.ts';

// The client reports every failed run on the console as well.
beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => undefined));

const find = ({ events }: SeenRun, type: string): readonly BaseEvent[] =>
  events.filter(({ type: found }: { readonly type: string }) => found === type);

const outcomeOf = ({ events }: SeenRun): unknown => (events.at(-1)?.['outcome'] as { type: string } | undefined)?.type;

/** One stream, from its start to its only end. */
const expectOneRun = (seen: SeenRun, last = 'RUN_FINISHED'): void => {
  expect(seen.types[0]).toBe('RUN_STARTED');
  expect(seen.types.filter((type) => type === 'RUN_STARTED')).toHaveLength(1);
  expect(seen.types.filter((type) => type === 'RUN_FINISHED' || type === 'RUN_ERROR')).toEqual([last]);
  expect(seen.types.at(-1)).toBe(last);
};

describe('a run', () => {
  test('streams its text, and its end says what it used', async () => {
    const { ann, cloister } = await serveTeam();
    const seen = await ann.say('plain').run({ runId: 'run-7' });
    expectOneRun(seen);
    expect(seen.error).toBeNull();
    const [{ run } = { run: '' }] = await cloister.runs();
    const ids = { threadId: 'thread-1', runId: 'run-7' };
    expect(seen.events[0]).toMatchObject({ ...ids, protocolVersion: '1.0', metadata: { cloister: { run } } });
    expect(seen.types.filter((type) => type === 'TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(1);
    expect(ann.texts).toEqual(['Plain it is.']);
    expect(seen.events.at(-1)).toMatchObject({
      ...ids,
      result: 'Plain it is.',
      outcome: { type: 'success' },
      usage: [{ provider: 'rehearsal', inputTokens: expect.any(Number), outputTokens: expect.any(Number) }],
    });
  });

  test('nests the agents below the call that started them', async () => {
    const { ann } = await serveTeam({}, 'contents');
    const seen = await ann.say('go').run();
    expectOneRun(seen);
    const [asked, looked] = find(seen, 'TOOL_CALL_START');
    const [agent] = find(seen, 'SUBAGENT_STARTED');
    expect(asked).toMatchObject({ toolCallName: 'helper' });
    expect(asked).not.toHaveProperty('subagentRunId');
    expect(agent).toMatchObject({ name: 'helper', parentToolCallId: asked!['toolCallId'] });
    expect(looked).toMatchObject({ toolCallName: 'look', subagentRunId: agent!['subagentRunId'] });
    expect(find(seen, 'SUBAGENT_FINISHED')).toMatchObject([{ subagentRunId: agent!['subagentRunId'] }]);
    expect(find(seen, 'TOOL_CALL_RESULT')).toMatchObject([
      { toolCallId: looked!['toolCallId'], content: 'seen', subagentRunId: agent!['subagentRunId'] },
      { toolCallId: asked!['toolCallId'], content: 'helped: seen' },
    ]);
    expect(
      find(seen, 'REASONING_MESSAGE_CONTENT')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe('Hm.');
    expect(find(seen, 'CUSTOM')).toMatchObject(
      ['goal', 'goal', 'result', 'result'].map((kind) => ({ name: 'cloister.crossing', value: { kind } })),
    );
    expect(ann.texts).toEqual(['I ask.', 'Done after 1.']);
    const nested = ann.agent.messages.filter((message) => message.subagentRunId !== undefined);
    expect(nested.map(({ role, content }) => [role, content])).toEqual([
      ['reasoning', 'Hm.'],
      ['assistant', 'I look.'],
      ['tool', 'seen'],
      ['assistant', 'helped: seen'],
    ]);
  });

  test('shows those who see answers what happened, and not what tools returned or models thought', async () => {
    const { ann } = await serveTeam();
    const seen = await ann.say('go').run();
    expectOneRun(seen);
    expect(find(seen, 'TOOL_CALL_ARGS').map(({ delta }) => delta)).toEqual(['{"goal":"go"}', '{}']);
    for (const { content } of find(seen, 'TOOL_CALL_RESULT'))
      expect(content).toMatch(/^\(\d+ bytes; this token does not show contents\)$/u);
    expect(seen.types.filter((type) => type.startsWith('REASONING'))).toEqual([]);
    expect(JSON.stringify(seen.events)).not.toContain('"seen"');
    expect(ann.texts).toEqual(['I ask.', 'Done after 1.']);
  });

  test('gets the thread as history, once, without what sub-agents said', async () => {
    const { ann, model } = await serveTeam({}, 'contents');
    await ann.say('go there').run();
    await ann.say('plain words').run();
    const prompt = JSON.stringify(model.requests.at(-1)!.prompt);
    for (const text of ['go there', 'I ask.', 'Done after 1.', 'plain words'])
      expect(prompt.split(text), text).toHaveLength(2);
    for (const text of ['helped', 'I look.', 'seen', 'Hm.']) expect(prompt).not.toContain(text);
    expect(ann.texts).toEqual(['I ask.', 'Done after 1.', 'Plain it is.']);
  });

  test('that fails ends with an error in words and its code', async () => {
    const model = rehearse([{ reply: { text: 'Half an ans', fault: 'cut' } }]);
    const lead = defineAgent({
      name: 'lead',
      description: 'd',
      prompt: 'p',
      models: [model],
      limits: { maxRetries: 0 },
    });
    const { ann } = await serveTeam({}, 'answers', { agents: [lead], model, sent: [] });
    const seen = await ann.say('go').run();
    expectOneRun(seen, 'RUN_ERROR');
    expect(seen.events.at(-1)).toMatchObject({ code: 'model_cut', message: expect.stringMatching(/^[A-Z].+\.$/u) });
  });

  test('whose agent below fails goes on', async () => {
    const { ann } = await serveTeam();
    const seen = await ann.say('break').run();
    expectOneRun(seen);
    expect(find(seen, 'SUBAGENT_ERROR')).toMatchObject([{ code: expect.any(String), message: expect.any(String) }]);
    expect(find(seen, 'SUBAGENT_FINISHED')).toEqual([]);
    expect(ann.texts.at(-1)).toBe('Done after 1.');
  });

  test('takes back the text of a failed attempt', async () => {
    let requests = 0;
    const model = rehearse([
      { reply: () => (requests++ === 0 ? { text: 'Half an ans', fault: 'cut' } : 'The whole answer.') },
    ]);
    const lead = defineAgent({
      name: 'lead',
      description: 'd',
      prompt: 'p',
      models: [model],
      limits: { maxRetries: 2 },
    });
    const { ann } = await serveTeam({}, 'answers', { agents: [lead], model, sent: [] });
    const seen = await ann.say('go').run();
    expectOneRun(seen);
    expect(
      find(seen, 'TEXT_MESSAGE_CONTENT')
        .map(({ delta }) => delta)
        .join(''),
    ).toContain('Half');
    expect(seen.types).toContain('MESSAGES_SNAPSHOT');
    expect(ann.agent.messages.map(({ content }) => content)).toEqual(['go', 'The whole answer.']);
  });
});

describe('a question', () => {
  const ask = async (goal = 'send', sees: 'answers' | 'contents' = 'answers') => {
    const served = await serveTeam({}, sees);
    const seen = await served.ann.say(goal).run();
    expectOneRun(seen);
    expect(outcomeOf(seen)).toBe('interrupt');
    return { ...served, seen, interrupts: interruptsOf(seen) };
  };

  test('ends the stream as an interrupt, and the answer continues the run without saying anything twice', async () => {
    const { ann, sent, seen, interrupts } = await ask('send', 'contents');
    const [agent] = find(seen, 'SUBAGENT_STARTED');
    const calls = find(seen, 'TOOL_CALL_START');
    expect(interrupts).toMatchObject([
      {
        reason: 'tool_call',
        message: 'helper wants to call send with {"to":"x"}.',
        toolCallId: calls.find(({ toolCallName }) => toolCallName === 'send')!['toolCallId'],
        subagentRunId: agent!['subagentRunId'],
        expiresAt: expect.stringMatching(/Z$/u),
        responseSchema: { required: ['approved'] },
      },
    ]);
    expect(find(seen, 'SUBAGENT_FINISHED')).toMatchObject([
      { outcome: { type: 'suspended', interruptIds: [interrupts[0]!.id] } },
    ]);
    expect(sent).toEqual([]);
    const resume = buildResumeArray([...interrupts], {
      [interrupts[0]!.id]: { status: 'resolved', payload: { approved: true } },
    });
    const rest = await ann.resume(resume);
    expectOneRun(rest);
    expect(rest.error).toBeNull();
    expect(sent).toEqual(['x']);
    expect(find(rest, 'SUBAGENT_STARTED')).toMatchObject([
      { subagentRunId: agent!['subagentRunId'], parentToolCallId: calls[0]!['toolCallId'] },
    ]);
    expect(find(rest, 'TOOL_CALL_START')).toEqual([]);
    expect(find(rest, 'TOOL_CALL_RESULT').map(({ content }) => content)).toEqual([
      'sent to x',
      'helped: seen, sent to x',
    ]);
    expect(ann.texts).toEqual(['I ask.', 'Done after 1.']);
    // The text after the answer is streamed.
    expect(find(rest, 'TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(2);
  });

  test('is answered with other arguments', async () => {
    const { ann, sent, interrupts } = await ask('own send');
    const payload = { approved: true, editedArgs: { to: 'z' } };
    const rest = await ann.resume([{ interruptId: interrupts[0]!.id, status: 'resolved', payload }]);
    expectOneRun(rest);
    expect(sent).toEqual(['z']);
    expect(ann.texts).toEqual(['I send.', 'Done after 1.']);
  });

  test.each([
    ['denied', { status: 'resolved', payload: { approved: false, reason: 'Too early.' } }],
    ['cancelled', { status: 'cancelled' }],
  ] as const)('that is %s stops the call', async (how, entry) => {
    const { ann, sent, interrupts, model } = await ask('own send');
    if (how === 'cancelled') ann.say('Too early.');
    const rest = await ann.resume([{ interruptId: interrupts[0]!.id, ...entry }]);
    expectOneRun(rest);
    expect(find(rest, 'TOOL_CALL_RESULT')).toMatchObject([{ content: 'Denied by ann: Too early.' }]);
    expect(sent).toEqual([]);
    expect(JSON.stringify(model.requests.at(-1)!.prompt)).toContain('Too early.');
  });

  test('of the agent itself is answered in words', async () => {
    const model = rehearse([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'ask_person', args: { question: 'Which?' } }] } },
      { reply: ({ toolResults }) => `You said: ${toolResults[0]!.text}` },
    ]);
    const lead = defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model], asks: true });
    const { ann } = await serveTeam({}, 'answers', { agents: [lead], model, sent: [] });
    const [interrupt] = interruptsOf(await ann.say('go').run());
    expect(interrupt).toMatchObject({ reason: 'input_required', message: 'lead asks: Which?' });
    const rest = await ann.resume([{ interruptId: interrupt!.id, status: 'resolved', payload: { answer: 'Green.' } }]);
    expectOneRun(rest);
    expect(ann.texts.at(-1)).toContain('Green.');
  });

  test('of somebody else’s run is as unknown as one that nobody asked', async () => {
    const { clientOf, sent, interrupts, url, ann } = await ask('own send');
    const post = async (token: string, interruptId: string, agent = 'lead') => {
      const body = {
        threadId: 'thread-1',
        runId: 'r',
        messages: [],
        resume: [{ interruptId, status: 'resolved', payload: true }],
      };
      const reply = await fetch(`${url}/ag-ui/${agent}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: reply.status, text: await reply.text() };
    };
    const { id } = interrupts[0]!;
    const unknown = 'q-000000000000-1.2';
    const words = (reply: { text: string }, used: string): string => reply.text.replaceAll(used.split('.')[0]!, '<id>');
    for (const token of ['ben', 'ops']) {
      const reply = await post(token, id);
      expect(reply.status).toBe(404);
      expect(words(reply, id)).toBe(words(await post(token, unknown), unknown));
    }
    // Nor does it belong to another agent.
    const elsewhere = await post('ann', id, 'other');
    expect(elsewhere.status).toBe(404);
    expect(words(elsewhere, id)).toBe(words(await post('ann', unknown), unknown));
    expect((await clientOf('ben').say('own send').run()).error).toBeNull();
    expect(sent).toEqual([]);
    await ann.resume([{ interruptId: id, status: 'resolved', payload: true }]);
    expect(sent).toEqual(['y']);
  });

  test('that somebody else has answered meanwhile lets the thread go on', async () => {
    const { ann, sent, interrupts, rest, cloister } = await ask('own send');
    const { questions } = await rest('ops', '/v1/questions');
    await rest('ops', `/v1/questions/${questions[0].id}`, { allow: false, sha256: questions[0].sha256, reason: 'No.' });
    const [{ run } = { run: '' }] = await cloister.runs();
    await eventually(async () => expect((await cloister.runs())[0]!.state).toBe('ended'));
    const after = await ann.resume([{ interruptId: interrupts[0]!.id, status: 'resolved', payload: true }]);
    expectOneRun(after);
    expect(find(after, 'TOOL_CALL_RESULT')).toMatchObject([{ content: 'Denied by ops: No.' }]);
    expect([sent, run]).toEqual([[], run]);
    expect(ann.texts).toEqual(['I send.', 'Done after 1.']);
  });

  test.each([
    [{ status: 'resolved' }, 'approved'],
    [{ status: 'resolved', payload: { approved: 'yes' } }, 'approved'],
    [{ status: 'resolved', payload: { approved: true, editedArgs: 'x' } }, 'editedArgs'],
    [{ status: 'maybe' }, 'status'],
  ])('is not answered by %j', async (entry, field) => {
    const {
      ask: post,
      seen,
      sent,
    } = await (async () => {
      const asked = await ask('own send');
      return {
        ...asked,
        ask: (json: object) =>
          fetch(`${asked.url}/ag-ui/lead`, {
            method: 'POST',
            headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
            body: JSON.stringify(json),
          }),
      };
    })();
    const interruptId = interruptsOf(seen)[0]!.id;
    const reply = await post({ threadId: 't', runId: 'r', messages: [], resume: [{ interruptId, ...entry }] });
    expect(reply.status).toBe(400);
    expect(await reply.text()).toContain(field);
    expect(sent).toEqual([]);
  });
});

test('a question outlives the server: its answer continues the thread on the next one', async () => {
  const workspace = newTemporaryFolder();
  cleanUpAfter('test', () => rmSync(workspace, { recursive: true, force: true }));
  const made = team();
  const first = await serveTeam({ workspace }, 'contents', made);
  const seen = await first.ann.say('send').run();
  const [interrupt] = interruptsOf(seen);
  await first.close();
  const second = await serveTeam({ workspace }, 'contents', made);
  second.ann.agent.setMessages(first.ann.agent.messages);
  const rest = await second.ann.resume([{ interruptId: interrupt!.id, status: 'resolved', payload: true }]);
  expectOneRun(rest);
  expect(made.sent).toEqual(['x']);
  expect(find(rest, 'TOOL_CALL_START')).toEqual([]);
  expect(second.ann.texts).toEqual(['I ask.', 'Done after 1.']);
});

describe('the end of a stream', () => {
  const open = async (onEvent: (event: BaseEvent, client: Client) => void) => {
    const { agent, gate } = gatedAgent('lead');
    const served = await serveTeam({}, 'answers', { agents: [agent], model: rehearse([{ reply: 'x' }]), sent: [] });
    const running = served.ann.say('go').run({}, (event) => onEvent(event, served.ann));
    await gate.arrived(1);
    return { ...served, gate, running };
  };

  test('a client that stops its run cancels it', async () => {
    const { ann, cloister, running } = await open(() => undefined);
    ann.agent.abortRun();
    await running;
    await eventually(async () =>
      expect((await cloister.runs())[0]).toMatchObject({ state: 'ended', status: 'cancelled' }),
    );
  });

  test('a client that stops the stream after its answer cancels the run, too', async () => {
    const asked = Promise.withResolvers<void>();
    const model = rehearse([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'ask_person', args: { question: 'Which?' } }] } },
      {
        reply: () => {
          asked.resolve();
          return { fault: 'timeout' };
        },
      },
    ]);
    const lead = defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model], asks: true });
    const { ann, cloister } = await serveTeam({}, 'answers', { agents: [lead], model, sent: [] });
    const [interrupt] = interruptsOf(await ann.say('go').run());
    const running = ann.resume([{ interruptId: interrupt!.id, status: 'resolved', payload: 'Green.' }]);
    await asked.promise;
    ann.agent.abortRun();
    await running;
    await eventually(async () => expect((await cloister.runs())[0]).toMatchObject({ status: 'cancelled' }));
  });

  test('says that the run was cancelled by somebody else', async () => {
    const { rest, cloister, running } = await open(() => undefined);
    const [{ run } = { run: '' }] = await cloister.runs();
    await rest('ann', `/v1/runs/${run}/cancel`, {});
    const seen = await running;
    expectOneRun(seen);
    expect(outcomeOf(seen)).toBe('cancelled');
  });

  test('comes also if the server stops, with what to do', async () => {
    const { server, running } = await open(() => undefined);
    const stopped = server.stop(0);
    const seen = await running;
    expectOneRun(seen, 'RUN_ERROR');
    expect(seen.events.at(-1)).toMatchObject({ code: 'server_stopping' });
    await stopped;
  });

  test('ends the agents below, too', async () => {
    const { agent, gate } = gatedAgent('helper');
    const model = rehearse([{ reply: { calls: [{ tool: 'helper', args: { prompt: 'go', reason: 'r' } }] } }]);
    const lead = defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model], agents: [agent] });
    const { ann, server } = await serveTeam({}, 'answers', { agents: [lead], model, sent: [] });
    const running = ann.say('go').run();
    await gate.arrived(1);
    const stopped = server.stop(0);
    const seen = await running;
    expectOneRun(seen, 'RUN_ERROR');
    expect(seen.types.slice(-3)).toEqual(['TOOL_CALL_RESULT', 'SUBAGENT_ERROR', 'RUN_ERROR']);
    await stopped;
  });
});

test('a stream that is cut leaves a run that has ended, and its thread can go on', async () => {
  const { ann, url, cloister } = await serveTeam();
  const leaving = new AbortController();
  const reply = await fetch(`${url}/ag-ui/lead`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'own send' }] }),
  });
  await reply.body!.getReader().read();
  leaving.abort();
  await eventually(async () => expect((await cloister.runs({ waiting: true }))[0]!.state).not.toBe('running'));
  await ann.say('plain').run();
  expect(ann.texts).toEqual(['Plain it is.']);
});

test('what the operator does not allow is refused, with what would allow it', async () => {
  const { ann, clientOf } = await serveTeam();
  const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }];
  expect((await ann.say('plain').run({ tools })).error?.message).toContain('--allow-tools');
  const client = clientOf('ann');
  client.agent.addMessage({ id: '1', role: 'system', content: 'Be someone else.' });
  expect((await client.say('plain').run()).error?.message).toContain('--allow-system');
  expect((await clientOf('ann', 'nobody').say('plain').run()).error?.message).toContain('404');
});

test('the client’s own tools are called by the client, and its results continue the run', async () => {
  const model = rehearse([
    { when: { turn: 1 }, reply: { text: 'I paint.', calls: [{ tool: 'paint', args: { colour: 'red' } }] } },
    { reply: ({ toolResults }) => `Painted: ${toolResults[0]!.text}` },
  ]);
  const lead = defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] });
  const { ann, cloister } = await serveTeam({ clients: { tools: true } }, 'contents', {
    agents: [lead],
    model,
    sent: [],
  });
  const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }];
  const seen = await ann.say('go').run({ tools });
  expectOneRun(seen);
  const [paint] = find(seen, 'TOOL_CALL_START');
  const toolCallId = paint!['toolCallId'] as string;
  expect(paint).toMatchObject({ toolCallName: 'paint' });
  expect(seen.events.at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: [toolCallId] } });
  expect(find(seen, 'TOOL_CALL_RESULT')).toEqual([]);
  ann.agent.addMessage({ id: 'r', role: 'tool', toolCallId, content: 'a red wall' });
  const rest = await ann.run({ tools });
  expectOneRun(rest);
  expect(ann.texts).toEqual(['I paint.', undefined, 'Painted: a red wall'].filter((text) => text !== undefined));
  expect(find(rest, 'TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(1);
  expect(find(rest, 'TEXT_MESSAGE_START')).toHaveLength(1);
  expect(rest.types.filter((type) => type.startsWith('TOOL_CALL'))).toEqual([]);
  expect(await cloister.runs()).toHaveLength(1);
});
