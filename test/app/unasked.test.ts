// What an agent says unasked reaches whoever holds the run, and counts as delivered only once it was taken.
import { defineAgent, openCloister } from 'cloister';
import type { AgentMessage, Cloister, RunSession } from 'cloister';
import { expect, onTestFinished, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import type { AgentResources } from '#app/agents';
import { CloisterError, encodeMessage } from '#base';
import type { RunId } from '#base';
import type { Frame, RunCommand, RunLog } from '#contracts';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { LocalRunSession } from '../../src/app/run-session.ts';
import { collectAll } from './serve/collect-all.ts';

/** The lead starts a scout; what the scout finds later, the lead tells unasked. */
const script: readonly ScriptLine[] = [
  { when: { agent: 'scout' }, reply: ({ lastText }) => `found ${lastText.split(' ').at(-1)!}` },
  {
    when: ({ agent, lastText }) => agent === 'lead' && lastText.startsWith('look '),
    reply: ({ lastText }) => ({
      calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout', initial_message: `seek ${lastText.slice(5)}` } }],
    }),
  },
  {
    when: ({ lastText }) => lastText.includes('found '),
    reply: ({ lastText }) => `News: ${/found \w+/u.exec(lastText)![0]}.`,
  },
  { reply: 'Sent.' },
];

const open = async () => {
  const scout = defineAgent({
    name: 'scout',
    description: 'Scouts.',
    prompt: 'Scout.',
    topics: { hear: [], say: ['news'] },
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    tools: ['spawn_agent'],
    spawns: { agents: [scout] },
  });
  const model = rehearse(script);
  const cloister = await openCloister({ store: 'memory', agents: [lead], models: [model] });
  onTestFinished(() => cloister.close());
  return { cloister, model, session: await cloister.spawn('lead') };
};

const statesOf = async (cloister: Cloister, { run }: RunSession): Promise<readonly string[]> =>
  (await cloister.mail(run)).flatMap((one) => (one.to === 'outside' ? [`${one.message_type} ${one.state}`] : []));

const next = async (messages: AsyncIterator<AgentMessage>): Promise<AgentMessage> =>
  (await messages.next()).value as AgentMessage;

const endAndAudit = async (cloister: Cloister, session: RunSession): Promise<void> => {
  session.finish();
  await session.outcome;
  expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(session.run)).toMatchObject({ ok: true });
};

// invariant: delivered-after-taken
test('what the root says unasked is handed out at once, marked, and delivered when the next one is asked for', async () => {
  const { cloister, session } = await open();
  const messages = session.messages()[Symbol.asyncIterator]();
  const first = next(messages);
  expect((await session.ask('look gold')).text).toBe('Sent.');
  expect(await first).toMatchObject({
    agent_id: 'lead',
    text: 'News: found gold.',
    unasked: true,
    status: 'completed',
  });
  expect(await statesOf(cloister, session)).toEqual(['answer delivered', 'message queued']);
  const second = next(messages);
  expect(await statesOf(cloister, session)).toEqual(['answer delivered', 'message delivered']);
  await session.ask('look silver');
  expect(await second).toMatchObject({ text: 'News: found silver.', unasked: true });
  await messages.return?.();
  expect(await statesOf(cloister, session)).toEqual(
    Array.from({ length: 4 }, (_, no) => (no % 2 === 0 ? 'answer delivered' : 'message delivered')),
  );
  await endAndAudit(cloister, session);
});

test('what nobody has taken stays unread, and is handed out to whoever asks next, once', async () => {
  const { cloister, session } = await open();
  const events = session[Symbol.asyncIterator]();
  await session.ask('look gold');
  const told = await (async () => {
    for (;;) {
      const { value } = await events.next();
      if (value.type === 'mail' && value.unasked === true) return value;
    }
  })();
  expect(told).toMatchObject({ state: 'queued', to: 'outside', text: 'News: found gold.', sender: 'lead' });
  // Reading the events is not taking the message.
  expect(await statesOf(cloister, session)).toEqual(['answer delivered', 'message queued']);
  const seen: string[] = [];
  for await (const { text } of session.messages()) {
    seen.push(text);
    break;
  }
  expect(seen).toEqual(['News: found gold.']);
  expect(await statesOf(cloister, session)).toEqual(['answer delivered', 'message delivered']);
  const later = session.messages()[Symbol.asyncIterator]();
  const nothing = later.next();
  await endAndAudit(cloister, session);
  expect(await nothing).toMatchObject({ done: true });
});

// invariant: awaited-answer-goes-there
test('an answer that nobody waits for any more is handed out with the messages', async () => {
  const { cloister, session } = await open();
  const given = new AbortController();
  const id = session.send('hello');
  const waiting = session.answer(id, { signal: given.signal });
  given.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  const messages = session.messages()[Symbol.asyncIterator]();
  expect(await next(messages)).toMatchObject({ correlation_id: id, text: 'Sent.', unasked: false });
  expect(await statesOf(cloister, session)).toEqual(['answer queued']);
  await messages.return?.();
  expect(await statesOf(cloister, session)).toEqual(['answer delivered']);
  // It can still be read again, and a caller may confirm by itself.
  expect((await session.answer(id)).text).toBe('Sent.');
  const other = session.send('again');
  const answer = await session.answer(other, { confirm: false });
  expect(await statesOf(cloister, session)).toEqual(['answer delivered', 'answer queued']);
  session.confirm(answer.id);
  session.confirm(answer.id);
  session.confirm('m-unknown');
  expect(await statesOf(cloister, session)).toEqual(['answer delivered', 'answer delivered']);
  await endAndAudit(cloister, session);
});

test('no agent is shown anything else because somebody listens', async () => {
  const promptsOf = async (listens: boolean): Promise<readonly string[]> => {
    const { cloister, model, session } = await open();
    const heard = listens ? collectAll(session.messages()) : Promise.resolve([]);
    for (const what of ['look gold', 'look silver', 'and now?']) {
      await session.ask(what);
      // Everybody has done what there was to do before the next message.
      while (session.agents().some(({ status }) => status === 'running'))
        await new Promise((resolve) => setImmediate(resolve));
    }
    await endAndAudit(cloister, session);
    expect((await heard).length).toBe(listens ? 2 : 0);
    // Ids are random, and times are real.
    return model.requests.map((request) =>
      JSON.stringify(request)
        .replaceAll(/(?<=-)[\da-f]{4,12}\b/gu, 'id')
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, 'time'),
    );
  };
  const [alone, heard] = [await promptsOf(false), await promptsOf(true)];
  expect(alone.length).toBeGreaterThan(6);
  expect(heard).toEqual(alone);
});

/** These runs are never really started. */
const noResources = {} as AgentResources;

/** A session whose run says something that cannot be recorded, so that the run ends. */
const openUnrecorded = () => {
  const failure = new CloisterError('store_failed', 'The disk is full.');
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const store = { ...memoryStore(), read: async () => [] };
  const topics = { hear: [], say: ['news'] };
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', topics });
  const autosave = { touch: () => undefined, end: () => undefined };
  const host = { store, ids: { random: () => 'id' }, autosave, runToEnd: () => failed.promise };
  const session = new LocalRunSession(
    'run' as RunId,
    { agent, goal: null, resident: { topics: [] }, resources: noResources },
    host,
  );
  const delivered: string[] = [];
  const live = { do: (command: RunCommand) => void (command.do === 'confirm' && delivered.push(command.message)) };
  const log: Pick<RunLog, 'durable' | 'onCommit'> = { durable: () => failed.promise, onCommit: () => undefined };
  session.attach(live as never, log as RunLog);
  let no = 0;
  const say = (kind: 'message' | 'broadcast'): void => {
    const head = { id: `m-${kind}`, message_type: kind === 'message' ? 'answer' : kind, agent_id: 'lead' };
    const sent = { ...head, recipient_id: 'person', topic: 'news', correlation_id: null, at: 0, chain: 'm' };
    const contents = [{ kind, to: 'outside', content: encodeMessage(sent, 'Lost.') }];
    const record = { type: 'post', name: 'mail:answer', about: { status: 'completed' } };
    session.onFrame({ no: no++, at: 0, cell: 'lead', record, contents } as unknown as Frame);
  };
  const fail = (): void => {
    failed.reject(failure);
    session.end();
  };
  return { session, delivered, say, fail };
};

// invariant: handed-out-is-logged
test.each(['before', 'after'])(
  'what could not be recorded is not handed out, if it is asked for %s the end',
  async (when) => {
    const { session, delivered, say, fail } = openUnrecorded();
    const messages = session.messages()[Symbol.asyncIterator]();
    const topic = session.subscribe('news')[Symbol.asyncIterator]();
    const answer = session.answer();
    const ask = () => Promise.allSettled([messages.next(), topic.next(), answer]);
    const early = when === 'before' ? ask() : undefined;
    answer.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    say('message');
    say('broadcast');
    fail();
    const refused = { status: 'rejected', reason: { code: 'store_failed' } };
    expect(await (early ?? ask())).toMatchObject([refused, refused, refused]);
    expect(delivered).toEqual([]);
  },
);

test('a command that came early and is refused when the run starts ends neither the run nor the commands after it', () => {
  const session = openEarly();
  for (const text of ['One.', 'Two.', 'Three.']) session.addContext(text);
  const heard: string[] = [];
  const hear = (command: RunCommand): void => {
    if (command.do !== 'add-context') return;
    heard.push(command.text);
    if (command.text === 'Two.') throw new CloisterError('cell_ended');
  };
  session.attach({ do: hear } as never, {} as RunLog);
  expect(heard).toEqual(['One.', 'Two.', 'Three.']);
});

const openEarly = (): LocalRunSession => {
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.' });
  const autosave = { touch: () => undefined, end: () => undefined };
  const runToEnd = () => new Promise<never>(() => undefined);
  const host = { store: memoryStore(), ids: { random: () => 'id' }, autosave, runToEnd };
  return new LocalRunSession('run' as RunId, { agent, goal: 'Go.', resources: noResources }, host);
};
