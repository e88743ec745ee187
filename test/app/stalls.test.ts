import { expect, test } from 'vitest';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import type { Agent, Cloister, StallClock } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { temporaryFolder } from '../isolation/temporary-folder.ts';
import { getRequest, postRequest } from './serve/local-requests.ts';

/** Time that passes only when a test says so: what blocks the loop makes it pass before the next tick. */
const stallClock = () => {
  let now = 0;
  let onTick: (() => void) | undefined;
  const clock: StallClock = {
    steady: () => now,
    every: (_ms, tick) => {
      onTick = tick;
      return () => (onTick = undefined);
    },
  };
  return {
    clock,
    block: (ms: number): void => void (now += ms),
    /** The loop is free for as long as it takes until the next tick. */
    tick: (ms = 20): void => {
      now += ms;
      onTick?.();
    },
    get isWatching() {
      return onTick !== undefined;
    },
  };
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Asks for `work` of its child `hand`, whose tool does what the test says. */
const leadAndHand = (work: () => string | Promise<string>): readonly Agent[] => {
  const tool = { name: 'work', description: 'Works.', inputSchema: { type: 'object' }, execute: work };
  const models = [
    rehearse([
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'hand', args: { prompt: 'Work.' } }] } },
      { when: { agent: 'hand', turn: 1 }, reply: { calls: [{ tool: 'work' }] } },
      { reply: 'Done.' },
    ]),
  ];
  const hand = defineAgent({ name: 'hand', description: 'Works.', prompt: 'You work.', models, tools: [tool] });
  return [defineAgent({ name: 'lead', description: 'Leads.', prompt: 'You lead.', models, agents: [hand] })];
};

const stallsByAgent = async (cloister: Cloister, run: string) =>
  Object.fromEntries((await cloister.show(run)).cells.map(({ agent, stalls }) => [agent, stalls]));

const none = { count: 0, longestMs: 0 };

// invariant: stall-attributed-exactly
test('a tool that blocks the process for five seconds is put to the account of its cell', async () => {
  const { clock, block } = stallClock();
  const agents = leadAndHand(() => {
    block(5_000);
    return 'Worked.';
  });
  await using cloister = await openCloister({ store: 'memory', agents, stallClock: clock });
  const { run } = await cloister.run('lead', 'Go.').outcome;
  expect(await stallsByAgent(cloister, run)).toEqual({ lead: none, hand: { count: 1, longestMs: 5_000 } });
  const { cells } = await cloister.show(run);
  const { cell } = cells.find(({ agent }) => agent === 'hand')!;
  expect(cloister.stalls).toMatchObject({ count: 1, longestMs: 5_000, latest: [{ ms: 5_000, run, cell }] });
});

// invariant: stall-between-marks
test('so is one that blocks after it has waited, before it returns or before it waits again', async () => {
  const { clock, block, tick } = stallClock();
  const agents = leadAndHand(async () => {
    await turn();
    block(300);
    tick();
    await turn();
    tick();
    block(200);
    return 'Worked.';
  });
  await using cloister = await openCloister({ store: 'memory', agents, stallClock: clock });
  const { run } = await cloister.run('lead', 'Go.').outcome;
  expect(await stallsByAgent(cloister, run)).toEqual({ lead: none, hand: { count: 2, longestMs: 300 } });
});

// invariant: stall-late-tick
test('if two cells have tools at work, a stall between their marks is counted and put to neither', async () => {
  const { clock, block, tick } = stallClock();
  const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let calls = 0;
  const agents = leadAndHand(async () => {
    arrived[calls++]!.resolve();
    await Promise.all(arrived.map(({ promise }) => promise));
    await turn();
    if (--calls === 1) {
      block(300);
      tick();
    }
    await turn();
    return 'Worked.';
  });
  await using cloister = await openCloister({ store: 'memory', agents, stallClock: clock });
  const runs = await Promise.all([1, 2].map(() => cloister.run('lead', 'Go.').outcome));
  for (const { run } of runs) expect(await stallsByAgent(cloister, run)).toEqual({ lead: none, hand: none });
  expect(cloister.stalls).toMatchObject({ count: 1, longestMs: 300, latest: [{ run: null, cell: null }] });
});

test('work of up to 100 ms, and waiting for however long, is no stall', async () => {
  const { clock, block, tick } = stallClock();
  const agents = leadAndHand(async () => {
    block(100);
    await turn();
    for (let ticks = 0; ticks < 100; ticks++) tick();
    return 'Worked.';
  });
  await using cloister = await openCloister({ store: 'memory', agents, stallClock: clock });
  const { run } = await cloister.run('lead', 'Go.').outcome;
  expect(await stallsByAgent(cloister, run)).toEqual({ lead: none, hand: none });
  expect(cloister.stalls).toEqual({ count: 0, longestMs: 0, latest: [] });
});

// invariant: stall-watched-while-at-work
test('the loop is watched only while a step is at work, and until the next tick', async () => {
  const watch = stallClock();
  const seen: boolean[] = [];
  const agents = leadAndHand(() => {
    seen.push(watch.isWatching);
    return 'Worked.';
  });
  await using cloister = await openCloister({ store: 'memory', agents, stallClock: watch.clock });
  expect(watch.isWatching).toBe(false);
  await cloister.run('lead', 'Go.').outcome;
  watch.tick();
  expect([...seen, watch.isWatching]).toEqual([true, false]);
});

test('stalls are kept with the run: another process shows them, and audit and replay pay no attention to them', async () => {
  const { clock, block } = stallClock();
  await using folder = await temporaryFolder();
  const workspace = folder.path;
  const agents = leadAndHand(() => {
    block(1_234);
    return 'Worked.';
  });
  const first = await openCloister({ workspace, agents, stallClock: clock });
  const { run } = await first.run('lead', 'Go.').outcome;
  await first.close();
  await using second = await openCloister({ workspace, agents, offline: true });
  expect(await stallsByAgent(second, run)).toEqual({ lead: none, hand: { count: 1, longestMs: 1_234 } });
  expect(await second.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(await second.replay(run)).toMatchObject({ differences: [] });
});

test('on a clock of the caller’s own, nothing is measured', async () => {
  const agents = leadAndHand(() => 'Worked.');
  await using cloister = await openCloister({ store: 'memory', agents, clock: virtualClock() });
  const { run } = await cloister.run('lead', 'Go.').outcome;
  expect(await stallsByAgent(cloister, run)).toEqual({ lead: none, hand: none });
  expect(cloister.stalls).toEqual({ count: 0, longestMs: 0, latest: [] });
});

test('/health shows stalls to the operator, and to no other caller, not even its own', async () => {
  const { clock, block } = stallClock();
  const agents = leadAndHand(() => {
    block(700);
    return 'Worked.';
  });
  await using cloister = await openCloister({ store: 'memory', agents, stallClock: clock });
  const tokens = [
    { name: 'boss', sha256: hashToken('clo_boss'), operator: true },
    { name: 'ann', sha256: hashToken('clo_ann') },
  ];
  const server = await openServer(cloister, { tokens });
  const health = async (token: string) => (await server.fetch(getRequest('/health', token))).json();
  const answer = await server.fetch(postRequest('/v1/lead', 'clo_ann', { input: 'Go.', details: true }));
  const { run, ...body } = (await answer.json()) as { run: string };
  expect(JSON.stringify(body)).not.toContain('stalls');
  expect(await health('clo_boss')).toMatchObject({
    status: 'ok',
    stalls: { count: 1, longestMs: 700, latest: [{ run }] },
  });
  for (const token of ['clo_ann', 'clo_wrong', '']) expect(await health(token)).toEqual({ status: 'ok' });
  await server.stop(0);
});
