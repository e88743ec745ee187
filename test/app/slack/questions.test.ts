// Questions to people as cards: who may answers, the rest is told nothing, and the card shows what became of it.
// invariants: card-shows-all, card-as-it-is
import { expect, test } from 'vitest';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackWorld } from './slack-world.ts';
import { slackTeam } from './slack-team.ts';

const appMessages = ({ slack }: SlackWorld, ts: string) => slack.thread('C1', ts).filter(({ isByApp }) => isByApp);

const hasButton = (action: string) => (message: { readonly buttons: readonly { readonly actionId: string }[] }) =>
  message.buttons.some(({ actionId }) => actionId === action);

/** The card of the only question of a thread. */
const askedCard = async (world: SlackWorld, ts: string) => {
  await world.time.until(() => appMessages(world, ts).some(hasButton('cloister_stop')), 'a card');
  return appMessages(world, ts).find(hasButton('cloister_stop'))!;
};

const answered = (world: SlackWorld, ts: string): Promise<void> =>
  world.time.until(() => appMessages(world, ts).some(hasButton('cloister_details')), 'the answer');

const shownNow = ({ slack }: SlackWorld, message: { readonly channel: string; readonly ts: string }): string =>
  slack.message(message)!.shown;

test('a card shows the call, the thread is suspended, and Allow continues the run', async () => {
  const team = slackTeam();
  const world = openSlackWorld(team);
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'send it');
  const card = await askedCard(world, ts);
  await world.time.pass(3_000);
  expect(card.shown).toContain('lead wants to call send');
  expect(card.shown).toContain('"to": "x"');
  expect(world.slack.session('C1', ts)?.status).toBe('suspended');
  expect(appMessages(world, ts)[0]!.text).toBe('I send.');
  world.slack.press('U1', card, 'Allow');
  world.slack.press('U1', card, 'Allow');
  await answered(world, ts);
  expect(team.sent).toEqual(['x']);
  expect(shownNow(world, card)).toContain('Allowed by slack:T1/U1.');
  expect(world.slack.message(card)!.buttons).toEqual([]);
  expect(world.slack.session('C1', ts)?.status).toBe('active');
  expect(world.said('C1', ts).at(-1)).toBe('Answer to send it after sent to x');
  await process.stop();
});

test('Edit shows what is wrong with the arguments in the dialog, then calls with the new ones', async () => {
  const team = slackTeam();
  const world = openSlackWorld(team);
  const { slack, time } = world;
  const process = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'send it');
  const card = await askedCard(world, ts);
  slack.press('U1', card, 'Edit');
  await time.until(() => slack.views('U1').length === 1);
  const [view] = slack.views('U1');
  for (const [args, problem] of [
    ['{', 'This is not JSON'],
    ['[1]', 'Expected a JSON object'],
    ['{"to": "much longer than twenty characters"}', 'to'],
    ['{"too": "x"}', 'too'],
  ] as const) {
    const sent = slack.submit('U1', view!.id, { args });
    const body = await time.finish(sent.acknowledged);
    expect(JSON.stringify(body)).toContain('"response_action":"errors"');
    expect(JSON.stringify(body)).toContain(problem);
  }
  slack.submit('U1', view!.id, { args: '{"to": "y"}', reason: 'Not to x.' });
  await answered(world, ts);
  expect(team.sent).toEqual(['y']);
  expect(slack.views('U1')).toEqual([]);
  expect(shownNow(world, card)).toContain('with other arguments');
  await process.stop();
});

test('Deny with a reason, which the agent is told', async () => {
  const team = slackTeam();
  const world = openSlackWorld(team);
  const { slack, time } = world;
  const process = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'send it');
  const card = await askedCard(world, ts);
  slack.press('U1', card, 'Deny');
  await time.until(() => slack.views('U1').length === 1);
  slack.submit('U1', slack.views('U1')[0]!.id, { reason: 'Too early.' });
  await answered(world, ts);
  expect(team.sent).toEqual([]);
  expect(shownNow(world, card)).toContain('Denied by slack:T1/U1.');
  expect(world.said('C1', ts).at(-1)).toContain('Too early.');
  await process.stop();
});

test.for(['option', 'words'] as const)('an agent that asks is answered: %s', async (how) => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const process = await world.start();
  const { ts } = slack.mention('U1', 'C1', how === 'option' ? 'ask me' : 'ask freely');
  const card = await askedCard(world, ts);
  expect(card.shown).toContain('Which one?');
  if (how === 'option') slack.press('U1', card, '2. blue');
  else {
    slack.press('U1', card, 'Answer');
    await time.until(() => slack.views('U1').length === 1);
    slack.submit('U1', slack.views('U1')[0]!.id, { reason: 'green' });
  }
  await answered(world, ts);
  expect(world.said('C1', ts).at(-1)).toContain(how === 'option' ? 'blue' : 'green');
  expect(shownNow(world, card)).toContain('Answered by');
  await process.stop();
});

test('two named people must allow it, the asker may not, and the card counts them', async () => {
  const team = slackTeam({ approve: { by: ['slack:T1/U2', 'slack:T1/U9'], need: 2, not: 'asker' } });
  const world = openSlackWorld(team);
  const { slack, time } = world;
  const process = await world.start();
  for (const user of ['U2', 'U9']) slack.say(user, 'C1', 'I am here');
  const { ts } = slack.mention('U1', 'C1', 'send it');
  const card = await askedCard(world, ts);
  expect(JSON.stringify(card.blocks)).toContain('<@U2>, <@U9>');
  slack.press('U1', card, 'Allow');
  await time.until(() => slack.ephemerals('U1').length === 1);
  slack.press('U2', card, 'Allow');
  await time.until(() => shownNow(world, card).includes('1 so far'));
  expect(team.sent).toEqual([]);
  slack.press('U2', card, 'Allow');
  await time.until(() => slack.ephemerals('U2').length === 1);
  slack.press('U9', card, 'Allow');
  await answered(world, ts);
  expect(team.sent).toEqual(['x']);
  await process.stop();
});

test('whatever answers it elsewhere, or nobody, the card shows it', async () => {
  const team = slackTeam();
  const world = openSlackWorld(team);
  const { slack, time } = world;
  const process = await world.start();
  const elsewhere = slack.mention('U1', 'C1', 'send it');
  const card = await askedCard(world, elsewhere.ts);
  const [question] = await time.finish(process.service.questions.list(person('U1')));
  await time.finish(
    process.cloister.answer(question!.id, { allow: false, sha256: question!.sha256, reason: 'On the terminal.' }),
  );
  await answered(world, elsewhere.ts);
  expect(shownNow(world, card)).toContain('Denied by operator.');
  const expired = slack.mention('U1', 'C1', 'send it late');
  const other = await askedCard(world, expired.ts);
  await time.pass(8 * 86_400_000);
  await answered(world, expired.ts);
  expect(shownNow(world, other)).toContain('Nobody answered in time');
  expect(team.sent).toEqual([]);
  await process.stop();
});

test('arguments that do not fit into a card can be denied there, and not allowed', async () => {
  const { questionCard } = await import('../../../src/headends/slack/question-card.ts');
  const world = openSlackWorld(slackTeam());
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'send it');
  await askedCard(world, ts);
  const [question] = await world.time.finish(process.service.questions.list(person('U1')));
  const shown = (size: number): string =>
    JSON.stringify(questionCard({ ...question!, args: { to: 'y'.repeat(size) } }, { value: 'v', stop: 's' }));
  expect(shown(2_000)).toContain('cloister_edit');
  expect(shown(10_000)).toContain('cloister_allow');
  expect(shown(10_000)).not.toContain('cloister_edit');
  expect(shown(100_000)).not.toContain('cloister_allow');
  expect(shown(100_000)).toContain('cloister_deny');
  await process.stop();
});

test('a question outlives the process: the card is there once, and its buttons work after a restart', async () => {
  const team = slackTeam();
  const world = openSlackWorld(team);
  const { slack, time } = world;
  const first = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'send it');
  const card = await askedCard(world, ts);
  await time.pass(5_000);
  first.kill();
  const second = await world.start();
  await time.pass(20_000);
  expect(
    appMessages(world, ts)
      .filter(hasButton('cloister_stop'))
      .map((one) => one.ts),
  ).toEqual([card.ts]);
  slack.press('U1', card, 'Allow');
  await answered(world, ts);
  expect(team.sent).toEqual(['x']);
  expect(world.said('C1', ts).filter((text) => text.includes('Answer to'))).toHaveLength(1);
  // Answered while no process runs.
  const next = slack.mention('U1', 'C1', 'send it again');
  const late = await askedCard(world, next.ts);
  await second.stop();
  const third = await world.start();
  slack.press('U1', late, 'Allow');
  await answered(world, next.ts);
  expect(team.sent).toEqual(['x', 'x']);
  await third.stop();
});
