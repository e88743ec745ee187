// How long a run and each of its cells has worked: wherever it is told, it is the time in the outcome.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister, RunSession } from 'cloister';
import type { RunId } from '#base';
import type { Clock, Spent } from '#contracts';
import { rehearse, virtualClock } from '#testkit';
import { applyEvent, formatDuration, newRunView, workedMs } from '#headends/run-view';
import { reportJson, summaryJson } from '../../src/headends/rest/run-json.ts';
import { describeTotal } from '../../src/headends/cli/shared/progress.ts';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

const hour = 3_600_000;

/** A lead, and a clerk below it that asks a person before it sends, and has a tool that goes on after it was stopped. */
const office = (clock: Clock): Agent => {
  const reply = (text: object | string, delayMs = 1_500) => ({
    ...(typeof text === 'string' ? { text } : text),
    delayMs,
  });
  const tool = { description: 'Acts.', inputSchema: { type: 'object', properties: {} } } as const;
  const clerk = defineAgent({
    name: 'clerk',
    description: 'Writes.',
    prompt: 'Write.',
    models: [
      rehearse(
        [
          { when: { turn: 1 }, reply: reply({ calls: [{ tool: 'look', args: {} }] }, 2_300) },
          { when: { turn: 2 }, reply: reply({ calls: [{ tool: 'send', args: {} }] }) },
          { reply: reply('Done.') },
        ],
        { clock },
      ),
    ],
    limits: { questionTimeout: 100 * hour, toolTimeout: 700 },
    tools: [
      { ...tool, name: 'send', approve: true, execute: () => 'Sent.' },
      {
        ...tool,
        name: 'look',
        repeat: 'free',
        execute: () => new Promise<string>((resolve) => void clock.timer(900, () => resolve('Seen.'))),
      },
    ],
  });
  return defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    models: [
      rehearse(
        [
          { when: { turn: 1 }, reply: reply({ calls: [{ tool: 'clerk', args: { prompt: 'Go' } }] }) },
          { reply: reply('All done.', 4_100) },
        ],
        { clock },
      ),
    ],
    agents: [clerk],
  });
};

/** `set` says what the time is from then on; timers go on as they were. */
const settableClock = (start: number) => {
  const real = virtualClock(start);
  let shift = 0;
  const clock: Clock = { now: () => real.now() + shift, timer: (ms, due) => real.timer(ms, due) };
  return { clock, advance: (ms: number) => real.advance(ms), set: (at: number) => (shift = at - real.now()) };
};

type SettableClock = ReturnType<typeof settableClock>;

const until = async (isDone: () => boolean, { advance }: SettableClock): Promise<void> => {
  const look = async () => {
    await advance(250);
    return isDone();
  };
  await expect.poll(look, { interval: 2, timeout: 20_000 }).toBe(true);
};

const untilEnded = async (session: RunSession, time: SettableClock): Promise<void> => {
  const state = { isOver: false };
  void session.outcome.then(() => (state.isOver = true));
  await until(() => state.isOver, time);
};

const answerAll = async (cloister: Cloister): Promise<void> => {
  for (const { id, sha256 } of await cloister.questions()) await cloister.answer(id, { allow: true, sha256 });
};

/** Every place that tells the time of the root, and then those that tell the time of each cell. */
const timesOf = async (cloister: Cloister, run: RunId) => {
  const [report, [listed], transcript, diff] = [
    await cloister.show(run),
    await cloister.runs({ run }),
    await cloister.transcript(run),
    await cloister.diff(run, run),
  ];
  const view = newRunView();
  for (const event of report.events) applyEvent(view, event);
  const reader = { name: 'operator', operator: true } as const;
  const json = (value: object) => (value as { spent: Spent }).spent.ms;
  const ends = new Map(report.events.flatMap((one) => (one.type === 'session-end' ? [[one.cell, one.spent.ms]] : [])));
  const later = report.endedAt! + 5 * hour;
  return {
    run: [
      listed!.spent!.ms,
      report.spent.ms,
      json(reportJson(report, null, reader)),
      json(summaryJson({ ...listed!, crossings: null, conversation: null } as never, reader)),
    ],
    total: describeTotal(view, later),
    cells: report.cells.map(({ cell, spent, own }) => [
      spent.ms,
      own.ms,
      ends.get(cell),
      workedMs(view.cells.get(cell)!, later),
      transcript.cells.find((one) => one.cell === cell)!.ms,
      diff.cells.find(({ one }) => one?.cell === cell)!.one!.spent.ms,
    ]),
  };
};

const checkTimes = async (cloister: Cloister, session: RunSession): Promise<Spent> => {
  const { spent } = await session.outcome;
  const { run, total, cells } = await timesOf(cloister, session.run);
  expect(run).toEqual(run.map(() => spent.ms));
  expect(total).toContain(` · ${formatDuration(spent.ms)}`);
  for (const told of cells) expect(new Set(told).size).toBe(1);
  expect(cells[0]![0]).toBe(spent.ms);
  expect(await cloister.audit(session.run)).toMatchObject({ ok: true });
  return spent;
};

// invariant: worked-as-recorded
test.each([
  ['as time goes', 0, 0],
  ['when the clock was set back before people answer', -20 * hour, 0],
  ['when the clock jumps ahead while it works', 0, 20 * hour],
  ['when the clock is set back while it works', 0, -20 * hour],
])('one time of a run is told everywhere, %s', async (_when, whileWaiting, whileWorking) => {
  await using folder = await temporaryFolder();
  const time = settableClock(1_000 * hour);
  const { clock } = time;
  await using cloister = await openCloister({ agents: [office(clock)], workspace: folder.path, clock });
  const session = cloister.run('lead', 'Go');
  await time.advance(800);
  time.set(clock.now() + whileWorking);
  await until(() => session.waitsForPeople, time);
  await session.durable();
  await time.advance(3 * hour);
  time.set(clock.now() + whileWaiting);
  await answerAll(cloister);
  await untilEnded(session, time);
  expect((await checkTimes(cloister, session)).ms).toBeGreaterThan(5_000);
});

test('one time is told of a run that crashed while it worked, was down, and waited for people', async () => {
  await using folder = await temporaryFolder();
  const [path, copy] = [join(folder.path, 'first'), join(folder.path, 'after')];
  const time = settableClock(1_000 * hour);
  const { clock } = time;
  await using cloister = await openCloister({ agents: [office(clock)], workspace: path, clock });
  const session = cloister.run('lead', 'Go');
  await until(() => clock.now() > 1_000 * hour + 2_000, time);
  await session.durable();
  cpSync(path, copy, { recursive: true });
  session.cancel();
  await untilEnded(session, time);
  {
    using database = new DatabaseSync(join(copy, 'cloister.db'));
    database.exec('DELETE FROM owners');
  }
  time.set(clock.now() - 10 * hour);
  await using other = await openCloister({ agents: [office(clock)], workspace: copy, clock });
  await time.advance(14 * hour);
  const resumed = await other.resume(session.run);
  await until(() => resumed.waitsForPeople, time);
  await resumed.durable();
  await time.advance(2 * hour);
  await answerAll(other);
  await untilEnded(resumed, time);
  const { ms } = await checkTimes(other, resumed);
  expect(ms).toBeLessThan(60_000);
});

test('one time is told of a fork, which counts nothing between its run and itself, and of a run that is cancelled', async () => {
  await using folder = await temporaryFolder();
  const time = settableClock(1_000 * hour);
  const { clock } = time;
  await using cloister = await openCloister({ agents: [office(clock)], workspace: folder.path, clock });
  const session = cloister.run('lead', 'Go');
  await until(() => session.waitsForPeople, time);
  await session.durable();
  await time.advance(3 * hour);
  await answerAll(cloister);
  await untilEnded(session, time);
  const { cells } = await cloister.show(session.run);
  await time.advance(30 * hour);
  const fork = await cloister.fork(session.run, { at: `${cells[0]!.cell}/1` });
  await until(() => fork.waitsForPeople, time).catch(() => undefined);
  await answerAll(cloister);
  await untilEnded(fork, time);
  const { ms } = await checkTimes(cloister, fork);
  expect(ms).toBeLessThan(60_000);
  const cancelled = cloister.run('lead', 'Go');
  await time.advance(4_700);
  cancelled.cancel();
  await untilEnded(cancelled, time);
  await checkTimes(cloister, cancelled);
});
