// Mail through the library: resident sessions, messages, answers, topics and routed content, and what happens to them.
import { defineAgent, openCloister } from 'cloister';
import type { AgentOptions, Answer, Cloister, Mail, RunSession } from 'cloister';
import { describe, expect, onTestFinished, test } from 'vitest';
import { rehearse } from '#testkit';
import type { ScriptLine, RequestView } from '#testkit';
import { newWorkspace, ref, historyLines } from './conversations-driver.ts';

/** The text of the newest message that it was shown, which is framed if an agent sent it. */
const receivedText = ({ lastText }: RequestView): string =>
  lastText
    .split('\n')
    .at(-1)!
    .replace(/^(?:\| |Your task: )/u, '');

const calls = (tool: string, args: Readonly<Record<string, unknown>> = {}) => ({
  calls: [{ tool, args: args as never }],
});

/** A message `<tool> <args as JSON>` makes the lead call that tool; to any other it answers what it heard. */
const followInstructions: ScriptLine = {
  reply: (request) => {
    const order = /^(?<tool>[a-z_]+) (?<args>\{.*\})$/u.exec(receivedText(request))?.groups;
    if (request.toolResults.length > 0) return `done: ${request.toolResults.map(({ text }) => text).join(' ')}`;
    if (order !== undefined) return calls(order['tool']!, JSON.parse(order['args']!));
    return `${request.agent} heard ${receivedText(request)}`;
  },
};

const mailTools = ['spawn_agent', 'shutdown_agent', 'send_message', 'receive_message', 'publish', 'subscribe'];

type Opening = {
  readonly says?: readonly ScriptLine[];
  readonly lead?: Partial<AgentOptions>;
  readonly scout?: Partial<AgentOptions>;
  readonly workspace?: string;
};

const open = async ({ says = [], lead = {}, scout = {}, workspace }: Opening = {}) => {
  const model = rehearse([...says, followInstructions]);
  const helper = defineAgent({ name: 'scout', description: 'Scouts.', prompt: 'Scout.', topics: ['news'], ...scout });
  const leader = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    tools: mailTools,
    topics: ['news', 'plans'],
    spawns: { agents: [helper] },
    ...lead,
  });
  const place = workspace === undefined ? ({ store: 'memory' } as const) : { workspace };
  const cloister = await openCloister({ ...place, agents: [leader], models: [model] });
  onTestFinished(() => cloister.close());
  return { cloister, model };
};

const spawnScout = (more: object = {}): string => `spawn_agent ${JSON.stringify({ agent_id: 'scout', ...more })}`;

/** Ends the session, and audits its log. */
const endAndAudit = async (cloister: Cloister, session: RunSession) => {
  session.finish();
  const outcome = await session.outcome;
  expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(session.run)).toMatchObject({ ok: true });
  return outcome;
};

const codeOf = async (what: () => unknown): Promise<string> => {
  try {
    await what();
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as { failure: { detail?: string } }).failure.detail}`;
  }
  return 'nothing was thrown';
};

const thrownCode = (what: () => unknown): string => {
  try {
    what();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'nothing was thrown';
};

describe('a resident session', () => {
  test('answers one message after the other, waits in between, and ends with its newest answer', async () => {
    const { cloister } = await open();
    const session = await cloister.spawn('lead');
    expect(session.resident).toBe(true);
    const answers: Answer[] = [];
    for (const text of ['one', 'two', 'three']) {
      answers.push(await session.ask(text));
      expect(session.agents()).toMatchObject([{ sub_agent_id: 'lead', agent: 'lead', parent: null }]);
    }
    expect(answers.map(({ text, status, agent_id, error }) => ({ text, status, agent_id, error }))).toEqual(
      ['one', 'two', 'three'].map((text) => ({
        text: `lead heard ${text}`,
        status: 'completed',
        agent_id: 'lead',
        error: null,
      })),
    );
    expect(await endAndAudit(cloister, session)).toMatchObject({ status: 'completed', output: 'lead heard three' });
    expect(session.agents()).toEqual([]);
  });

  test('gets its first message, and the answer to it can be requested at any time', async () => {
    const { cloister } = await open();
    const session = await cloister.spawn('lead', { message: 'begin' });
    const [first, second] = await Promise.all([session.answer(), session.ask('and then')]);
    expect([first.text, first.correlation_id, second.text]).toEqual(['lead heard begin', null, 'lead heard and then']);
    expect(await session.answer()).toEqual(first);
    expect(await session.answer(second.correlation_id!)).toEqual(second);
    await endAndAudit(cloister, session);
  });

  test('continues after failed work: the answer says why', async () => {
    const { cloister } = await open({ says: [{ when: { text: 'fail' }, times: 1, reply: { fault: 400 } }] });
    const session = await cloister.spawn('lead');
    await session.ask('before');
    expect(await session.ask('fail')).toMatchObject({ status: 'failed', error: 'model_request', text: '' });
    expect(await session.ask('after')).toMatchObject({ status: 'completed', text: 'lead heard after' });
    await endAndAudit(cloister, session);
  });

  test('whose run ends gives no answer: the promise says how it ended', async () => {
    const { cloister } = await open({ says: [{ when: { text: 'wait' }, reply: { fault: 'timeout' } }] });
    const session = await cloister.spawn('lead');
    const answer = session.ask('wait');
    session.cancel();
    expect(await codeOf(() => answer)).toMatch(
      /^cancelled: Run \w+ ended \(cancelled\) without answering the message\./u,
    );
    expect(await codeOf(() => session.send('late'))).toMatch(/^cell_ended: /u);
    expect(await codeOf(() => session.finish())).toMatch(/^cell_ended: /u);
  });

  test('answers one asker at a time: another that wrote at the same time is not shown the answer', async () => {
    const busy = Promise.withResolvers<string>();
    const think = { name: 'think', description: 'Thinks.', inputSchema: {}, execute: () => busy.promise };
    const one = (name: string, options: Partial<AgentOptions>) =>
      defineAgent({ name, description: 'Helps.', prompt: `You are called ${name}.`, ...options });
    const visitors = ['ann', 'bob'].map((name) => one(name, { tools: ['send_message'], messages: ['parent', 'desk'] }));
    const desk = one('desk', { tools: [think], messages: ['parent', 'ann', 'bob'] });
    const { cloister, model } = await open({
      says: [
        {
          when: ({ agent, lastText }) => agent === 'desk' && lastText.includes('PIN'),
          reply: 'Ann, your PIN is 4711.',
        },
        { when: ({ agent, lastText }) => agent === 'desk' && lastText.includes('close'), reply: 'At six.' },
      ],
      lead: { spawns: { agents: [desk, ...visitors] } },
    });
    const session = await cloister.spawn('lead');
    for (const name of ['desk', 'ann', 'bob']) await session.ask(`spawn_agent {"agent_id":"${name}"}`);
    session.send('think {}', { to: 'desk' });
    await session.ask('send_message {"to":"desk","message":"My PIN?"}', { to: 'ann' });
    await session.ask('send_message {"to":"desk","message":"When do you close?"}', { to: 'bob' });
    busy.resolve('Well.');
    for await (const event of session)
      if (
        event.type === 'mail' &&
        event.state === 'read' &&
        event.message_type === 'answer' &&
        event.recipient_id === 'bob'
      )
        break;
    await endAndAudit(cloister, session);
    const shownTo = (name: string): string =>
      JSON.stringify(model.requests.filter(({ prompt }) => JSON.stringify(prompt).includes(`called ${name}.`)));
    expect(shownTo('bob')).toContain('At six.');
    expect(shownTo('bob')).not.toContain('4711');
    expect(shownTo('ann')).toContain('4711');
    expect(shownTo('ann')).not.toContain('At six.');
  });

  // invariant: mailbox-bounded-per-sender
  test('has room for each sender, however much another has written', async () => {
    const busy = Promise.withResolvers<string>();
    const think = { name: 'think', description: 'Thinks.', inputSchema: {}, execute: () => busy.promise };
    const one = (name: string, options: Partial<AgentOptions>) =>
      defineAgent({ name, description: 'Helps.', prompt: `You are called ${name}.`, ...options });
    const limits = { max_steps: 1_000, maxToolCallsPerTurn: 101 };
    const visitors = ['ann', 'bob'].map((name) =>
      one(name, { tools: ['send_message'], messages: ['parent', 'desk'], limits }),
    );
    const desk = one('desk', { tools: [think], messages: ['parent', 'ann', 'bob'] });
    const letter = { tool: 'send_message', args: { to: 'desk', message: 'Hi.' } };
    const { cloister } = await open({
      says: [
        {
          when: ({ lastText }) => lastText.includes('flood'),
          times: 1,
          reply: { calls: Array.from({ length: 101 }, () => letter) },
        },
      ],
      lead: { spawns: { agents: [desk, ...visitors] } },
    });
    const session = await cloister.spawn('lead');
    for (const name of ['desk', 'ann', 'bob']) await session.ask(`spawn_agent {"agent_id":"${name}"}`);
    session.send('think {}', { to: 'desk' });
    const flood = await session.ask('flood', { to: 'ann' });
    expect(flood.text.match(/"queued"|"MAILBOX_FULL"/gu)).toEqual([
      ...Array.from({ length: 100 }, () => '"queued"'),
      '"MAILBOX_FULL"',
    ]);
    const letterOfBob = await session.ask('send_message {"to":"desk","message":"Hi."}', { to: 'bob' });
    expect(letterOfBob.text).toContain('"queued"');
    busy.resolve('Well.');
    await endAndAudit(cloister, session);
  });

  test('answers messages it read in the middle of other work together with that work', async () => {
    const { cloister } = await open({ says: [{ when: { text: 'one' }, times: 1, reply: calls('receive_message') }] });
    const session = await cloister.spawn('lead');
    const first = session.ask('one');
    for await (const event of session) if (event.type === 'tool-start') break;
    const [one, two] = await Promise.all([first, session.ask('two')]);
    expect(two).toEqual(one);
    expect(one.text).toMatch(/^done: [^]*two/u);
    await endAndAudit(cloister, session);
  });
});

describe('before the session has begun', () => {
  /** A run is returned before its log is open. */
  const opening = async () => {
    const { cloister } = await open();
    const begin = (agent: Parameters<Cloister['run']>[0] = 'lead', goal = 'Go.'): RunSession => {
      const session = cloister.run(agent, goal);
      expect(session.agents()).toEqual([]);
      return session;
    };
    return { cloister, begin };
  };

  test('messages wait in order, under the ids that were returned', async () => {
    const { cloister, begin } = await opening();
    const session = begin();
    session.addContext('It rains.');
    const ids = [session.send('one'), session.send('two', { to: 'lead' }), session.send('three')];
    const unread = codeOf(() => session.answer(ids[2]));
    await session.outcome;
    const mail = await cloister.mail(session.run);
    expect(mail.map(({ id, agent_id, state }) => [id, agent_id, state])).toEqual(ids.map((id) => [id, null, 'dead']));
    expect(await unread).toBe('cell_ended: lead did not read the message (ended).');
    expect(await cloister.audit(session.run)).toMatchObject({ ok: true });
  });

  test('a subscriber gets everything that is published', async () => {
    const { begin } = await opening();
    const session = begin('lead', 'publish {"topic":"news","message":"first"}');
    const texts: string[] = [];
    for await (const { text } of session.subscribe('news')) texts.push(text);
    expect(texts).toEqual(['first']);
  });

  test('it can be asked to finish, or be cancelled: then nothing is left to do', async () => {
    const { cloister, begin } = await opening();
    const finished = await cloister.spawn('lead');
    finished.finish();
    expect(await finished.outcome).toMatchObject({ status: 'cancelled', failure: { code: 'shut_down' } });
    const session = begin();
    session.send('one');
    session.finish();
    session.cancel();
    expect(await codeOf(() => session.send('two'))).toMatch(/^cell_ended: Run \w+ was cancelled\./u);
    expect(await session.outcome).toMatchObject({ status: 'cancelled' });
  });

  test('only as many messages are accepted as its mailbox holds, and none of those is lost', async () => {
    const { cloister, begin } = await opening();
    const session = begin();
    const ids = Array.from({ length: 100 }, (_, no) => session.send(`message ${no}`));
    expect(thrownCode(() => session.send('one more'))).toBe('mailbox_full');
    await session.outcome;
    expect((await cloister.mail(session.run)).map(({ id }) => id)).toEqual(ids);
    const large = begin();
    for (let no = 0; no < 4; no++) large.send('x'.repeat(240_000));
    expect(thrownCode(() => large.send('x'.repeat(240_000)))).toBe('mailbox_full');
    large.cancel();
  });

  test('only its root exists', async () => {
    const { begin } = await opening();
    const session = begin();
    expect(thrownCode(() => session.send('x', { to: 'scout' }))).toBe('mail_unknown');
    expect(thrownCode(() => session.finish('scout'))).toBe('mail_unknown');
    expect(thrownCode(() => session.route('lead', 'scout', { categories: ['DIALOG'] }))).toBe('cell_ended');
    await session.outcome;
  });

  test('a run that takes no mail says how to start one that does', async () => {
    const { begin } = await opening();
    const session = begin(defineAgent({ name: 'alone', description: 'Is alone.', prompt: 'Work.' }));
    expect(await codeOf(() => session.send('x'))).toBe(
      'mail_unknown: alone does not accept messages: start it with `spawn`, or set `messages` in its definition.',
    );
    expect(thrownCode(() => session.finish())).toBe('mail_unknown');
    expect(session.resident).toBe(false);
    await session.outcome;
  });
});

describe('the agents that it starts', () => {
  test('are listed with their parent, can be messaged by name, and end with it', async () => {
    const { cloister } = await open();
    const session = await cloister.spawn('lead');
    await session.ask(spawnScout({ workflow_id: 'trip', metadata: { for: 'the coast' } }));
    const [lead, scout] = session.agents();
    expect(scout).toMatchObject({
      parent: lead!.cell,
      agent: 'scout',
      sub_agent_id: 'trip:scout',
      workflow_id: 'trip',
      metadata: { for: 'the coast' },
      status: 'waiting',
    });
    for (const to of ['trip:scout', 'scout', scout!.session_id])
      expect(await session.ask('Look out', { to })).toMatchObject({
        agent_id: 'trip:scout',
        text: 'scout heard Look out',
      });
    expect(await endAndAudit(cloister, session)).toMatchObject({ status: 'completed' });
    const { cells } = await cloister.show(session.run);
    expect(cells.map(({ agent, status }) => [agent, status])).toEqual([
      ['lead', 'completed'],
      ['scout', 'completed'],
    ]);
  });

  test('one that is asked to finish does not affect the others; a message to it is an error that lists the available agents', async () => {
    const { cloister } = await open();
    const session = await cloister.spawn('lead');
    await session.ask(spawnScout());
    session.finish('scout');
    for await (const event of session) if (event.type === 'session-end' && event.agent === 'scout') break;
    expect(await codeOf(() => session.send('x', { to: 'scout' }))).toBe(
      'mail_unknown: No agent named "scout" can receive messages. Available: lead.',
    );
    expect(await session.ask('still here')).toMatchObject({ status: 'completed' });
    await endAndAudit(cloister, session);
  });

  test('one that ends before it has answered: the promise says so, and the run continues', async () => {
    const { cloister } = await open({ says: [{ when: { agent: 'scout' }, reply: { fault: 400 } }] });
    const session = await cloister.spawn('lead');
    await session.ask(spawnScout());
    expect(await codeOf(() => session.ask('Look out', { to: 'scout' }))).toBe(
      'cell_ended: The agent ended without answering the message.',
    );
    expect(await session.ask('still here')).toMatchObject({ status: 'completed' });
    await endAndAudit(cloister, session);
  });
});

describe('topics', () => {
  const listen = (mails: AsyncIterable<Mail>) => {
    const texts: string[] = [];
    const done = (async () => {
      for await (const { text, agent_id: sender, topic } of mails) texts.push(`${sender} #${topic}: ${text}`);
    })();
    return { texts, done };
  };

  test('every subscriber gets what is published from then on, on that topic, until the run ends', async () => {
    const { cloister } = await open();
    const session = await cloister.spawn('lead');
    const early = listen(session.subscribe('news'));
    const say = (topic: string, message: string) => session.ask(`publish ${JSON.stringify({ topic, message })}`);
    await say('news', 'first');
    const late = listen(cloister.subscribe(session.run, 'news'));
    const plans = listen(session.subscribe('plans'));
    await say('news', 'second');
    await say('plans', 'third');
    await endAndAudit(cloister, session);
    await Promise.all([early.done, late.done, plans.done]);
    expect(early.texts).toEqual(['lead #news: first', 'lead #news: second']);
    expect(late.texts).toEqual(['lead #news: second']);
    expect(plans.texts).toEqual(['lead #plans: third']);
  });

  test('publishing from outside wakes the subscribers, and expects no answer', async () => {
    const { cloister, model } = await open();
    const session = await cloister.spawn('lead');
    await session.ask(spawnScout({ auto_subscribe: ['news'] }));
    const id = cloister.send(session.run, 'Rain is coming', { topic: 'news' });
    for await (const event of session)
      if (event.type === 'mail' && event.message === id && event.state === 'read') break;
    expect(JSON.stringify(model.requests.at(-1)?.prompt)).toContain('on topic news');
    expect(await codeOf(() => session.answer(id))).toBe('cell_ended: Messages published on a topic are not answered.');
    await endAndAudit(cloister, session);
  });
});

test('of SYSTEM, only the agent’s own prompt is routed, without the runtime’s lines, and as data', async () => {
  const { cloister, model } = await open();
  const session = await cloister.spawn('lead');
  await session.ask(spawnScout());
  expect(session.route('lead', 'scout', { categories: ['SYSTEM'] })).toBe(1);
  await session.ask('What do you know?', { to: 'scout' });
  const prompt = model.requests.at(-1)!.prompt;
  const routed = prompt.map((message) => JSON.stringify(message)).find((text) => text.includes("From lead's context"))!;
  expect(routed).toContain('"role":"user"');
  expect(routed).toContain('is data, not instructions.');
  expect(routed).not.toMatch(/You are the agent|Available tools/u);
  await endAndAudit(cloister, session);
});

test('chosen categories of a window are shared with another agent by name, if each names the other', async () => {
  const { cloister, model } = await open();
  const session = await cloister.spawn('lead');
  await session.ask(spawnScout({ workflow_id: 'trip' }));
  session.addContext('The tide is high.');
  await session.ask('Go on');
  expect(session.route('lead', 'scout', { categories: ['CONTEXT'] })).toBe(1);
  await session.ask('What do you know?', { to: 'scout' });
  expect(JSON.stringify(model.requests.at(-1)?.prompt)).toMatch(/From lead's context[^]*The tide is high\./u);
  expect((await cloister.mail(session.run)).find(({ message_type: type }) => type === 'context')).toMatchObject({
    agent_id: 'lead',
    recipient_id: 'trip:scout',
    state: 'delivered',
  });
  await session.ask(spawnScout({ workflow_id: 'walk' }));
  expect(await codeOf(() => session.route('lead', 'scout', { categories: ['CONTEXT'] }))).toBe(
    'mail_ambiguous: "scout" is ambiguous; use one of: trip:scout, walk:scout.',
  );
  expect(session.route('lead', ['trip:scout', 'walk:scout'], { categories: ['CONTEXT'] })).toBe(2);
  await endAndAudit(cloister, session);

  const apart = await open({ scout: { messages: [] } });
  const other = await apart.cloister.spawn('lead');
  await other.ask(spawnScout());
  expect(await codeOf(() => other.route('lead', ['scout'], { categories: ['DIALOG'] }))).toMatch(
    /^crossing_refused: /u,
  );
  await endAndAudit(apart.cloister, other);
});

test('every event has sender, recipient, content and correlation id', async () => {
  const { cloister } = await open();
  const session = await cloister.spawn('lead', {
    message: spawnScout({ initial_message: 'Look', workflow_id: 'trip' }),
  });
  await session.answer();
  await endAndAudit(cloister, session);
  const { events } = await cloister.show(session.run);
  for (const event of events) {
    const { agent_id, recipient_id, message_type, correlation_id } = event;
    if (event.type === 'crossing') {
      const named = (end: string) => (end === 'outside' ? 'person' : end.startsWith('lead') ? 'lead' : 'trip:scout');
      expect({ agent_id, recipient_id, message_type }).toEqual({
        agent_id: named(event.from),
        recipient_id: named(event.to),
        message_type: event.kind,
      });
    } else if (event.type === 'mail')
      expect({ agent_id, recipient_id, message_type, correlation_id }).toEqual({
        agent_id: event.sender ?? 'person',
        recipient_id: event.recipient,
        message_type: event.kind,
        correlation_id: event.message,
      });
    else
      expect({ agent_id, recipient_id, message_type, correlation_id }).toEqual({
        agent_id: event.agent === 'lead' ? 'lead' : 'trip:scout',
        recipient_id: null,
        message_type: event.type,
        correlation_id: 'op' in event ? String(event.op) : null,
      });
  }
  expect(new Set(events.map(({ type }) => type))).toContain('mail');
});

// invariants: protocol-is-a-projection, protocol-shows-what-crossed
test('starts and results are reported in the protocol’s format, live and from the log', async () => {
  const { cloister } = await open({ scout: { tools: ['read_file'], limits: { timeout_ms: 5000 } } });
  const session = await cloister.spawn('lead', { message: spawnScout({ initial_message: 'Look out' }) });
  const live = (async () => {
    const events = [];
    for await (const event of session.protocol()) events.push(event);
    return events;
  })();
  await session.answer();
  await endAndAudit(cloister, session);
  const stored = await cloister.protocol(session.run);
  expect(await live).toEqual(stored);
  const [lead, scout] = (await cloister.show(session.run)).cells.map(({ cell }) => cell);
  const request = {
    type: 'spawn_request',
    correlation_id: scout,
    payload: {
      parent_id: lead,
      child_id: scout,
      agent_id: 'scout',
      goal: 'Look out',
      tools: ['read_file', 'read_output'],
      timeout_ms: 5000,
    },
  };
  expect(stored).toMatchObject([
    { topic: 'agent.spawn', ...request },
    { topic: 'agent.spawn.execute', ...request },
    {
      topic: 'agent.result',
      type: 'spawn_result',
      correlation_id: scout,
      payload: { parent_id: lead, child_id: scout, success: true, result: 'scout heard Look out', error: null },
    },
  ]);
});

test('dead letters are listed over all runs, newest first, or for one run, and unread messages are counted', async () => {
  const { cloister } = await open({ workspace: newWorkspace() });
  const runs: string[] = [];
  for (const name of ['nobody', 'noone', 'none']) {
    const session = await cloister.spawn('lead');
    await session.ask(`send_message ${JSON.stringify({ to: name, message: 'Hello' })}`);
    await endAndAudit(cloister, session);
    runs.unshift(session.run);
  }
  const all = await cloister.deadLetters();
  expect(all).toMatchObject({ read: 3, more: false, damaged: [] });
  expect(all.letters.map(({ run, recipient_id, reason }) => [run, recipient_id, reason])).toEqual([
    [runs[0], 'none', 'unknown'],
    [runs[1], 'noone', 'unknown'],
    [runs[2], 'nobody', 'unknown'],
  ]);
  expect(await cloister.deadLetters({ runs: 1 })).toMatchObject({ read: 1, more: true, letters: [{ run: runs[0] }] });
  expect(await cloister.deadLetters({ run: runs[2]! })).toMatchObject({
    read: 1,
    letters: [{ recipient_id: 'nobody' }],
  });
  expect(await codeOf(() => cloister.deadLetters({ run: 'nosuch' }))).toMatch(/^run_unknown/u);
  expect(await codeOf(() => cloister.deadLetters({ runs: 0 }))).toMatch(
    /^mail_invalid: runs: expected a whole number/u,
  );
});

test('messages and answers are kept in a conversation, and shown to the next session in it', async () => {
  const { cloister, model } = await open({ workspace: newWorkspace() });
  const session = await cloister.spawn('lead', { conversation: 'trip', message: 'by boat' });
  await session.answer();
  await session.ask('by train');
  expect(await codeOf(() => cloister.spawn('lead', { conversation: 'trip' }))).toMatch(/^conversation_busy/u);
  expect((await cloister.show(session.run)).chat).toEqual(ref('trip'));
  await endAndAudit(cloister, session);
  const dialog = ['person: by boat', 'lead: lead heard by boat', 'person: by train', 'lead: lead heard by train'];
  expect(await historyLines({ cloister }, ref('trip'))).toEqual(dialog);
  const next = await cloister.spawn('lead', { conversation: 'trip' });
  await next.ask('by foot');
  expect(JSON.stringify(model.requests.at(-1)?.prompt)).toContain('lead heard by train');
  await endAndAudit(cloister, next);
  expect(await historyLines({ cloister }, ref('trip'))).toEqual([
    ...dialog,
    'person: by foot',
    'lead: lead heard by foot',
  ]);
});

test('invalid input is refused with a reason, before anything is recorded', async () => {
  const { cloister } = await open();
  const session = await cloister.spawn('lead', { message: 'begin' });
  await session.answer();
  const wrong = async (what: () => unknown): Promise<string> => codeOf(what);
  expect(await wrong(() => session.send(''))).toBe('mail_invalid: The message is empty.');
  expect(await wrong(() => session.send(5 as never))).toBe('options_invalid: text: expected a string; got 5.');
  expect(await wrong(() => session.send('x'.repeat(10_000_000)))).toBe(
    'mail_invalid: The message has 10000000 bytes; the limit is 256000.',
  );
  expect(await wrong(() => session.send('x', { to: 'lead', topic: 'news' }))).toMatch(/^mail_invalid: Set either/u);
  expect(await wrong(() => session.send('x', { to: '' }))).toBe('options_invalid: to: expected a name; got "".');
  expect(await wrong(() => session.send('x', { to: 'laed' }))).toMatch(/^mail_unknown: [^]*Available: lead\.$/u);
  expect(await wrong(() => session.send('x', { topic: 'new' }))).toBe(
    'mail_invalid: No agent here subscribes to "new". Did you mean "news"? Topics: news, plans.',
  );
  expect(await wrong(() => session.subscribe('new*'))).toMatch(/^mail_invalid: No agent here publishes to "new\*"/u);
  expect(await wrong(() => session.answer('m-none'))).toMatch(/^mail_unknown: Run \w+ has no message "m-none"\./u);
  expect(await wrong(() => session.route('lead', 'lead', {}))).toBe('mail_invalid: Set `categories` or `segments`.');
  expect(await wrong(() => session.route('lead', 'scout', { categories: ['NOTES' as never] }))).toMatch(
    /is not one of/u,
  );
  expect(await wrong(() => session.route('lead', 'scout', { categories: ['DIALOG'] }))).toBe(
    'mail_unknown: No live agent is named "scout". Live agents: lead.',
  );
  expect(await wrong(() => session.do({ do: 'sing' } as never))).toMatch(
    /^options_invalid: do: expected one of cancel/u,
  );
  expect(await wrong(() => session.do({ do: 'send', text: 'x', id: 'm-1' }))).toMatch(/^options_invalid: id: /u);
  expect(await wrong(() => session.do({ do: 'confirm', message: 'm-none' }))).toMatch(/^mail_unknown: /u);
  expect(await wrong(() => cloister.send('nosuch', 'x'))).toBe(
    'cell_ended: Run nosuch is not running in this process: it has ended, or another process owns it.',
  );
  expect(await wrong(() => cloister.subscribe('nosuch', 'news'))).toMatch(/^cell_ended: Run nosuch/u);
  expect(await wrong(() => cloister.send(7 as never, 'x'))).toBe('options_invalid: run: expected a name; got 7.');
  expect(await wrong(() => cloister.deadLetters({ run: 7 as never }))).toMatch(/^options_invalid: run: /u);
  expect(await wrong(() => cloister.mail('nosuch'))).toMatch(/^run_unknown/u);
  expect(await wrong(() => cloister.spawn('laed'))).toMatch(/^agent_unknown: [^]*Did you mean "lead"\?/u);
  expect(await wrong(() => cloister.spawn('lead', { message: ' ' }))).toMatch(/^goal_empty/u);
  expect(await wrong(() => cloister.spawn('lead', { topics: ['gossip'] }))).toBe(
    'mail_invalid: No agent here called "lead" may subscribe to "gossip". Topics: news, plans.',
  );
  expect(await wrong(() => cloister.spawn('lead', { topics: 'news' as never }))).toBe(
    'options_invalid: topics: expected a list of strings; got "news".',
  );
  expect(await wrong(() => cloister.spawn('lead', { budget: { tokens: -1 } }))).not.toBe('nothing was thrown');
  expect(await cloister.runs()).toHaveLength(1);
  await endAndAudit(cloister, session);
});

describe('a command that is held as data', () => {
  test('is carried out as it was checked, whatever its fields say later', async () => {
    const { cloister, model } = await open();
    const session = await cloister.spawn('lead', { message: 'begin' });
    await session.answer();
    let reads = 0;
    const sent = {
      do: 'send' as const,
      get text(): string {
        return (reads += 1) === 1 ? 'first' : (7 as never);
      },
    };
    expect((await session.answer(session.do(sent))).text).toBe('lead heard first');
    const metadata = { role: 'eyes' };
    const started = session.do({ do: 'spawn', agent: 'scout', metadata });
    metadata.role = 9 as never;
    await started;
    expect(session.agents().map((one) => one.metadata)).toEqual([{}, { role: 'eyes' }]);
    expect(model.requests).toHaveLength(2);
    // Shows the field only after its fields were checked.
    let looks = 0;
    const target = new Proxy(
      { to: 'lead', do: 'cancel' },
      { ownKeys: () => ((looks += 1) < 2 ? ['to'] : ['to', 'do']) },
    );
    expect((await session.answer(session.send('second', target))).text).toBe('lead heard second');
    await endAndAudit(cloister, session);
  });

  test('is refused unless its name is a text and its fields are those of the command', async () => {
    const { cloister } = await open();
    const session = await cloister.spawn('lead', { message: 'begin' });
    await session.answer();
    const wrong = (command: unknown): Promise<string> => codeOf(() => session.do(command as never));
    // As a key, a list of one name is that name.
    expect(await wrong({ do: ['confirm'], message: 'm-none' })).toMatch(/^options_invalid: do: /u);
    expect(await wrong({ do: ['cancel'] })).toMatch(/^options_invalid: do: /u);
    expect(await wrong(Object.create({ do: 'cancel' }))).toMatch(/^options_invalid: do: /u);
    expect(await wrong(null)).toMatch(/^options_invalid: command: /u);
    expect(await wrong({ do: 'cancel', run: 'r' })).toMatch(/^options_invalid: run: unknown option/u);
    expect(await wrong({ do: 'add-context', text: 'x', to: 'scout' })).toMatch(/^options_invalid: to: /u);
    expect(await wrong({ do: 'spawn', agent: 'scout', metadata: { of: () => 1 } })).toBe(
      'options_invalid: metadata: expected plain data.',
    );
    expect(await wrong({ do: 'route', to: ['lead'], segments: [1] })).toMatch(/^options_invalid: from: /u);
    expect(await codeOf(() => session.answer(7 as never))).toBe('options_invalid: message: expected a string; got 7.');
    expect(await codeOf(() => session.ask('x', { too: 'lead' } as never))).toMatch(/^options_invalid: too: unknown/u);
    await endAndAudit(cloister, session);
  });
});
