import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, openCloister, hashToken } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import type { Caller, RunSession } from '#contracts';
import { LocalAgentService } from '../../../src/app/serve/local-agent-service.ts';
import { createRunSlot, SlotQueue } from '../../../src/app/serve/slot-queue.ts';
import { ResidentSessions } from '../../../src/app/serve/resident-sessions.ts';
import { TokenRegistry } from '../../../src/app/serve/token-registry.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { serveAgents } from '../../headends/http/driver.ts';
import { Gate, gatedAgent } from './gated-agent.ts';
import { postRequest } from './local-requests.ts';

const [ann, ben]: readonly Caller[] = [{ name: 'ann' }, { name: 'ben' }];
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const until = async (is: () => boolean): Promise<void> => {
  while (!is()) await turn();
};

/** A host that starts a scout on request. Both answer when the gate is opened. */
const hostWithScout = (gate: Gate): Agent => {
  const model = rehearse(
    [
      {
        reply: ({ lastText, toolResults, agent }) => {
          const received = lastText
            .split('\n')
            .at(-1)!
            .replace(/^(?:\| |Your task: )/u, '');
          if (received === 'start' && toolResults.length === 0)
            return { calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout', auto_subscribe: ['news'] } }] };
          gate.goals.push(`${agent}: ${received}`);
          return { text: `${agent} did ${received}`, delayMs: 1 };
        },
      },
    ],
    { clock: { timer: (_ms, due) => gate.hold(due) } },
  );
  const common = { description: 'd', prompt: 'p', models: [model], limits: { maxRetries: 0 } };
  const scout = defineAgent({ ...common, name: 'scout', topics: ['news'] });
  return defineAgent({
    ...common,
    name: 'host',
    tools: ['spawn_agent'],
    topics: ['news'],
    spawns: { agents: [scout] },
  });
};

const openService = async ({ running = 1, waiting = 8 } = {}) => {
  const gate = new Gate();
  const cloister = await openCloister({ agents: [hostWithScout(gate)], store: 'memory' });
  onTestFinished(async () => cloister.close());
  const slots = new SlotQueue({ running, runningPerAgent: 100, waiting });
  const entries = ['ann', 'ben'].map((name) => ({ name, sha256: hashToken(name) }));
  const served = new LocalAgentService({
    cloister,
    agents: ['host'],
    tokens: new TokenRegistry(entries, Date.now),
    slots,
    clients: { system: false, tools: false, activity: false, compat: false },
    clock: systemClock,
  });
  const begin = (input: string, { as = ann, resident = false } = {}) =>
    served.startRun(as!, { agent: 'host', input, resident });
  /** Its first work is done, and it waits for mail. */
  const settled = async (input = 'settle in') => {
    const started = await begin(input, { resident: true });
    await gate.arrived(1);
    gate.open({ stay: true });
    await until(() => slots.running === 0);
    return started;
  };
  const write = (run: string, text: string, more: object = {}, signal?: AbortSignal) =>
    served.do(ann!, run, { do: 'send', text, ...more }, signal);
  return { gate, cloister, places: slots, served, begin, settled, write };
};

describe('a resident', () => {
  // invariant: service-request-in-budget
  test('holds a slot while it works and none while it waits for mail', async () => {
    const { gate, places: slots, begin, write, served } = await openService();
    const { run, outcome } = await begin('one', { resident: true });
    await gate.arrived(1);
    for (const text of ['two', 'three']) {
      expect(slots.running).toBe(1);
      gate.open({ stay: true });
      await until(() => slots.running === 0);
      await write(run, text);
      await gate.arrived(1);
    }
    gate.open({ stay: true });
    await until(() => slots.running === 0);
    await served.do(ann!, run, { do: 'finish' });
    expect((await outcome).status).toBe('completed');
    expect([slots.running, slots.waiting, gate.goals]).toEqual([0, 0, ['host: one', 'host: two', 'host: three']]);
  });

  // invariant: resident-message-needs-slot
  test('gets a message only once it has a slot; until then the message queues', async () => {
    const { gate, places: slots, begin, settled, write } = await openService();
    const { run } = await settled();
    const other = await begin('other');
    await gate.arrived(1);
    let isSent = false;
    const sent = write(run, 'hello').then((id) => {
      isSent = true;
      return id;
    });
    for (let count = 0; count < 20; count++) await turn();
    expect([isSent, slots.running, slots.waiting]).toEqual([false, 1, 1]);
    expect(gate.goals).toEqual(['host: settle in', 'host: other']);
    gate.open({ stay: true });
    await other.outcome;
    expect(await sent).toMatch(/^m-/u);
    await gate.arrived(1);
    expect([slots.running, slots.waiting, gate.goals.at(-1)]).toEqual([1, 0, 'host: hello']);
  });

  test('is refused mail while the queue is full, and never sees it; it accepts mail again when there is room', async () => {
    const { gate, places: slots, begin, settled, write, cloister } = await openService({ waiting: 0 });
    const { run } = await settled();
    const other = await begin('other');
    await gate.arrived(1);
    await expect(write(run, 'hello')).rejects.toMatchObject({ code: 'server_busy', failure: { retryAfterMs: 2_000 } });
    expect((await cloister.mail(run)).filter(({ from }) => from === 'outside')).toEqual([]);
    gate.open({ stay: true });
    await other.outcome;
    await turn();
    expect(await write(run, 'hello')).toMatch(/^m-/u);
    expect(slots.running).toBe(1);
  });

  test('takes one slot for all concurrent messages; a sender that disconnects has sent nothing', async () => {
    const { gate, places: slots, begin, settled, write, cloister } = await openService();
    const { run } = await settled();
    const other = await begin('other');
    await gate.arrived(1);
    const controller = new AbortController();
    const gone = write(run, 'gone', {}, controller.signal);
    const all = ['a', 'b', 'c'].map((text) => write(run, text));
    await until(() => slots.waiting === 4);
    controller.abort();
    await expect(gone).rejects.toMatchObject({ code: 'cancelled' });
    gate.open({ stay: true });
    await other.outcome;
    expect(new Set(await Promise.all(all)).size).toBe(3);
    await gate.arrived(1);
    expect([slots.running, slots.waiting]).toEqual([1, 0]);
    expect((await cloister.mail(run)).filter(({ from }) => from === 'outside')).toHaveLength(3);
  });

  test('accepts a message immediately while it works, in the slot that it has', async () => {
    const { gate, places: slots, begin, write } = await openService({ waiting: 0 });
    const { run } = await begin('one', { resident: true });
    await gate.arrived(1);
    await write(run, 'two');
    expect(slots.running).toBe(1);
    gate.open();
    await until(() => slots.running === 0);
    expect(gate.goals).toEqual(['host: one', 'host: two']);
  });

  // invariant: resident-works-by-status
  test('keeps its slot while one of its agents works, even if that agent replies to no one', async () => {
    const { gate, places: slots, settled, write, served } = await openService();
    const { run } = await settled('start');
    const { session } = await served.find(ann!, run);
    expect(session!.agents().map(({ agent, status }) => [agent, status])).toEqual([
      ['host', 'waiting'],
      ['scout', 'waiting'],
    ]);
    for (const [text, more] of [
      ['look', { to: 'scout' }],
      ['news', { topic: 'news' }],
    ] as const) {
      await write(run, text, more);
      await gate.arrived(1);
      expect(session!.agents().some(({ agent, status }) => agent === 'scout' && status === 'running')).toBe(true);
      for (let count = 0; count < 20; count++) await turn();
      expect(slots.running).toBe(1);
      gate.open({ stay: true });
      await until(() => slots.running === 0);
      expect(session!.agents().every(({ status }) => status === 'waiting')).toBe(true);
    }
    expect(gate.goals).toContain('scout: news');
  });

  test('keeps no slot for a message that cannot be sent or that has no subscriber', async () => {
    const { places: slots, settled, write } = await openService();
    const { run } = await settled();
    await expect(write(run, ' ')).rejects.toMatchObject({ code: 'mail_invalid' });
    await expect(write(run, 'x', { to: 'nobody' })).rejects.toMatchObject({ code: 'mail_unknown' });
    expect(await write(run, 'x', { topic: 'news' })).toMatch(/^m-/u);
    expect([slots.running, slots.waiting]).toEqual([0, 0]);
  });

  test('woken by the program itself is counted, even beyond the limits', async () => {
    const { gate, places: slots, begin, settled, cloister } = await openService();
    const { run } = await settled();
    await begin('other');
    cloister.send(run, 'work');
    await gate.arrived(2);
    expect(slots.running).toBe(2);
  });

  test('that has ended releases the senders waiting for it', async () => {
    const { gate, places: slots, begin, settled, write, served } = await openService();
    const { run, outcome } = await settled();
    await begin('other');
    await gate.arrived(1);
    const sent = write(run, 'hello');
    sent.catch(() => undefined);
    await until(() => slots.waiting === 1);
    await served.do(ann!, run, { do: 'cancel' });
    await outcome;
    await expect(sent).rejects.toMatchObject({ code: 'cell_ended' });
    expect([slots.running, slots.waiting]).toEqual([1, 0]);
    await expect(write(run, 'hello')).rejects.toMatchObject({ code: 'cell_ended' });
  });

  test('is unknown to another caller, whose message takes no slot and does not queue', async () => {
    const { gate, places: slots, begin, settled, served } = await openService();
    const { run } = await settled();
    const refused = (name: string) =>
      served.do(ben!, name, { do: 'send', text: 'x' }).catch((error: Error) => error.message);
    for (const _time of ['free', 'busy']) {
      expect(await refused(run)).toBe(await refused('nothing-of-that-name'));
      expect(slots.waiting).toBe(0);
      if (slots.running === 0) await begin('other');
    }
    await gate.arrived(1);
    expect(gate.goals).toEqual(['host: settle in', 'host: other']);
  });
});

test('over REST, a waiting resident makes room for others, answers when there is room, and is busy when there is none', async () => {
  const { agent, gate } = gatedAgent();
  const { server, token } = await serveAgents({ agents: [agent], slots: { running: 1, waiting: 0 } });
  const post = async (path: string, body: object) => {
    const response = await server.fetch(postRequest(path, token, body));
    return { status: response.status, body: (await response.json()) as any, headers: response.headers };
  };
  const passing = async <T>(asked: Promise<T>): Promise<T> => {
    await gate.arrived(1);
    gate.open({ stay: true });
    return asked;
  };
  const { run } = (await passing(post('/v1/gated', { input: 'One.', resident: true, wait: true }))).body;
  const write = (text: string) => post(`/v1/runs/${run}/messages`, { text, answer: true });
  expect((await passing(write('Two.'))).body).toMatchObject({ status: 'completed', output: expect.any(String) });
  const other = post('/v1/gated', { input: 'Other.' });
  await gate.arrived(1);
  const busy = await write('Three.');
  expect([busy.status, busy.body.error.code, busy.headers.get('retry-after')]).toEqual([429, 'server_busy', '2']);
  expect((await passing(other)).status).toBe(200);
  expect((await passing(write('Four.'))).status).toBe(200);
  expect(await post(`/v1/runs/${run}/finish`, {})).toMatchObject({ status: 202 });
});

// invariant: residents-bounded
test('a caller may have 64 residents; the next is refused, another caller’s is not, and one that ends makes room', async () => {
  const { gate, places: slots, begin, served } = await openService({ running: 100 });
  gate.open();
  const all = await Promise.all(Array.from({ length: 64 }, () => begin('live', { resident: true })));
  await until(() => slots.running === 0);
  const refused = { code: 'server_busy', message: expect.stringContaining('64 of your long-lived agents are running') };
  await expect(begin('live', { resident: true })).rejects.toMatchObject(refused);
  expect([slots.running, slots.waiting]).toEqual([0, 0]);
  expect((await begin('live', { resident: true, as: ben! })).agent).toBe('host');
  expect((await (await begin('once')).outcome).status).toBe('completed');
  await served.do(ann!, all[0]!.run, { do: 'finish' });
  await all[0]!.outcome;
  expect((await begin('live', { resident: true })).agent).toBe('host');
  await expect(begin('live', { resident: true })).rejects.toMatchObject(refused);
});

test('an agent that starts waiting after its last event also releases its slot', async () => {
  const slots = new SlotQueue({ running: 1, runningPerAgent: 1, waiting: 0 });
  const slotRequest = { agent: 'host', caller: 'ann', callerMax: 1 };
  const slot = createRunSlot(slots, slotRequest, await slots.acquire(slotRequest));
  const ended = Promise.withResolvers<never>();
  let status: 'running' | 'waiting' = 'running';
  const session = {
    agents: () => [{ status }],
    outcome: ended.promise,
    async *[Symbol.asyncIterator]() {
      yield { id: 'e1' };
      await ended.promise;
    },
  };
  const clock = virtualClock();
  new ResidentSessions(clock).open(ann!).attach(session as unknown as RunSession, slot);
  for (let count = 0; count < 20; count++) await turn();
  expect(slots.running).toBe(1);
  status = 'waiting';
  await clock.advance(249);
  expect(slots.running).toBe(1);
  await clock.advance(1);
  expect(slots.running).toBe(0);
  ended.reject(new Error('It is over.'));
});
