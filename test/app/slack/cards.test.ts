// What the cards of a thread show beyond who works: clamps and trims of windows, and the agents of a team.
import { expect, test } from 'vitest';
import { defineAgent, defineTeam } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Clock, RunEvent } from '#contracts';
import { RunThreadView } from '../../../src/headends/slack/run-thread-view.ts';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackWorld } from './slack-world.ts';

const answer = async ({ slack, time }: SlackWorld, ts: string) => {
  const own = () => slack.thread('C1', ts).filter(({ isByApp }) => isByApp);
  await time.until(() => own().some(({ buttons }) => buttons.some(({ text }) => text === 'Details')), 'an answer');
  return own();
};

const options = { keepRequests: false };

test('the card of an agent says how its window was clamped, and what was trimmed to make room', () => {
  const view = new RunThreadView(false);
  const about = { cell: 'lead-1', agent: 'lead', run: 'r', at: 1 };
  const trim = { ...about, type: 'window-trim', how: 'compacted', messages: 3, bytesBefore: 9_000, bytesAfter: 100 };
  const events = [
    { ...about, type: 'session-start', parent: null, tool: null, depth: 0, goal: 'Go', id: 'lead-1/0' },
    { ...about, type: 'window-clamp', window: { tokens: 4_000, by: 'model' }, was: 100_000, id: 'lead-1/1' },
    ...[2, 3, 4, 5, 6, 7].map((nth) => ({ ...trim, messages: nth, id: `lead-1/${nth}` })),
  ];
  const details = (): readonly string[] => view.view(9).cards[0]!.details.split('\n');
  for (const event of events.slice(0, 3)) view.next(event as unknown as RunEvent);
  expect(details().slice(-2)).toEqual(['window of 4.0k tokens instead of 100k', '2 messages compacted to make room']);
  for (const event of events.slice(3)) view.next(event as unknown as RunEvent);
  expect(details().slice(-6)).toEqual([
    '2 earlier changes of the window',
    ...[3, 4, 5, 6, 7].map((nth) => `${nth} messages compacted to make room`),
  ]);
});

test('a team answers in a thread: its agents have cards, and the answer is that of its coordinator', async () => {
  const agents = (clock: Clock): readonly Agent[] => {
    const tasks = ['one', 'two'].map((id) => ({ id, title: id, description: `Do ${id}.`, assignee: 'aide' }));
    const planner = rehearse(
      [
        {
          reply: (view) => (JSON.stringify(view).includes('Aided') ? 'All done.' : JSON.stringify({ tasks })),
        },
      ],
      { ...options, clock },
    );
    const helper = rehearse([{ reply: { text: 'Aided.', delayMs: 2_000 } }], { ...options, clock });
    const common = { description: 'Works.', prompt: 'Work.' };
    const aide = defineAgent({ ...common, name: 'aide', models: [helper] });
    const coordinator = defineAgent({ ...common, name: 'chief', models: [planner] });
    return [defineTeam({ name: 'crew', description: 'Works together.', agents: [aide], coordinator })];
  };
  const world = openSlackWorld({ agents, config: { channels: { C1: { agent: 'crew' } } } });
  let process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'Do it');
  const messages = await answer(world, ts);
  const cards = messages.flatMap((message) => message.cards.map(({ title, status }) => `${title} ${status}`));
  expect(cards.filter((one) => one.startsWith('aide'))).toEqual(['aide complete', 'aide#2 complete']);
  expect(cards.some((one) => one.startsWith('chief') || one.startsWith('crew'))).toBe(true);
  expect(messages.map(({ text }) => text).join('')).toBe('All done.');
  // Each message is a goal of its own. A process that knows nothing knows whose thread it is.
  await process.stop();
  process = await world.start();
  world.slack.say('U2', 'C1', 'And for me', { thread: ts });
  world.slack.say('U1', 'C1', 'And again', { thread: ts });
  const answered = () =>
    world.slack.thread('C1', ts).filter(({ buttons }) => buttons.some(({ text }) => text === 'Retry'));
  await world.time.until(() => answered().length === 2, 'two answers');
  for (let nth = 0; nth < 2; nth++) {
    world.slack.press('U1', answered()[0]!, 'Retry');
    await world.time.pass(30_000);
  }
  expect(world.said('C1', ts).filter((text) => text === 'All done.')).toHaveLength(3);
  expect((await world.time.finish(process.service.runs(person('U1'), { most: 9 }))).runs).toHaveLength(3);
  expect(process.logged).toEqual([]);
  await process.stop();
});
