// Questions to people over REST: who sees them, who answers them, and what becomes of their runs.
// invariants: service-answers-by-right, answer-key-of-caller, answer-needs-right, answer-durable-before-told, answer-resumes-run
// invariants: answer-right-from-operator, drain-leaves-waiting-runs, waiting-runs-bounded, answer-needs-slot
import { describe, expect, onTestFinished, test } from 'vitest';
import { hashToken, openCloister, openServer } from 'cloister';
import type { Agent, ServerOptions, TokenEntry } from 'cloister';
import type { JsonObject } from '#base';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { virtualClock } from '#testkit';
import { askingAgent } from './asking-agent.ts';
import { gatedAgent } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const entry = (name: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(more.may === undefined ? name : `${name}-watch`),
  ...more,
});

const tokens: readonly TokenEntry[] = [
  entry('ann'),
  entry('ben'),
  entry('ops', { answers: ['lead'] }),
  entry('all', { answers: ['*'] }),
  entry('ann', { may: ['watch'] }),
  entry('board', { may: ['watch'], operator: true }),
];

type Reply = { readonly status: number; readonly body: any };
type Asked = JsonObject & { readonly id: string; readonly run: string; readonly sha256: string };

const serve = async (agent: Agent, options: Partial<ServerOptions> & { readonly workspace?: string } = {}) => {
  const { workspace, ...more } = options;
  const cloister = await openCloister({
    agents: [agent],
    ...(workspace === undefined ? { store: 'memory' } : { workspace }),
  });
  const server = await openServer(cloister, { tokens, ...more });
  let isOver = false;
  const close = async (): Promise<void> => {
    if (isOver) return;
    isOver = true;
    await server.stop(0);
    await cloister.close();
  };
  onTestFinished(close);
  const get = async (token: string, path: string): Promise<Reply> => {
    const response = await server.fetch(getRequest(path, token));
    return { status: response.status, body: await response.json() };
  };
  const post = async (
    token: string,
    path: string,
    body: object,
    key?: string,
    signal?: AbortSignal,
  ): Promise<Reply> => {
    const request = postRequest(path, token, body, signal);
    if (key !== undefined) request.headers.set('idempotency-key', key);
    const response = await server.fetch(request);
    return { status: response.status, body: await response.json() };
  };
  const questions = async (token: string, query = ''): Promise<readonly Asked[]> =>
    (await get(token, `/v1/questions${query}`)).body.questions as readonly Asked[];
  /** Starts a run, and returns its questions once it waits. */
  const ask = async (token: string, goal: string, count = 1): Promise<{ run: string; asked: readonly Asked[] }> => {
    const { body } = await post(token, '/v1/lead', { input: goal, wait: false });
    const run = body.run as string;
    await expect.poll(() => questions(token, `?run=${run}`)).toHaveLength(count);
    await expect
      .poll(async () => (await get(token, '/v1/runs')).body.runs.find((one: any) => one.run === run).state)
      .toBe('waiting');
    return { run, asked: await questions(token, `?run=${run}`) };
  };
  const answer = (token: string, { id, sha256 }: Pick<Asked, 'id' | 'sha256'>, body: object = {}, key?: string) =>
    post(token, `/v1/questions/${id}`, { allow: true, sha256, ...body }, key);
  const outputOf = async (token: string, run: string): Promise<unknown> => {
    await expect.poll(async () => (await get(token, `/v1/runs/${run}`)).body.endedAt).not.toBe(null);
    return (await get(token, `/v1/runs/${run}`)).body.output;
  };
  return { cloister, server, get, post, questions, ask, answer, outputOf, close };
};

const codeOf = ({ status, body }: Reply): readonly unknown[] => [status, body.error?.code];

describe('a question', () => {
  test('is listed, shown and answered by the caller of its run, which then continues', async () => {
    const { agent, sent } = askingAgent();
    const { ask, get, answer, outputOf, questions } = await serve(agent);
    const { run, asked } = await ask('ann', 'x');
    const [question] = asked;
    expect(question).toMatchObject({
      id: expect.stringMatching(`^q-${run}-\\d+$`),
      run,
      agent: 'lead',
      path: ['lead'],
      tool: 'send',
      args: { to: 'x' },
      why: 'tool',
      need: 1,
      by: null,
      not: null,
      answers: [],
      state: 'open',
      mayAnswer: true,
    });
    expect(Object.keys(question!)).not.toContain('caller');
    expect((await get('ann', `/v1/runs/${run}`)).body).toMatchObject({ status: 'waiting', questions: 1 });
    expect((await get('ann', `/v1/runs/${run}/questions`)).body).toEqual({ questions: asked, more: false });
    expect((await get('ann', `/v1/questions/${question!.id}`)).body).toEqual(question);
    expect(sent).toEqual([]);
    expect(await answer('ann', question!)).toEqual({
      status: 200,
      body: { question: question!.id, run, state: 'allowed' },
    });
    expect(await outputOf('ann', run)).toBe('Results: sent to x');
    expect(sent).toEqual(['x']);
    expect(await questions('ann')).toEqual([]);
    expect((await get('ann', `/v1/questions/${question!.id}`)).body).toMatchObject({
      state: 'allowed',
      mayAnswer: false,
      answers: [{ by: 'ann', allow: true }],
    });
    expect((await get('ann', `/v1/runs/${run}`)).body.questions).toBe(0);
  });

  test('of the agent itself is answered with words', async () => {
    const { ask, answer, outputOf } = await serve(askingAgent().agent);
    const { run, asked } = await ask('ann', 'Which colour?');
    expect(asked[0]).toMatchObject({ tool: 'ask_person', why: 'agent', args: { question: 'Which colour?' } });
    expect(codeOf(await answer('ann', asked[0]!))).toEqual([422, 'answer_invalid']);
    expect((await answer('ann', asked[0]!, { reason: 'Green.' })).status).toBe(200);
    expect(await outputOf('ann', run)).toContain('Green.');
  });

  test('can be answered with other arguments, which must fit, and denied with a reason', async () => {
    const { agent, sent } = askingAgent();
    const { ask, answer, get, outputOf } = await serve(agent);
    const { run, asked } = await ask('ann', 'x y', 2);
    const [one, other] = asked;
    for (const args of [{ to: 7 }, {}, { to: 'z', more: 1 }])
      expect(codeOf(await answer('ann', one!, { args }))).toEqual([422, 'answer_invalid']);
    expect((await answer('ann', one!, { args: { to: 'z' } })).body.state).toBe('allowed');
    expect((await answer('ann', other!, { allow: false, reason: 'Too late.' })).body.state).toBe('denied');
    // What people say is for the agent; others see the verdict.
    const { body } = await get('ann', `/v1/questions/${other!.id}`);
    expect(body).toMatchObject({ state: 'denied', answers: [{ by: 'ann', allow: false }] });
    expect(JSON.stringify(body)).not.toContain('Too late.');
    const output = await outputOf('ann', run);
    expect(output).toContain('sent to z');
    expect(output).toContain('Too late.');
    expect(sent).toEqual(['z']);
  });

  test('that waits comes in the stream, whose client then goes on reading', async () => {
    const { server, answer } = await serve(askingAgent().agent);
    const response = await server.fetch(postRequest('/v1/lead', 'ann', { input: 'x', stream: true }));
    let text = '';
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      const [, data] = /event: question\n(?:id: .*\n)?data: (.*)\n/u.exec(text) ?? [];
      if (data === undefined || text.includes('event: ruling')) continue;
      const { question: id, sha256 } = JSON.parse(data) as { question: string; sha256: string };
      expect((await answer('ann', { id, sha256 })).status).toBe(200);
    }
    expect(text).toContain('event: question-end');
    expect(text).toContain('Results: sent to x');
  });
});

describe('who answers', () => {
  test('a caller without right gets the words for a question that nobody asked, whatever it tries', async () => {
    const { ask, answer, get, questions } = await serve(askingAgent().agent);
    const { run, asked } = await ask('ann', 'x');
    const [{ id, sha256 }] = asked as [Asked];
    const unknown = id.replace(run, 'f'.repeat(run.length));
    const words = (reply: Reply): unknown => JSON.parse(JSON.stringify(reply).replaceAll(unknown, id));
    for (const body of [{}, { allow: false }, { args: { to: 7 } }, { sha256: 'wrong' }])
      expect(words(await answer('ben', { id, sha256 }, body, 'key'))).toEqual(
        words(await answer('ben', { id: unknown, sha256 }, body, 'key')),
      );
    expect(codeOf(await answer('ben', { id, sha256 }))).toEqual([404, 'question_unknown']);
    expect(words(await get('ben', `/v1/questions/${id}`))).toEqual(words(await get('ben', `/v1/questions/${unknown}`)));
    expect(await questions('ben')).toEqual([]);
    expect(await questions('ben', `?run=${run}`)).toEqual([]);
    expect(codeOf(await get('ben', `/v1/runs/${run}/questions`))).toEqual([404, 'run_unknown']);
    expect((await questions('ann')).map((one) => one['answers'])).toEqual([[]]);
  });

  test('a token that answers for the agent is shown what is asked and for whom, and not where in the run', async () => {
    const { ask, answer, questions, outputOf, get } = await serve(askingAgent().agent);
    const { run, asked } = await ask('ann', 'x');
    const [seen] = await questions('ops');
    const { cell: _cell, path: _path, ...rest } = asked[0]!;
    expect(seen).toEqual({ ...rest, caller: 'ann' });
    expect(codeOf(await get('ops', `/v1/runs/${run}`))).toEqual([404, 'run_unknown']);
    expect((await answer('ops', seen!)).body.state).toBe('allowed');
    expect(await outputOf('ann', run)).toBe('Results: sent to x');
  });

  test('a token that may only watch sees it, and cannot answer', async () => {
    const { ask, answer, questions } = await serve(askingAgent().agent);
    const { asked } = await ask('ann', 'x');
    for (const [token, more] of [
      ['ann-watch', {}],
      ['board-watch', { caller: 'ann' }],
    ] as const) {
      expect(await questions(token)).toMatchObject([{ id: asked[0]!.id, mayAnswer: false, path: ['lead'], ...more }]);
      expect(codeOf(await answer(token, asked[0]!))).toEqual([403, 'watch_only']);
    }
  });

  test('a rule that names people, and not the asker, is answered by them alone', async () => {
    const { ask, answer, questions } = await serve(askingAgent({ by: ['ben', 'ann'], not: 'asker' }).agent);
    const { asked } = await ask('ann', 'x');
    expect(asked[0]).toMatchObject({ mayAnswer: false, by: ['ann', 'ben'], not: 'asker' });
    expect(await questions('ops')).toEqual([]);
    for (const name of ['ann', 'ops', 'all'])
      expect(codeOf(await answer(name, asked[0]!))).toEqual([404, 'question_unknown']);
    expect((await answer('ben', asked[0]!)).body.state).toBe('allowed');
  });

  test('a quorum counts people, not answers and not keys', async () => {
    const { agent, sent } = askingAgent({ need: 2 });
    const { ask, answer, outputOf, get } = await serve(agent);
    const { run, asked } = await ask('ann', 'x');
    const [question] = asked as [Asked];
    expect((await answer('ann', question, {}, 'key')).body.state).toBe('waiting');
    expect((await answer('ann', question, {}, 'key')).body.state).toBe('waiting');
    expect(codeOf(await answer('ann', question))).toEqual([409, 'question_answered']);
    expect(codeOf(await answer('ann', question, { allow: false }, 'key'))).toEqual([422, 'key_reused']);
    expect((await get('ann', `/v1/questions/${question.id}`)).body).toMatchObject({ mayAnswer: false, state: 'open' });
    expect(sent).toEqual([]);
    // The same key of somebody else is another answer.
    expect((await answer('ops', question, {}, 'key')).body.state).toBe('allowed');
    expect(await outputOf('ann', run)).toBe('Results: sent to x');
  });
});

describe('an answer is refused', () => {
  test('for what is no question, another hash, and a body that is none', async () => {
    const { ask, answer, post } = await serve(askingAgent().agent);
    const { asked } = await ask('ann', 'x');
    const [{ id, sha256 }] = asked as [Asked];
    for (const wrong of ['x', 'q-', 'q-x-1', `${id}0`, '%00', `q-${'f'.repeat(2000)}-1`, '..%2f..%2fetc'])
      expect(codeOf(await answer('ann', { id: wrong, sha256 }))).toEqual([404, 'question_unknown']);
    expect(codeOf(await answer('ann', { id, sha256: sha256.replace(/./u, 'x') }))).toEqual([409, 'question_changed']);
    for (const body of [
      {},
      { allow: true },
      { allow: 'yes', sha256 },
      { allow: true, sha256, args: [] },
      { allow: true, sha256, remember: 'ever' },
      { allow: true, sha256, by: 'ops' },
    ])
      expect(codeOf(await post('ann', `/v1/questions/${id}`, body))).toEqual([400, 'request_invalid']);
    for (const body of [
      { args: { to: 'z' }, remember: 'run' },
      { allow: false, remember: 'run' },
    ])
      expect(codeOf(await answer('ann', asked[0]!, body))).toEqual([422, 'answer_invalid']);
    expect((await answer('ann', asked[0]!)).status).toBe(200);
  });

  test('if the question was answered, expired or cancelled; the same answer again is told what became of it', async () => {
    const { agent } = askingAgent({}, { limits: { questionTimeout: 400 } });
    const { ask, answer, post, get, outputOf } = await serve(agent);
    const first = await ask('ann', 'x');
    expect((await answer('ann', first.asked[0]!, {}, 'key')).body.state).toBe('allowed');
    expect((await answer('ann', first.asked[0]!, {}, 'key')).body.state).toBe('allowed');
    expect(codeOf(await answer('ann', first.asked[0]!))).toEqual([409, 'question_answered']);
    const second = await ask('ann', 'x');
    await outputOf('ann', second.run);
    expect((await get('ann', `/v1/questions/${second.asked[0]!.id}`)).body.state).toBe('expired');
    expect(codeOf(await answer('ann', second.asked[0]!))).toEqual([409, 'question_answered']);
    const third = await ask('ann', 'x');
    await post('ann', `/v1/runs/${third.run}/cancel`, {});
    await outputOf('ann', third.run);
    expect((await get('ann', `/v1/questions/${third.asked[0]!.id}`)).body.state).toBe('cancelled');
    expect(codeOf(await answer('ann', third.asked[0]!))).toEqual([409, 'question_answered']);
  });
});

describe('a run that waits for people', () => {
  // invariant: answer-needs-slot
  test('holds no slot, and takes one before it continues', async () => {
    const { agent } = askingAgent();
    const { ask, post, answer, outputOf } = await serve(agent, { slots: { running: 1, waiting: 4 } });
    const { run, asked } = await ask('ann', 'x');
    expect((await post('ann', '/v1/lead', { input: 'Say it.' })).body.output).toBe('Said: Say it.');
    const second = await ask('ann', 'y');
    expect((await answer('ann', asked[0]!)).body.state).toBe('allowed');
    expect(await outputOf('ann', run)).toBe('Results: sent to x');
    // An answer that is refused gives its slot back.
    expect(codeOf(await answer('ann', second.asked[0]!, { args: {} }))).toEqual([422, 'answer_invalid']);
    expect((await post('ann', '/v1/lead', { input: 'Say it.' })).body.output).toBe('Said: Say it.');
    expect((await answer('ann', second.asked[0]!)).body.state).toBe('allowed');
  });

  test('is not answered while others work in all slots; whoever answers is told so soon', async () => {
    const asking = askingAgent();
    const { agent: gated, gate } = gatedAgent();
    const cloister = await openCloister({ agents: [asking.agent, gated], store: 'memory' });
    const clock = virtualClock(1_000_000);
    const server = await openServer(cloister, { tokens, slots: { running: 1, runningPerCaller: 1 }, clock });
    const send = async (path: string, body: object): Promise<Reply> => {
      const response = await server.fetch(postRequest(path, 'ann', body));
      return { status: response.status, body: await response.json() };
    };
    const list = async () =>
      ((await (await server.fetch(getRequest('/v1/questions', 'ann'))).json()) as { questions: Asked[] }).questions;
    await send('/v1/lead', { input: 'x', wait: false });
    await expect.poll(list).toHaveLength(1);
    const [{ id, sha256 }] = (await list()) as [Asked];
    await send('/v1/gated', { input: 'Go.', wait: false });
    await gate.arrived(1);
    const refused = send(`/v1/questions/${id}`, { allow: true, sha256 });
    await clock.advance(4_000);
    expect(await Promise.race([refused, Promise.resolve('waits')])).toBe('waits');
    await clock.advance(1_000);
    expect(codeOf(await refused)).toEqual([429, 'server_busy']);
    expect(asking.sent).toEqual([]);
    const taken = send(`/v1/questions/${id}`, { allow: true, sha256 });
    gate.open();
    expect((await taken).body.state).toBe('allowed');
    await server.stop(0);
    await cloister.close();
  });

  test('holds none if it is long-lived, either', async () => {
    const { post, questions, answer, get } = await serve(askingAgent().agent, { slots: { running: 1, waiting: 0 } });
    const { body } = await post('ann', '/v1/lead', { input: 'x', resident: true, wait: false });
    await expect.poll(() => questions('ann')).toHaveLength(1);
    // The status of its agents is looked at again a moment after its last event.
    await new Promise((resolve) => void setTimeout(resolve, 400));
    expect((await post('ann', '/v1/lead', { input: 'Say it.' })).body.output).toBe('Said: Say it.');
    expect((await answer('ann', (await questions('ann'))[0]!)).body.state).toBe('allowed');
    await expect
      .poll(async () => JSON.stringify((await get('ann', `/v1/runs/${body.run}/messages`)).body))
      .toContain('Results: sent to x');
  });

  test('is not ended by its client leaving, and can be answered and read afterwards', async () => {
    const { server, questions, answer, outputOf } = await serve(askingAgent().agent);
    const client = new AbortController();
    const waiting = server.fetch(postRequest('/v1/lead', 'ann', { input: 'x' }, client.signal));
    await expect.poll(() => questions('ann')).toHaveLength(1);
    const [asked] = await questions('ann');
    client.abort();
    await expect.poll(() => questions('ann')).toEqual([asked]);
    expect((await answer('ann', asked!)).body.state).toBe('allowed');
    expect(await outputOf('ann', asked!.run)).toBe('Results: sent to x');
    await waiting;
  });

  // invariant: drain-leaves-waiting-runs
  test('is left when the server stops, its client is told, and the next server takes it up again', async () => {
    await using folder = await temporaryFolder();
    const { agent, sent } = askingAgent();
    const first = await serve(agent, { workspace: folder.path });
    const pending = first.post('ann', '/v1/lead', { input: 'x' });
    await expect.poll(() => first.questions('ann')).toHaveLength(1);
    const [asked] = await first.questions('ann');
    const before = Date.now();
    expect(await first.server.stop(60_000)).toEqual([asked!.run]);
    expect(Date.now() - before).toBeLessThan(20_000);
    const told = await pending;
    expect(codeOf(told)).toEqual([503, 'server_stopping']);
    expect(told.body.error.message).toContain('can be resumed');
    await first.close();

    const second = await serve(agent, { workspace: folder.path, port: 0 });
    await second.server.listen();
    await expect.poll(async () => (await second.get('ann', '/v1/runs')).body.runs[0].state).toBe('waiting');
    expect(await second.questions('ann')).toEqual([asked]);
    expect((await second.answer('ann', asked!)).body.state).toBe('allowed');
    expect(await second.outputOf('ann', asked!.run)).toBe('Results: sent to x');
    expect(sent).toEqual(['x']);
  });

  test('is looked up for at most 256 answers of one request', async () => {
    const { agent } = askingAgent();
    const { ask, post, questions } = await serve(agent);
    const { asked } = await ask('ann', 'x');
    const { id } = asked[0]!;
    const part = { type: 'dynamic-tool', toolName: 'send', toolCallId: id, state: 'approval-responded', input: {} };
    const bodies = (count: number): readonly (readonly [path: string, body: object])[] => {
      const many = <T>(one: T): readonly T[] => Array.from({ length: count }, () => one);
      const resume = many({ interruptId: id, status: 'cancelled' });
      const parts = many({ ...part, approval: { id, approved: false } });
      const input = many({ type: 'mcp_approval_response', approval_request_id: id, approve: false });
      return [
        ['/ag-ui/lead', { threadId: 't', runId: 'r', messages: [], resume }],
        ['/ui/lead', { id: 'c', messages: [{ role: 'assistant', parts }] }],
        ['/v1/responses', { model: 'lead', input }],
      ];
    };
    for (const [path, body] of bodies(257))
      expect([path, JSON.stringify((await post('ann', path, body)).body)]).toEqual([
        path,
        expect.stringContaining('One request can bring 256 answers, and this one has 257.'),
      ]);
    expect(await questions('ann')).toHaveLength(1);
  });

  test('is taken up again with all others of its caller, however many there are', async () => {
    await using folder = await temporaryFolder();
    const { agent } = askingAgent();
    const first = await serve(agent, { workspace: folder.path });
    for (let nth = 0; nth < 70; nth++) await first.post('ann', '/v1/lead', { input: 'x', wait: false });
    await expect.poll(() => first.questions('ann')).toHaveLength(70);
    await first.close();
    const second = await serve(agent, { workspace: folder.path, port: 0 });
    await second.server.listen();
    const waiting = async (): Promise<number> =>
      (await second.get('ann', '/v1/runs?limit=100')).body.runs.filter(({ state }: any) => state === 'waiting').length;
    await expect.poll(waiting, { timeout: 15_000 }).toBe(70);
  });

  test('and that nobody owns is resumed by its answer, unless its agents have changed', async () => {
    await using folder = await temporaryFolder();
    const { agent } = askingAgent();
    const first = await serve(agent, { workspace: folder.path });
    const { run, asked } = await first.ask('ann', 'x');
    await first.close();
    const lines: unknown[] = [];
    const changed = await serve(askingAgent({}, { prompt: 'Send it otherwise.' }).agent, {
      workspace: folder.path,
      port: 0,
      log: (line) => line.type === 'resume' && lines.push(line),
    });
    expect(await changed.questions('ann')).toMatchObject([{ state: 'stale', mayAnswer: false }]);
    const refused = await changed.answer('ops', asked[0]!);
    expect(codeOf(refused)).toEqual([409, 'question_stale']);
    // Which agents of a run have changed is told to whoever sees the run.
    expect(refused.body.error.message).not.toContain('definition');
    expect((await changed.answer('ann', asked[0]!)).body.error.message).toContain('definition of "lead" has changed');
    await changed.server.listen();
    await expect.poll(() => lines).toMatchObject([{ run, code: 'question_stale' }]);
    await changed.close();
    const second = await serve(agent, { workspace: folder.path, resumeInterrupted: false });
    expect((await second.get('ann', '/v1/runs')).body.runs).toMatchObject([{ run, state: 'waiting' }]);
    expect((await second.answer('ops', asked[0]!)).body.state).toBe('allowed');
    expect(await second.outputOf('ann', run)).toBe('Results: sent to x');
  });
});

// invariant: question-settles-once
test('of two answers at the same moment, from two servers, one is the ruling and the other is told so', async () => {
  await using folder = await temporaryFolder();
  const { agent, sent } = askingAgent();
  const options = { workspace: folder.path, resumeInterrupted: false };
  const [here, there] = [await serve(agent, options), await serve(agent, options)];
  const { run, asked } = await here.ask('ann', 'a b c d', 4);
  const replies = await Promise.all(
    asked.flatMap((one) => [here.answer('ann', one), there.answer('ops', one, { allow: false })]),
  );
  for (let nth = 0; nth < replies.length; nth += 2) {
    const pair = replies.slice(nth, nth + 2);
    expect(pair.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409]);
    expect(pair.find(({ status }) => status === 409)!.body.error.code).toBe('question_answered');
  }
  await here.outputOf('ann', run);
  const allowed = replies.filter(({ body }) => body.state === 'allowed');
  expect(sent).toHaveLength(allowed.length);
  for (const { id } of asked) expect((await there.get('ann', `/v1/questions/${id}`)).body.answers).toHaveLength(1);
  expect((await here.cloister.audit(run)).problems).toEqual([]);
  // What does not fit is refused by the process that owns the run, too.
  const second = await here.ask('ann', 'x');
  expect(codeOf(await there.answer('ops', second.asked[0]!, { args: { to: 7 } }))).toEqual([422, 'answer_invalid']);
  expect((await there.answer('ops', second.asked[0]!)).body.state).toBe('allowed');
});

// invariant: waiting-runs-bounded
test('a thousand runs wait: they are listed and answered quickly, and no more are started for their caller', async () => {
  const { agent } = askingAgent();
  const { post, questions, answer, get } = await serve(agent);
  for (let nth = 0; nth < 1000; nth++)
    expect((await post('ann', '/v1/lead', { input: 'x', wait: false })).status).toBe(202);
  await expect
    .poll(
      async () =>
        (await get('ann', '/v1/runs?limit=1000')).body.runs.filter((one: any) => one.state === 'waiting').length,
      { timeout: 20_000 },
    )
    .toBe(1000);
  const refused = await post('ann', '/v1/lead', { input: 'x', wait: false });
  expect(codeOf(refused)).toEqual([429, 'server_busy']);
  expect(refused.body.error.message).toContain('1000 of your runs wait for people');
  expect((await post('ben', '/v1/lead', { input: 'Say it.' })).status).toBe(200);
  const before = performance.now();
  const all = await questions('ann', '?limit=1000');
  expect(all).toHaveLength(1000);
  expect((await answer('ann', all[500]!)).status).toBe(200);
  expect((await questions('ann', '?limit=1000')).map(({ id }) => id)).toEqual(
    all.map(({ id }) => id).toSpliced(500, 1),
  );
  // Takes about a tenth of a second on a machine with nothing else to do.
  expect(performance.now() - before).toBeLessThan(5_000);
  const page = (await get('ann', '/v1/questions')).body;
  expect([page.questions.length, page.more]).toEqual([100, true]);
  expect((await post('ann', '/v1/lead', { input: 'Say it.' })).status).toBe(200);
});
