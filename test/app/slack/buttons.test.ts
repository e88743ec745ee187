// Stop, Retry, Details and JSON: whoever presses is the caller, and what is not theirs does not exist for them.
// invariants: press-by-presser, button-tells-nothing, button-own-only
import { expect, test } from 'vitest';
import { openSlackWorld, person } from './slack-world.ts';
import type { SlackWorld } from './slack-world.ts';
import { slackTeam } from './slack-team.ts';

const appMessages = ({ slack }: SlackWorld, ts: string) => slack.thread('C1', ts).filter(({ isByApp }) => isByApp);

const answered = (world: SlackWorld, ts: string, count = 1): Promise<void> =>
  world.time.until(
    () =>
      appMessages(world, ts).filter(({ buttons }) => buttons.some(({ text }) => text === 'Details')).length === count,
    `${count} answers`,
  );

const notYours = 'This is not yours, or it is no longer there.';

test.for(['button', 'own', 'word'] as const)('a run is stopped with: %s', async (how) => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const process = await world.start();
  const { ts } = slack.mention('U1', 'C1', how === 'button' ? 'send it' : 'forever');
  await time.until(() => appMessages(world, ts).length > (how === 'button' ? 1 : 0));
  await time.pass(3_000);
  if (how === 'word') {
    slack.say('U2', 'C1', 'stop', { thread: ts });
    await time.pass(5_000);
    expect(appMessages(world, ts).at(-1)!.text).not.toContain('Stopped.');
    slack.say('U1', 'C1', 'Stop!', { thread: ts });
  } else if (how === 'own') slack.stop('U1', 'C1', ts);
  else slack.press('U1', appMessages(world, ts).at(-1)!, 'cloister_stop');
  await answered(world, ts);
  expect(world.said('C1', ts).join('\n')).toContain('Stopped.');
  expect(slack.session('C1', ts)?.status).toBe('active');
  const { runs } = await time.finish(process.service.runs(person('U1'), { most: 9 }));
  expect(runs.map(({ status }) => status)).toEqual(['cancelled']);
  await process.stop();
});

test('an answer that takes long has a Stop button until it is whole; it works for its person only', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const process = await world.start();
  slack.say('U2', 'C1', 'I am here.');
  const stops = (ts: string) =>
    appMessages(world, ts).filter(({ buttons }) => buttons.some(({ text }) => text === 'Stop'));
  const [quick, slow, endless] = ['Hello', 'slow', 'forever'].map((text) => slack.mention('U1', 'C1', text).ts);
  await answered(world, quick!);
  await time.until(() => [slow!, endless!].every((ts) => stops(ts).length === 1));
  slack.press('U2', stops(endless!)[0]!, 'cloister_stop');
  await time.pass(5_000);
  expect(slack.ephemerals('U2').map(({ text }) => text)).toEqual([notYours]);
  await answered(world, slow!);
  expect([quick!, slow!].flatMap(stops)).toEqual([]);
  expect(world.said('C1', slow!).join('')).toBe('One. Two. Three. Four of slow.');
  slack.press('U1', stops(endless!)[0]!, 'cloister_stop');
  await answered(world, endless!);
  expect(world.said('C1', endless!)).toEqual(['Stopped.']);
  expect(slack.thread('C1', quick!)).toHaveLength(2);
  await process.stop();
});

test('what waits for a slot is stopped too, and everything that the person wrote before', async () => {
  const world = openSlackWorld({ ...slackTeam(), slots: { running: 1, runningPerAgent: 1 } });
  const { slack, time } = world;
  const process = await world.start();
  const busy = slack.mention('U2', 'C1', 'forever');
  await time.until(() => appMessages(world, busy.ts).length > 0);
  const { ts } = slack.mention('U1', 'C1', 'queued');
  slack.say('U1', 'C1', 'queued as well', { thread: ts });
  await time.pass(2_000);
  slack.say('U1', 'C1', 'stop', { thread: ts });
  await time.until(() => slack.ephemerals('U1').length > 0);
  slack.stop('U2', 'C1', busy.ts);
  await time.pass(30_000);
  expect(slack.ephemerals('U1').map(({ text }) => text)).toEqual(['Stopped before it began.']);
  expect((await time.finish(process.service.runs(person('U1'), { most: 9 }))).runs).toEqual([]);
  await process.stop();
});

test('a run that another process works on is stopped too', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const first = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'forever');
  await time.until(() => appMessages(world, ts).length > 0);
  const second = await world.start();
  // From now on, the second process has the thread and the first one the run.
  await time.finish(first.headend.stop());
  await time.pass(5_000);
  slack.say('U1', 'C1', 'stop', { thread: ts });
  await answered(world, ts);
  expect(world.said('C1', ts).join('\n')).toContain('Stopped.');
  const { runs } = await time.finish(second.service.runs(person('U1'), { most: 9 }));
  expect(runs.map(({ status }) => status)).toEqual(['cancelled']);
  await second.stop();
  first.kill();
});

test('Retry answers again below, keeps the old answer, and two presses are one', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  const process = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'Hello');
  await answered(world, ts);
  const [first] = appMessages(world, ts);
  for (let press = 0; press < 3; press++) slack.press('U1', first!, 'Retry');
  await answered(world, ts, 2);
  await time.pass(20_000);
  expect(world.said('C1', ts)).toEqual(['Answer to Hello', 'Answer to Hello']);
  const { turnList } = await time.finish(
    process.service.conversations.show(person('U1'), { agent: 'lead', name: `T1/C1/${ts}` }, 9),
  );
  expect(turnList.map(({ versions }) => versions.length)).toEqual([2]);
  // Of a run that is no longer the newest of its thread, there is no further version.
  slack.say('U1', 'C1', 'Next', { thread: ts });
  await answered(world, ts, 3);
  slack.press('U1', first!, 'Retry');
  await time.until(() => slack.ephemerals('U1').length > 0);
  expect(slack.ephemerals('U1')[0]!.text).toContain('Only the newest');
  await process.stop();
});

test('Details shows cells and crossings in a dialog; JSON puts the redacted report into the thread', async () => {
  const world = openSlackWorld({ ...slackTeam(), redact: (text) => text.replaceAll('hunter2', '[secret]') });
  const { slack, time } = world;
  const process = await world.start();
  const { ts } = slack.mention('U1', 'C1', 'help hunter2');
  await answered(world, ts);
  const message = appMessages(world, ts).at(-1)!;
  slack.press('U1', message, 'Details');
  await time.until(() => JSON.stringify(slack.views('U1')).includes('Crossings'));
  const shown = JSON.stringify(slack.views('U1'));
  expect(shown).toMatch(/lead: completed, 2 turns \| tokens .* \/ .* \| cost/u);
  expect(shown).toContain('lead -> helper: goal');
  expect(shown).toContain('helper -> lead: result');
  slack.press('U1', message, 'JSON');
  await time.until(() => slack.files.some(({ isComplete }) => isComplete));
  const [file] = slack.files;
  expect(file).toMatchObject({ channel: 'C1', thread: ts, name: 'lead.json' });
  expect(file!.text).not.toContain('hunter2');
  expect(JSON.parse(file!.text!)).toMatchObject({ agent: 'lead', status: 'completed', goal: 'help [secret]' });
  await process.stop();
});

test('a long report has pages', async () => {
  const { detailsModal } = await import('../../../src/headends/slack/run-details.ts');
  const world = openSlackWorld(slackTeam());
  const process = await world.start();
  const { ts } = world.slack.mention('U1', 'C1', 'help me');
  await answered(world, ts);
  const { runs } = await world.time.finish(process.service.runs(person('U1'), { most: 1 }));
  const report = await world.time.finish(
    (await world.time.finish(process.service.find(person('U1'), runs[0]!.run))).report(),
  );
  const many = { ...report, cells: Array.from({ length: 3_000 }, () => report.cells[0]!) };
  const text = (page: number): string => JSON.stringify(detailsModal(many, 'v', page));
  const blocks = (page: number): readonly unknown[] => detailsModal(many, 'v', page)['blocks'] as readonly unknown[];
  expect(blocks(0).length).toBeLessThanOrEqual(100);
  expect(text(0)).toContain('cloister_page_1');
  expect(text(0)).not.toContain('Previous');
  expect(text(1)).toContain('cloister_page_0');
  expect(text(9_999)).not.toContain('Next page');
  await process.stop();
});

test('buttons of others, forged and unknown values all get the same words, and do nothing', async () => {
  const world = openSlackWorld(slackTeam());
  const { slack, time } = world;
  let process = await world.start();
  // Whoever is not in the channel sees nothing there.
  slack.say('U2', 'C1', 'I am here too');
  const { ts } = slack.mention('U1', 'C1', 'send it');
  await time.until(() => appMessages(world, ts).length > 1);
  const card = appMessages(world, ts).at(-1)!;
  const done = slack.mention('U1', 'C1', 'Hello');
  await answered(world, done.ts);
  const [answer] = appMessages(world, done.ts);
  const { runs } = await time.finish(process.service.runs(person('U1'), { most: 9 }));
  let told = 0;
  const presses = async (): Promise<void> => {
    for (const button of ['Retry', 'Details', 'JSON']) {
      slack.press('U2', answer!, button);
      slack.press('U1', answer!, button, { value: runs[0]!.run });
      slack.press('U1', answer!, button, { value: 'f'.repeat(40) });
    }
    for (const button of ['cloister_allow', 'cloister_allow_run', 'cloister_deny', 'cloister_edit', 'cloister_stop']) {
      slack.press('U2', card, button);
      slack.press('U1', card, button, { value: '0'.repeat(40) });
    }
    slack.press('U1', card, 'cloister_allow', { action_id: 'cloister_option_7' });
    slack.press('U1', card, 'cloister_allow', { action_id: 'cloister_nothing' });
    told += 21;
    await time.pass(20_000);
    const words = ['U1', 'U2'].flatMap((user) => slack.ephemerals(user).map(({ text }) => text));
    expect(words).toHaveLength(told);
    expect(new Set(words)).toEqual(new Set([notYours]));
  };
  await presses();
  await process.stop();
  process = await world.start();
  await presses();
  expect(slack.files).toEqual([]);
  expect([...slack.views('U1'), ...slack.views('U2')]).toEqual([]);
  // After the restart, the owner's own buttons work.
  slack.press('U1', card, 'cloister_stop');
  await answered(world, ts);
  slack.press('U1', answer!, 'JSON');
  await time.until(() => slack.files.length === 1);
  await process.stop();
});
