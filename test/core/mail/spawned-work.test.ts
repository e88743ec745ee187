// What becomes of the work of spawned agents when their parent has answered.
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { SpawnOptions } from '#contracts';
import { auditRun } from '#core/audit';
import type { ScriptedReply } from '#testkit';
import { expectResumable, rehearse } from 'cloister/testkit';
import type { MakeWorkflow, Script } from 'cloister/testkit';
import { agent, always, ask, call, lastResults, lines, ofType, world } from '../session/driver.ts';
import { loadAccounts } from '../load-accounts.ts';
import { Stage } from './stage.ts';

const spawn = (name: string, message?: string) =>
  call('spawn_agent', { agent_id: name, ...(message === undefined ? {} : { initial_message: message }) });

const helper = agent('helper', { tools: ['send_message', 'receive_message'] });

const lead = (spawns: SpawnOptions = {}, more: Parameters<typeof agent>[1] = {}) =>
  agent('lead', {
    tools: ['spawn_agent', 'receive_message', 'shutdown_agent', 'send_message'],
    spawns: { agents: [helper], ...spawns },
    ...more,
  });

const slowly = (text: string, delayMs: number) => ({ text, delayMs });

describe('after its last answer, a parent', () => {
  // invariant: answered-model-not-asked
  test('waits for the work that it left, and the caller gets the words that it did not read', async () => {
    const { outcome, requests, events } = await ask(lead(), {
      says: [...lines({ lead: [spawn('helper', 'Dig'), 'Handed over.'] }), always(slowly('Dug.', 40_000), 'helper')],
    });
    expect(outcome).toMatchObject({
      status: 'completed',
      output: 'Handed over.',
      missing: [],
      spawned: [{ agent: 'helper', status: 'completed', why: null, output: 'Dug.' }],
    });
    expect(outcome.spent.ms).toBe(40_000);
    expect(ofType(events, 'wait-start')).toMatchObject([{ agent: 'lead', ms: 600_000, for: 'spawned' }]);
    // Its model is not asked again.
    expect(requests.filter(({ text }) => text.includes('lead'))).toHaveLength(2);
  });

  test('says nothing of agents whose words it read', async () => {
    const { outcome } = await ask(lead(), {
      says: [
        ...lines({ lead: [spawn('helper', 'Dig'), call('receive_message'), 'They dug.'] }),
        always('Dug.', 'helper'),
      ],
    });
    expect(outcome.status).toBe('completed');
    expect(outcome.spawned).toBeUndefined();
  });

  test('passes on the words of an agent that it shut down before, unless it read them', async () => {
    const shutDown = call('shutdown_agent', { sub_agent_id: 'helper' });
    const { outcome } = await ask(lead(), {
      says: [...lines({ lead: [spawn('helper', 'Dig'), shutDown, 'Done.'] }), always(slowly('Dug.', 500), 'helper')],
    });
    expect(outcome).toMatchObject({
      status: 'completed',
      missing: [],
      spawned: [{ agent: 'helper', status: 'completed', why: null, output: 'Dug.' }],
    });
    const read = await ask(lead(), {
      says: [
        ...lines({ lead: [spawn('helper', 'Dig'), call('receive_message'), shutDown, 'They dug.'] }),
        always('Dug.', 'helper'),
      ],
    });
    expect(read.outcome.spawned).toBeUndefined();
  });

  test('does not miss agents that were never given work', async () => {
    const { outcome } = await ask(lead(), { says: lines({ lead: [spawn('helper'), 'Done.'] }) });
    expect(outcome).toMatchObject({ status: 'completed', missing: [] });
    expect(outcome.spawned).toBeUndefined();
  });

  // invariant: unfinished-work-named
  test('waits for `spawns.wait` at most, then names who still works', async () => {
    const { outcome, clock } = await ask(lead({ waitMs: 30_000, graceMs: 1_000 }), {
      says: [...lines({ lead: [spawn('helper', 'Dig'), 'Handed over.'] }), always(slowly('Dug.', 60_000), 'helper')],
    });
    expect(outcome).toMatchObject({
      status: 'partial',
      output: 'Handed over.',
      failure: null,
      missing: ['helper'],
      spawned: [{ agent: 'helper', status: 'cancelled', why: expect.stringContaining('30000 ms'), output: '' }],
    });
    expect(clock.now()).toBe(1_000_000 + 31_000);
  });

  test('waits no longer than the deadline of the run', async () => {
    const { outcome } = await ask(lead({ graceMs: 1_000 }, {}), {
      budget: { ms: 20_000 },
      says: [...lines({ lead: [spawn('helper', 'Dig'), 'Handed over.'] }), always(slowly('Dug.', 60_000), 'helper')],
    });
    expect(outcome).toMatchObject({ status: 'partial', output: 'Handed over.', missing: ['helper'] });
    expect(outcome.spent.ms).toBeLessThanOrEqual(21_000);
  });

  test('with `on_end: stop` waits for nobody, and names who still worked', async () => {
    const { outcome } = await ask(lead({ onEnd: 'stop', graceMs: 1_000 }), {
      says: [...lines({ lead: [spawn('helper', 'Dig'), 'Handed over.'] }), always(slowly('Dug.', 60_000), 'helper')],
    });
    expect(outcome).toMatchObject({
      status: 'partial',
      missing: ['helper'],
      spawned: [{ status: 'cancelled', why: expect.stringContaining('on_end: stop') }],
    });
    expect(outcome.spent.ms).toBe(1_000);
  });

  // invariant: unfinished-work-named
  test('names agents that failed, even if it was told', async () => {
    const { outcome } = await ask(lead(), {
      says: [
        ...lines({ lead: [spawn('helper', 'Dig'), call('receive_message'), 'It failed.'] }),
        { when: { agent: 'helper' }, reply: { fault: 401 } },
      ],
    });
    expect(outcome).toMatchObject({ status: 'partial', missing: ['helper'], spawned: [{ status: 'failed' }] });
    expect(outcome.spawned![0]!.why).not.toBe(null);
  });

  test('waits for those below its agents too', async () => {
    const chain = agent('lead', { tools: ['spawn_agent'], spawns: { agents: ['self'] } });
    const { outcome, report } = await ask(chain, {
      goal: 'All of it',
      says: [
        { when: { agent: 'lead', text: 'All of it', turn: 1 }, reply: spawn('self', 'Second half') },
        { when: { agent: 'lead', text: 'All of it' }, reply: 'Handed over.' },
        { when: { agent: 'lead', text: 'Second half', turn: 1 }, reply: spawn('self', 'Last quarter') },
        { when: { agent: 'lead', text: 'Second half' }, reply: 'Handed over again.' },
        always(slowly('Read to the end.', 30_000)),
      ],
    });
    expect(outcome).toMatchObject({ status: 'completed', output: 'Handed over.', missing: [] });
    expect(report.cells.map((cell) => [cell.outcome?.status, cell.outcome?.output])).toEqual([
      ['completed', 'Handed over.'],
      ['completed', 'Handed over again.'],
      ['completed', 'Read to the end.'],
    ]);
    expect(outcome.spent.ms).toBe(30_000);
  });

  // invariant: wait-holds-nothing
  test('holds no slot and leaves its budget to its agents', async () => {
    const patient = agent('helper', { tools: ['receive_message'], limits: { maxOutputTokens: 60_000 } });
    // The helper inherits its parent's limit, so that one is not lower than the helper's own.
    const { outcome } = await ask(lead({ agents: [patient] }, { limits: { maxOutputTokens: 60_000 } }), {
      budget: { tokens: 241_000 },
      concurrency: { models: 1 },
      says: lines({
        lead: [spawn('helper', 'Dig'), 'Handed over.'],
        helper: [
          { ...call('receive_message', { timeout_ms: 1_000 }), usage: { input: 100, output: 60_000 } },
          // This fits only without the floor that was left free for the next request of the parent.
          { text: 'Dug.', usage: { input: 100, output: 60_000 } },
        ],
      }),
    });
    expect(outcome).toMatchObject({ status: 'completed', spawned: [{ output: 'Dug.' }] });
  });

  // invariant: answered-model-not-asked
  test('reads no more mail: what an agent still writes to it is undeliverable', async () => {
    const { outcome, cloister } = await ask(lead(), {
      says: [
        ...lines({
          lead: [spawn('helper', 'Dig'), 'Handed over.'],
          helper: [{ ...call('send_message', { to: 'parent', message: 'Where?' }), delayMs: 1_000 }, 'Dug anywhere.'],
        }),
      ],
    });
    expect(outcome).toMatchObject({ status: 'completed', spawned: [{ output: 'Dug anywhere.' }] });
    const { letters } = await cloister.deadLetters();
    expect(letters.map(({ reason }) => reason)).toContain('ended');
  });

  test('that is cancelled while it waits is cancelled, and keeps its answer', async () => {
    const { clock } = world();
    const stop = new AbortController();
    clock.timer(5_000, () => stop.abort());
    const { outcome } = await ask(lead(), {
      clock,
      signal: stop.signal,
      says: [...lines({ lead: [spawn('helper', 'Dig'), 'Handed over.'] }), always(slowly('Dug.', 40_000), 'helper')],
    });
    expect(outcome).toMatchObject({ status: 'cancelled', output: 'Handed over.', missing: ['helper'] });
    expect(outcome.spent.ms).toBe(5_000);
  });

  test('gives long words by the cell that holds all of them', async () => {
    const long = 'ä'.repeat(15_000);
    const { outcome, report } = await ask(lead(), {
      says: [...lines({ lead: [spawn('helper', 'Dig'), 'Handed over.'] }), always(slowly(long, 10), 'helper')],
    });
    const [one] = outcome.spawned!;
    expect(one).toMatchObject({ bytes: 30_000, output: long.slice(0, 10_000) });
    expect(report.cells.find(({ cell }) => cell === one!.cell)?.outcome?.output).toBe(long);
  });
});

test('a parent’s parent hears the names and statuses of spawned agents, and none of their words', async () => {
  const root = agent('root', { agents: [lead({ waitMs: 5_000 })] });
  const { outcome, requests } = await ask(root, {
    says: [
      ...lines({
        root: [call('lead', { prompt: 'Go' }), 'All in.'],
        lead: [{ calls: [...spawn('helper', 'Dig').calls!, ...spawn('helper', 'Dig more').calls!] }, 'Handed over.'],
        helper: [slowly('A secret find.', 1_000), slowly('Another find.', 50_000)],
      }),
    ],
  });
  const { text } = lastResults(requests)[0]!;
  expect(text).toMatch(/^Result from lead \(status: partial\)\. Missing: helper-\w+ \(cancelled\)\.\n/u);
  expect(text).not.toContain('find');
  expect(JSON.stringify(outcome)).not.toContain('find');
  expect(outcome).toMatchObject({ status: 'partial', missing: ['lead'] });
});

const script: Script = [
  { when: { agent: 'lead', turn: 1 }, reply: spawn('scout', 'Look around') },
  { when: { agent: 'lead', turn: 2 }, reply: 'Sent.' },
  { when: { agent: 'scout', turn: 1 }, reply: { ...spawn('runner', 'Run'), delayMs: 20 } },
  { when: { agent: 'scout' }, reply: { text: 'Seen.', delayMs: 10 } },
  { when: { agent: 'runner' }, reply: { text: 'Ran.', delayMs: 100 } },
];

const workflow: MakeWorkflow = ({ clock }) => {
  const models = [rehearse(script, { clock })];
  const define = (name: string, spawned: readonly ReturnType<typeof defineAgent>[]) =>
    defineAgent({
      name,
      description: `Is ${name}.`,
      prompt: `You are ${name}.`,
      models,
      ...(spawned.length === 0 ? {} : { tools: ['spawn_agent'], spawns: { agents: spawned } }),
    });
  return { agents: [define('lead', [define('scout', [define('runner', [])])])], input: 'Go' };
};

test('a parent that waited when the process crashed reserves nothing for itself', async () => {
  const stage = new Stage([lead(), helper], false);
  await stage.settle();
  await stage.say('lead', spawn('helper', 'Dig'));
  const floor = () => loadAccounts(stage.frames).accounts.get(stage.live.root.cellId)?.floor;
  expect(floor()?.tokens).toBeGreaterThan(0);
  await stage.say('lead', { text: 'Handed over.' });
  expect(stage.pending).toEqual(['helper']);
  expect(floor()).toEqual({});
});

test('a long-lived agent that leaves messages unread is not complete', async () => {
  const stage = new Stage([lead({ onEnd: 'stop' }), helper], false);
  await stage.settle();
  await stage.say('lead', spawn('helper', 'Dig'));
  await stage.say('lead', call('send_message', { to: 'helper', message: 'And there?' }));
  await stage.say('lead', { text: 'Handed over.' });
  // It may finish its current work, but does not begin another.
  await stage.say('helper', { text: 'Dug.' });
  expect(await stage.live.outcome).toMatchObject({
    status: 'partial',
    missing: ['helper'],
    spawned: [{ status: 'partial', output: 'Dug.', why: expect.stringContaining('shut down') }],
  });
});

test('a long-lived parent waits for nobody, neither between its answers nor when it is asked to finish', async () => {
  const stage = new Stage([lead(), helper], true);
  await stage.settle();
  await stage.say('lead', spawn('helper', 'Dig'));
  await stage.say('lead', { text: 'Handed over.' });
  expect(stage.live.agents().map(({ agent: name, status }) => `${name} ${status}`)).toEqual([
    'lead waiting',
    'helper running',
  ]);
  stage.live.do({ do: 'finish' });
  await stage.clock.advance(6_000);
  expect(await stage.live.outcome).toMatchObject({ status: 'partial', output: 'Handed over.', missing: ['helper'] });
});

test('the audit finds an outcome that hides unfinished work, or gives an agent other words', async () => {
  const runWith = async (reply: ScriptedReply): Promise<Stage> => {
    const stage = new Stage([lead(), helper], false);
    await stage.settle();
    await stage.say('lead', spawn('helper', 'Dig'));
    await stage.say('lead', { text: 'Handed over.' });
    await stage.say('helper', reply);
    await stage.live.outcome;
    return stage;
  };
  const codesAfter = async (stage: Stage, change: (outcome: any) => void) => {
    const frames = structuredClone(stage.frames);
    change((frames.at(-1) as any).record.outcome);
    const { problems } = await auditRun(frames, { readBlob: async () => new Uint8Array(), damaged: [] });
    return problems.map(({ code }) => code);
  };
  const failed = await runWith({ fault: 401 });
  expect(await codesAfter(failed, () => undefined)).toEqual([]);
  expect(await codesAfter(failed, (outcome) => (outcome.status = 'completed'))).toContain('outcome-spawned');
  expect(await codesAfter(failed, (outcome) => (outcome.missing = []))).toContain('outcome-spawned');
  expect(await codesAfter(failed, (outcome) => delete outcome.spawned)).toContain('outcome-spawned');
  const finished = await runWith({ text: 'Dug.' });
  expect(await codesAfter(finished, () => undefined)).toEqual([]);
  expect(await codesAfter(finished, ({ spawned }) => (spawned[0].output = 'Gold!'))).toContain('outcome-spawned');
  expect(await codesAfter(finished, ({ spawned }) => (spawned[0].cell = 'x-1'))).toContain('outcome-spawned');
  expect(await codesAfter(finished, (outcome) => delete outcome.spawned)).toContain('outcome-spawned');
  expect(await codesAfter(finished, ({ spawned }) => (spawned[0].why = 'It slept.'))).toContain('outcome-spawned');
  expect(await codesAfter(finished, ({ spawned }) => spawned.push(spawned[0]))).toContain('outcome-spawned');
  const empty = { status: 'cancelled', output: '' };
  expect(await codesAfter(finished, ({ spawned }) => Object.assign(spawned[0], empty))).toContain('outcome-spawned');
});

test('a crash after any record, also while the parent waits, changes nothing', async () => {
  const { records, crashes, outcome } = await expectResumable(workflow);
  expect(outcome).toMatchObject({ status: 'completed', output: 'Sent.', spawned: [{ output: 'Seen.' }] });
  expect(crashes).toBe(records - 1);
});
