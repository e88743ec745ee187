// Questions to people, as code and other processes see them: asked, listed, answered, left and resumed.
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister, QuestionReport, RunSession, ToolDefinition } from 'cloister';
import { CloisterError, isExactJson } from '#base';
import { rehearse, virtualClock } from '#testkit';
import type { ScriptLine } from '#testkit';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

type Sent = Record<string, unknown>[];

const sendTool = (sent: Sent, over: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'send',
  description: 'Sends a letter.',
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string' } },
    required: ['to'],
    additionalProperties: false,
  },
  approve: true,
  execute: (args) => {
    sent.push(args);
    return `Sent to ${args['to'] as string}.`;
  },
  ...over,
});

const agent = (name: string, lines: readonly ScriptLine[], over: Partial<Parameters<typeof defineAgent>[0]>): Agent =>
  defineAgent({ name, description: name, prompt: `You are ${name}.`, models: [rehearse(lines)], ...over });

/** A lead, a desk below it, and a clerk below that, who calls `send` for each of these names. */
const office = (
  sent: Sent,
  names: readonly string[] = ['ann'],
  over: Partial<Parameters<typeof defineAgent>[0]> = {},
  overLead: Partial<Parameters<typeof defineAgent>[0]> = {},
) => {
  const passOn = (tool: string): readonly ScriptLine[] => [
    { when: { turn: 1 }, reply: { calls: [{ tool, args: { prompt: 'Write.' } }] } },
    { reply: '{{results}}' },
  ];
  const clerk = agent(
    'clerk',
    [
      { when: { turn: 1 }, reply: { calls: names.map((to) => ({ tool: 'send', args: { to } })) } },
      { reply: '{{results}} {{last}}' },
    ],
    { tools: [sendTool(sent)], ...over },
  );
  const desk = agent('desk', passOn('clerk'), { agents: [clerk] });
  return agent('lead', passOn('desk'), { agents: [desk], ...overLead });
};

const waiting = async (session: RunSession): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  session.onWaiting((waits) => {
    if (waits) resolve();
  });
  if (!session.waitsForPeople) await promise;
  await session.durable();
};

const codeOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => (error instanceof CloisterError ? error.code : error),
  );

const allow = ({ sha256 }: QuestionReport) => ({ allow: true, sha256 });

const asked = async (cloister: Cloister): Promise<readonly QuestionReport[]> => {
  const session = cloister.run('lead', 'Go');
  await waiting(session);
  return cloister.questions({ run: session.run });
};

// invariant: marked-call-asks-first
// invariant: question-recorded-before-wait
test('a tool that is marked asks at any depth, and is called once it is allowed', async () => {
  const sent: Sent = [];
  await using cloister = await openCloister({ agents: [office(sent)], store: 'memory' });
  const session = cloister.run('lead', 'Go');
  await waiting(session);
  const [question] = await session.questions();
  expect(question).toMatchObject({
    agent: 'clerk',
    path: ['lead', 'desk', 'clerk'],
    tool: 'send',
    args: { to: 'ann' },
    why: 'tool',
    state: 'open',
    need: 1,
  });
  expect(sent).toEqual([]);
  expect(await cloister.answer(question!.id, allow(question!))).toMatchObject({ state: 'allowed' });
  expect((await session.outcome).output).toContain('Sent to ann.');
  expect(sent).toEqual([{ to: 'ann' }]);
  expect((await cloister.audit(session.run)).problems).toEqual([]);
  expect((await cloister.replay(session.run)).differences).toEqual([]);
});

// invariant: answered-is-what-runs
test('a person can change the arguments, which must fit, and the model is told', async () => {
  const sent: Sent = [];
  await using cloister = await openCloister({ agents: [office(sent)], store: 'memory' });
  const session = cloister.run('lead', 'Go');
  await waiting(session);
  const [question] = await session.questions();
  const { id } = question!;
  expect(await codeOf(cloister.answer(id, { ...allow(question!), args: { to: 7 } }))).toBe('answer_invalid');
  expect(await codeOf(cloister.answer(id, { ...allow(question!), args: { to: 'eve', cc: 'x' } }))).toBe(
    'answer_invalid',
  );
  await cloister.answer(id, { ...allow(question!), args: { to: 'eve' } });
  const { output } = await session.outcome;
  expect(output).toContain('It was called with: {"to":"eve"}');
  expect(sent).toEqual([{ to: 'eve' }]);
});

// invariant: ruling-names-what-was-shown
// invariant: question-settles-once
test('an answer with another hash, a second one and one for an unknown question change nothing', async () => {
  const sent: Sent = [];
  await using cloister = await openCloister({ agents: [office(sent, ['ann', 'bob'])], store: 'memory' });
  const [one, two] = await asked(cloister);
  expect(await codeOf(cloister.answer(one!.id, { allow: true, sha256: two!.sha256 }))).toBe('question_changed');
  expect(await codeOf(cloister.answer('q-nothing-3', allow(one!)))).toBe('question_unknown');
  expect(await codeOf(cloister.answer(`${one!.id}0`, allow(one!)))).toBe('question_unknown');
  await cloister.answer(one!.id, { allow: false, sha256: one!.sha256, reason: 'Not now.' }, { id: 'mine' });
  expect(await codeOf(cloister.answer(one!.id, allow(one!)))).toBe('question_answered');
  // The same answer, sent again.
  expect(await cloister.answer(one!.id, { allow: false, sha256: one!.sha256 }, { id: 'mine' })).toMatchObject({
    state: 'denied',
  });
  await cloister.answer(two!.id, allow(two!));
  expect((await cloister.questions({ run: one!.run, all: true })).map(({ state }) => state)).toEqual([
    'denied',
    'allowed',
  ]);
});

// invariant: expired-is-denied
// invariant: pause-when-nothing-works
test('a question that nobody answers is denied, and the time in which it waited counts for nobody', async () => {
  const sent: Sent = [];
  const clock = virtualClock();
  const lead = office(sent, ['ann'], { limits: { questionTimeout: 3_600_000 } });
  await using cloister = await openCloister({ agents: [lead], store: 'memory', clock });
  const session = cloister.run('lead', 'Go', { budget: { ms: 5_000 } });
  await waiting(session);
  await clock.advance(3_600_001);
  const outcome = await session.outcome;
  expect(outcome.status).toBe('completed');
  expect(outcome.output).toContain('Nobody allowed this call in time');
  expect(outcome.spent.ms).toBeLessThan(1_000);
  expect(sent).toEqual([]);
});

// invariant: answer-durable-before-told
// invariant: answer-resumes-run
test('another process answers: the owner takes it, and a run that nobody owns is resumed by whoever answers', async () => {
  await using folder = await temporaryFolder();
  const workspace = folder.path;
  const sent: Sent = [];
  const owner = await openCloister({ agents: [office(sent, ['ann', 'bob'])], workspace });
  const session = owner.run('lead', 'Go');
  await waiting(session);
  await using other = await openCloister({ agents: [office(sent, ['ann', 'bob'])], workspace });
  const [one, two] = await other.questions();
  expect(await other.answer(one!.id, allow(one!))).toMatchObject({ state: 'allowed' });
  await waiting(session);
  await owner.close();
  expect(await codeOf(session.outcome)).toBe('approval_needed');
  expect((await other.runs())[0]!.state).toBe('interrupted');
  const receipt = await other.answer(two!.id, { allow: false, sha256: two!.sha256, reason: 'Bob has moved.' });
  expect(receipt.state).toBe('denied');
  expect((await receipt.session!.outcome).output).toContain('They said: Bob has moved.');
  expect(sent).toEqual([{ to: 'ann' }]);
  expect((await other.audit(session.run)).problems).toEqual([]);
});

test.each([
  ['its own', (sent: Sent) => office(sent, ['ann'], {}, { prompt: 'You are another lead.' })],
  ['that of an agent below', (sent: Sent) => office(sent, ['ann'], { prompt: 'You are another clerk.' })],
])('if the agents have changed, the question is stale, and nothing is called: %s', async (_whose, change) => {
  await using folder = await temporaryFolder();
  const workspace = folder.path;
  const sent: Sent = [];
  const owner = await openCloister({ agents: [office(sent)], workspace });
  await waiting(owner.run('lead', 'Go'));
  await owner.close();
  await using other = await openCloister({ agents: [change(sent)], workspace });
  const [question] = await other.questions();
  expect(question!.state).toBe('stale');
  expect(await codeOf(other.answer(question!.id, allow(question!)))).toBe('question_stale');
  expect((await other.questions()).map(({ state }) => state)).toEqual(['stale']);
  expect(await codeOf(other.answer(question!.id, allow(question!)))).toBe('question_stale');
  expect(sent).toEqual([]);
  // Whoever owns the run has the agents as they were.
  await using same = await openCloister({ agents: [office(sent)], workspace });
  await waiting(await same.resume(question!.run));
  expect((await other.questions()).map(({ state }) => state)).toEqual(['open']);
  expect(await other.answer(question!.id, allow(question!))).toMatchObject({ state: 'allowed' });
  expect(sent).toEqual([{ to: 'ann' }]);
});

// invariant: answer-needs-right
// invariant: answer-right-from-operator
test('who may answer is the rule of the operator: names, enough of them, and not whoever asked', async () => {
  const sent: Sent = [];
  const lead = office(sent, ['ann'], { approve: { send: { by: ['ops', 'cfo', 'lea'], need: 2, not: 'asker' } } });
  await using cloister = await openCloister({ agents: [lead], store: 'memory' });
  const session = cloister.run('lead', 'Go', { caller: 'lea' });
  await waiting(session);
  const [question] = await session.questions();
  expect(question).toMatchObject({ need: 2, by: ['cfo', 'lea', 'ops'], not: 'asker', caller: 'lea' });
  const answer = (by?: string) => cloister.answer(question!.id, allow(question!), by === undefined ? {} : { by });
  expect(await codeOf(answer())).toBe('question_unknown');
  expect(await codeOf(answer('lea'))).toBe('question_unknown');
  expect(await answer('ops')).toMatchObject({ state: 'waiting' });
  expect(await codeOf(answer('ops'))).toBe('question_answered');
  expect(sent).toEqual([]);
  expect(await answer('cfo')).toMatchObject({ state: 'allowed' });
  await session.outcome;
  expect(sent).toEqual([{ to: 'ann' }]);
  expect((await cloister.audit(session.run)).problems).toEqual([]);
});

test('an answer for the run covers the same call again, and no other one', async () => {
  const sent: Sent = [];
  const clerk = agent(
    'clerk',
    [
      { when: { turn: 1 }, reply: { calls: [{ tool: 'send', args: { to: 'ann' } }] } },
      { when: { turn: 2 }, reply: { calls: ['ann', 'bob'].map((to) => ({ tool: 'send', args: { to } })) } },
      { reply: 'Done.' },
    ],
    { tools: [sendTool(sent)] },
  );
  await using cloister = await openCloister({ agents: [clerk], store: 'memory' });
  const session = cloister.run('clerk', 'Go');
  await waiting(session);
  const [first] = await session.questions();
  await cloister.answer(first!.id, { ...allow(first!), remember: 'run' });
  await waiting(session);
  const [second, ...more] = await session.questions();
  expect(second!.args).toEqual({ to: 'bob' });
  expect(more).toEqual([]);
  await cloister.answer(second!.id, allow(second!));
  await session.outcome;
  expect(sent).toEqual([{ to: 'ann' }, { to: 'ann' }, { to: 'bob' }]);
  expect((await cloister.audit(session.run)).problems).toEqual([]);
});

test('an agent that may ask gets the words of the person, or that there are none', async () => {
  const asker = agent(
    'asker',
    [
      {
        when: { turn: 1 },
        reply: {
          calls: [
            { tool: 'ask_person', args: { question: 'Which tea?', options: ['green', 'black'] } },
            { tool: 'ask_person', args: { question: 'Why?' } },
          ],
        },
      },
      { reply: '{{results}}' },
    ],
    { asks: true },
  );
  await using cloister = await openCloister({ agents: [asker], store: 'memory' });
  const session = cloister.run('asker', 'Go');
  await waiting(session);
  const [which, why] = await session.questions();
  expect(which).toMatchObject({ why: 'agent', tool: 'ask_person' });
  expect(await codeOf(cloister.answer(which!.id, allow(which!)))).toBe('answer_invalid');
  expect(await codeOf(cloister.answer(which!.id, { ...allow(which!), reason: 'red' }))).toBe('answer_invalid');
  await cloister.answer(which!.id, { ...allow(which!), reason: 'green' });
  const [answered] = (await cloister.questions({ all: true })).filter(({ id }) => id === which!.id);
  expect(answered!.answers).toMatchObject([{ by: 'operator', allow: true, reason: 'green' }]);
  await cloister.answer(why!.id, { allow: false, sha256: why!.sha256 });
  const { output } = await session.outcome;
  expect(output).toContain('The person answered: green');
  expect(output).toContain('did not want to answer');
  expect((await cloister.audit(session.run)).problems).toEqual([]);
  expect((await cloister.replay(session.run)).differences).toEqual([]);
});

test('a thousand open questions are listed and answered', async () => {
  const sent: Sent = [];
  const names = Array.from({ length: 50 }, (_, no) => `n${no}`);
  const lead = office(sent, names, { limits: { parallelToolCalls: 50 } });
  await using cloister = await openCloister({ agents: [lead], store: 'memory' });
  const sessions = Array.from({ length: 20 }, () => cloister.run('lead', 'Go'));
  await Promise.all(sessions.map(waiting));
  const questions = await cloister.questions();
  expect(questions).toHaveLength(1_000);
  await Promise.all(questions.map((question) => cloister.answer(question.id, allow(question))));
  const outcomes = await Promise.all(sessions.map(({ outcome }) => outcome));
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(sent).toHaveLength(1_000);
});

test('the tool servers of a cell that waits for a person are closed after a while, and opened again for the call', async () => {
  const sent: Sent = [];
  const clock = virtualClock();
  const opened: string[] = [];
  const source = (name: string) => ({
    name,
    list: async () => {
      opened.push(`open ${name}`);
      return { tools: [sendTool(sent)], close: async () => void opened.push(`close ${name}`) };
    },
  });
  const clerk = agent(
    'clerk',
    [{ when: { turn: 1 }, reply: { calls: [{ tool: 'post__send', args: { to: 'ann' } }] } }, { reply: '{{results}}' }],
    { tools: [source('post')] },
  );
  const desk = agent(
    'desk',
    [{ when: { turn: 1 }, reply: { calls: [{ tool: 'clerk', args: { prompt: 'Go' } }] } }, { reply: '{{results}}' }],
    { agents: [clerk], tools: [source('shelf')] },
  );
  await using cloister = await openCloister({ agents: [desk], store: 'memory', clock, serverIdleMs: 60_000 });
  const session = cloister.run('desk', 'Go');
  await waiting(session);
  await clock.advance(59_000);
  expect(opened).toEqual(['open shelf', 'open post']);
  await clock.advance(2_000);
  expect(opened.slice(2).toSorted()).toEqual(['close post', 'close shelf']);
  const [question] = await session.questions();
  await cloister.answer(question!.id, allow(question!));
  expect((await session.outcome).output).toContain('Sent to ann.');
  expect(opened.slice(4)).toEqual(['open post', 'close post']);
});

test('a tool that the operator marks while a run waits makes its questions stale, and is not called', async () => {
  await using folder = await temporaryFolder();
  const sent: Sent = [];
  const names = ['ann'];
  const other = (approve: readonly string[]) => office(sent, names, { tools: [sendTool(sent), 'write_file'], approve });
  const owner = await openCloister({ agents: [other([])], workspace: folder.path });
  await waiting(owner.run('lead', 'Go'));
  await owner.close();
  await using next = await openCloister({ agents: [other(['write_file'])], workspace: folder.path });
  const [question] = await next.questions();
  expect(await codeOf(next.answer(question!.id, allow(question!)))).toBe('question_stale');
  expect(sent).toEqual([]);
});

test('an agent that has answered waits for a spawned one as long as that one waits for a person', async () => {
  const sent: Sent = [];
  const clock = virtualClock();
  const clerk = agent(
    'clerk',
    [
      { when: { turn: 1 }, reply: { calls: [{ tool: 'send', args: { to: 'ann' } }] } },
      { reply: 'Written: {{results}}' },
    ],
    { tools: [sendTool(sent)] },
  );
  const lead = agent(
    'lead',
    [
      {
        when: { turn: 1 },
        reply: { calls: [{ tool: 'spawn_agent', args: { agent_id: 'clerk', initial_message: 'Go' } }] },
      },
      { reply: 'Somebody writes.' },
    ],
    { tools: ['spawn_agent'], spawns: { agents: [clerk], waitMs: 60_000 } },
  );
  await using cloister = await openCloister({ agents: [lead], store: 'memory', clock });
  const session = cloister.run('lead', 'Go', { budget: { ms: 90_000 } });
  await waiting(session);
  await clock.advance(7_200_000);
  const [question] = await session.questions();
  await cloister.answer(question!.id, allow(question!));
  const { status, spawned } = await session.outcome;
  expect([status, spawned?.map(({ output }) => output)]).toEqual(['completed', ['Written: Sent to ann.']]);
  expect((await cloister.audit(session.run)).problems).toEqual([]);
  expect((await cloister.replay(session.run)).differences).toEqual([]);
});

// invariant: answer-not-forked
test('an answer allows one call of the run that asked: a fork asks again, and gets neither its answers nor what was remembered', async () => {
  const sent: Sent = [];
  const clerk = agent(
    'clerk',
    [
      { when: { turn: 1 }, reply: { calls: [{ tool: 'send', args: { to: 'ann' } }] } },
      { when: { turn: 2 }, reply: { calls: [{ tool: 'send', args: { to: 'ann' } }] } },
      { reply: 'Done.' },
    ],
    { tools: [sendTool(sent)], approve: { send: { need: 2 } } },
  );
  await using cloister = await openCloister({ agents: [clerk], store: 'memory' });
  const session = cloister.run('clerk', 'Go');
  await waiting(session);
  const [question] = await session.questions();
  for (const by of ['ann', 'bob'])
    await cloister.answer(question!.id, { ...allow(question!), remember: 'run' }, { by });
  await session.outcome;
  expect(sent).toHaveLength(2);
  const { cells } = await cloister.show(session.run);
  for (const op of [2, 3]) {
    const fork = await cloister.fork(session.run, { at: `${cells[0]!.cell}/${op}` });
    await waiting(fork);
    expect((await fork.questions()).map(({ answers, state }) => [answers, state])).toEqual([[[], 'open']]);
    const [again] = await fork.questions();
    await cloister.answer(again!.id, { allow: false, sha256: again!.sha256 });
    if (op === 2) {
      await waiting(fork);
      const [last] = await fork.questions();
      await cloister.answer(last!.id, { allow: false, sha256: last!.sha256 });
    }
    await fork.outcome;
    expect((await cloister.audit(fork.run)).problems).toEqual([]);
    expect((await cloister.replay(fork.run)).differences).toEqual([]);
  }
  expect(sent).toHaveLength(2);
});

test('a number that cannot be shown is refused', async () => {
  const got: unknown[] = [];
  const pay: ToolDefinition = {
    name: 'pay',
    description: 'Pays.',
    inputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    approve: true,
    execute: (args) => void got.push(args) as never,
  };
  const clerk = agent(
    'clerk',
    [{ when: { turn: 1 }, reply: { calls: [{ tool: 'pay', args: { sum: 1 } }] } }, { reply: '{{results}}' }],
    { tools: [pay] },
  );
  await using cloister = await openCloister({ agents: [clerk], store: 'memory' });
  const session = cloister.run('clerk', 'Go');
  await waiting(session);
  const one = (await session.questions())[0]!;
  expect([1, 0.5, -3, { a: [2] }].map(isExactJson)).toEqual([true, true, true, true]);
  expect([JSON.parse('1e400'), -0, Number.NaN, { a: [Infinity] }].map(isExactJson)).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(await codeOf(cloister.answer(one.id, { ...allow(one), args: { sum: Infinity } }))).toBe('answer_invalid');
  session.cancel();
  await session.outcome;
  expect(got).toEqual([]);
});
