// A run that waits for people: one word for its state, and its working time apart from the time that it waited.
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister, RunSession } from 'cloister';
import { rehearse, virtualClock } from '#testkit';
import { applyEvent, newRunView } from '#headends/run-view';
import { describeTotal } from '../../src/headends/cli/shared/progress.ts';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

const hour = 3_600_000;

/** A lead, and a clerk below it who asks before it sends; both take a second for each reply. */
const office = (clock: ReturnType<typeof virtualClock>): Agent => {
  const reply = (text: object | string) => ({
    ...(typeof text === 'string' ? { text } : text),
    delayMs: 1_000,
  });
  const clerk = defineAgent({
    name: 'clerk',
    description: 'Writes.',
    prompt: 'Write.',
    models: [
      rehearse(
        [{ when: { turn: 1 }, reply: reply({ calls: [{ tool: 'send', args: {} }] }) }, { reply: reply('Done.') }],
        { clock },
      ),
    ],
    limits: { questionTimeout: 100 * hour },
    tools: [
      {
        name: 'send',
        description: 'Sends.',
        inputSchema: { type: 'object', properties: {} },
        approve: true,
        execute: () => 'Sent.',
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
          { reply: reply('All done.') },
        ],
        { clock },
      ),
    ],
    agents: [clerk],
  });
};

const untilWaiting = async (session: RunSession, clock: ReturnType<typeof virtualClock>): Promise<void> => {
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return session.waitsForPeople;
    })
    .toBe(true);
  await session.durable();
};

const untilEnded = async (session: RunSession, clock: ReturnType<typeof virtualClock>): Promise<void> => {
  let isOver = false;
  void session.outcome.then(() => (isOver = true));
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return isOver;
    })
    .toBe(true);
};

const statesOf = async (cloister: Cloister, run: string) => [
  (await cloister.runs({ run, waiting: true }))[0]!.state,
  (await cloister.show(run)).status,
];

test('a run that waits is `waiting` for its owner, for other processes, and when nobody owns it', async () => {
  await using folder = await temporaryFolder();
  const clock = virtualClock(1_000_000);
  const open = () => openCloister({ agents: [office(clock)], workspace: folder.path, clock });
  const owner = await open();
  const session = owner.run('lead', 'Go');
  await session.durable();
  expect(await statesOf(owner, session.run)).toEqual(['running', 'running']);
  await untilWaiting(session, clock);
  await using other = await open();
  expect(await statesOf(owner, session.run)).toEqual(['waiting', 'waiting']);
  expect(await statesOf(other, session.run)).toEqual(['waiting', 'waiting']);
  await owner.close();
  expect(await statesOf(other, session.run)).toEqual(['waiting', 'waiting']);
  // Who owns a run is another matter, and told without a look into its log.
  expect((await other.runs({ run: session.run }))[0]!.state).toBe('interrupted');
});

test('the time of every cell is working time, and the time that it waited stands beside it, also if the run was down', async () => {
  await using folder = await temporaryFolder();
  const clock = virtualClock(1_000_000);
  const open = () => openCloister({ agents: [office(clock)], workspace: folder.path, clock });
  const owner = await open();
  const session = owner.run('lead', 'Go');
  await untilWaiting(session, clock);
  await clock.advance(hour);
  const whileWaiting = await owner.show(session.run);
  expect(whileWaiting.cells.map(({ waitedMs }) => waitedMs)).toEqual([0, 0]);
  await owner.close();
  await clock.advance(2 * hour);
  await using other = await open();
  const [question] = await other.questions();
  const resumed = await other.resume(session.run);
  await untilWaiting(resumed, clock);
  await other.answer(question!.id, { allow: true, sha256: question!.sha256 });
  await untilEnded(resumed, clock);
  const { cells, events } = await other.show(session.run);
  const recorded = (await resumed.outcome).spent.ms;
  for (const { spent, own, waitedMs } of cells) {
    expect(waitedMs).toBeGreaterThanOrEqual(3 * hour);
    expect(waitedMs).toBeLessThan(3 * hour + 60_000);
    expect(own.ms).toBe(spent.ms);
    expect(spent.ms).toBeLessThan(60_000);
  }
  expect(cells[0]!.spent.ms).toBe(recorded);
  // The live line tells the same.
  const progress = newRunView();
  for (const event of events) applyEvent(progress, event);
  expect(describeTotal(progress, clock.now())).toMatch(/ · \d+\.\d s, waited 3h00m$/u);
});
