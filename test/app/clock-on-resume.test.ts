// A run that is resumed where the clock says another time: it was wrong when the frames were recorded, or the run has moved.
import { expect, test } from 'vitest';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import { memoryStore } from '#adapters/stores';
import { recordFormats } from '#base';
import type { Budget, Clock, RunSession } from '#contracts';
import { defineAgent } from 'cloister';
import type { Agent, AgentOptions } from 'cloister';
import { countingIds, rehearse, virtualClock } from '#testkit';
import { LocalCloister } from '../../src/app/local-cloister.ts';

const [minute, hour] = [60_000, 3_600_000];

/** `set` changes what the time is from then on; timers go on as they were. */
const settableClock = () => {
  const real = virtualClock(500_000 * hour);
  let shift = 0;
  const clock: Clock = { now: () => real.now() + shift, timer: (ms, due) => real.timer(ms, due) };
  return { clock, advance: (ms: number) => real.advance(ms), set: (byMs: number) => void (shift += byMs) };
};

const openOn = (store: ReturnType<typeof memoryStore>, clock: Clock, agent: Agent): LocalCloister => {
  const { models, sources } = agent.resources as never as { models: never[]; sources: never[] };
  return new LocalCloister([agent], {
    store,
    workspaces: memoryCellFolders(),
    validate,
    schemaProblem: () => null,
    toolSchemaProblem: () => null,
    clock,
    ids: countingIds(),
    lanes: new Map(),
    resources: {
      agents: [agent],
      redactFor: () => null,
      prepare: async () => undefined,
      resourcesFor: () => ({ models, sources: sources ?? [] }),
      modelsOf: () => models,
    },
    startInfo: undefined,
    recordedBy: { format: recordFormats.newest, build: 'test' },
  });
};

/** Kills a run after so long; then it is resumed at once, with the clock set by so much. */
const resumeWithClock = async (
  agentFor: (clock: Clock) => Agent,
  { diesAfterMs, byMs, budget }: { readonly diesAfterMs: number; readonly byMs: number; readonly budget?: Budget },
) => {
  const { clock, advance, set } = settableClock();
  const agent = agentFor(clock);
  const store = memoryStore();
  const session = openOn(store, clock, agent).run('lead', 'Go', budget === undefined ? {} : { budget });
  session.outcome.catch(() => undefined);
  await advance(diesAfterMs);
  const copy = memoryStore();
  const log = await copy.acquireRun(session.run);
  for (const frame of await store.read(session.run)) log.append(frame);
  await log.close();
  set(byMs);
  const cloister = openOn(copy, clock, agent);
  const resumed = await cloister.resume(session.run);
  return { cloister, resumed, advance };
};

/** After how many minutes it ends. */
const minutesToEnd = async (session: RunSession, advance: (ms: number) => Promise<void>): Promise<number> => {
  let isOver = false;
  const end = (): void => void (isOver = true);
  session.outcome.then(end, end);
  for (let minutes = 0; minutes < 200; minutes++) {
    if (isOver) return minutes;
    await advance(minute);
  }
  return Infinity;
};

const lead = (models: AgentOptions['models'], more: Partial<AgentOptions> = {}): Agent =>
  defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models, ...more });

/** Asks its model again and again, a minute each time. */
const tireless = (clock: Clock): Agent =>
  lead([rehearse([{ reply: { calls: [{ tool: 'look' }], delayMs: minute } }], { clock })], {
    limits: { maxToolTurns: 10_000 },
    tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, execute: () => 'Seen.' }],
  });

// invariant: run-time-goes-on
test.each([
  ['stays', 0, 20],
  ['was an hour fast, and is right now', -hour, 20],
  ['was a day fast, and is right now', -24 * hour, 20],
  // As if it had been down for an hour.
  ['was an hour slow, and is right now', hour, 0],
])('a deadline comes when it is due if the clock %s', async (_what, byMs, minutes) => {
  const { cloister, resumed, advance } = await resumeWithClock(tireless, {
    diesAfterMs: 10 * minute,
    byMs,
    budget: { ms: 30 * minute },
  });
  expect(Math.abs((await minutesToEnd(resumed, advance)) - minutes)).toBeLessThanOrEqual(1);
  expect(await resumed.outcome).toMatchObject({ status: 'timeout' });
  expect(await cloister.audit(resumed.run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(resumed.run)).toMatchObject({ ok: true });
});

/** Its provider asks it to wait for 20 minutes; then it answers within one. */
const patient = (clock: Clock): Agent =>
  lead(
    [
      rehearse(
        [{ times: 1, reply: { fault: 429, retryAfterMs: 20 * minute } }, { reply: { text: 'Done.', delayMs: minute } }],
        { clock },
      ),
    ],
    { limits: { llmTimeout: hour } },
  );

test.each([
  ['stays', 0],
  ['was an hour fast, and is right now', -hour],
  ['was an hour slow, and is right now', hour],
])('a sleep lasts as long as it was to last, counted from the last record, if the clock %s', async (_what, byMs) => {
  const { cloister, resumed, advance } = await resumeWithClock(patient, { diesAfterMs: 10 * minute, byMs });
  expect(Math.abs((await minutesToEnd(resumed, advance)) - 21)).toBeLessThanOrEqual(1);
  expect(await resumed.outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(await cloister.audit(resumed.run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(resumed.run)).toMatchObject({ ok: true });
});

/** Its question counts as denied after two hours. */
const asking = (clock: Clock): Agent =>
  lead(
    [rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'send' }] } }, { reply: 'Nobody came.' }], { clock })],
    {
      limits: { questionTimeout: 2 * hour },
      tools: [
        { name: 'send', description: 'Sends.', inputSchema: { type: 'object' }, approve: true, execute: () => 'Sent.' },
      ],
    },
  );

test.each([
  ['stays', 0, 90],
  // Nobody knows how long it waited since the last record.
  ['was an hour fast, and is right now', -hour, 120],
  ['was a day fast, and is right now', -24 * hour, 120],
  ['was an hour slow, and is right now', hour, 30],
])('a question expires when it is due if the clock %s', async (_what, byMs, minutes) => {
  const { cloister, resumed, advance } = await resumeWithClock(asking, { diesAfterMs: 30 * minute, byMs });
  expect(Math.abs((await minutesToEnd(resumed, advance)) - minutes)).toBeLessThanOrEqual(1);
  expect(await resumed.outcome).toMatchObject({ status: 'completed', output: 'Nobody came.' });
  expect(await cloister.audit(resumed.run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(resumed.run)).toMatchObject({ ok: true });
});
