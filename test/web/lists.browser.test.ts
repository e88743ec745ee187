// The other views of a run and of the workspace: each once, with what it is for.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { browserMissing, openStudio, openTab, operatorToken, slowMs } from './browser.ts';
import { openExamples } from './example-runs.ts';
import type { ExampleStudio } from './example-runs.ts';
import { runPane, standsAs, until } from './page-driver.ts';

type ExampleName = keyof ExampleStudio['runs'];

const openPane = async (pane: string, agent: ExampleName = 'lead') => {
  const studio = await openExamples([agent]);
  const tab = await openTab(studio.link(operatorToken, `/chat?run=${studio.runs[agent]}&pane=${pane}`), {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  return { ...studio, ...tab, run: studio.runs[agent] };
};

const copied = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

describe.skipIf(browserMissing !== null)('a run is shown', () => {
  test('as a transcript: what each model was shown and said, with search, and as JSON', async () => {
    const { page, cloister, run } = await openPane('transcript');
    await runPane(page).getByText('I will ask three researchers').first().waitFor();
    await runPane(page).getByRole('searchbox').fill('zebra');
    await runPane(page).getByText('Nothing holds “zebra”.').waitFor();
    await runPane(page).getByRole('searchbox').fill('I will ask three researchers');
    await runPane(page).getByText('I will ask three researchers').first().waitFor();
    await runPane(page).getByRole('button', { name: 'JSON' }).click();
    await runPane(page).getByRole('button', { name: 'Copy', exact: true }).click();
    await runPane(page).getByRole('button', { name: 'Copied' }).waitFor();
    const { cells } = await cloister.transcript(run);
    expect((JSON.parse(await copied(page)) as { cells: readonly unknown[] }).cells[0]).toEqual(
      JSON.parse(JSON.stringify(cells[0])),
    );
  });

  test('as windows: what fills the context of each model, as the log says', async () => {
    const { page, cloister, run } = await openPane('windows');
    const bars = runPane(page).getByRole('img', { name: /^[\d,]+ of [\d,]+ tokens$/u });
    await bars.first().waitFor();
    const windows = await cloister.windows(run);
    expect(await bars.count()).toBe(windows.length);
  });

  test('as an audit: every check in words, and the chains computed again in this browser', async () => {
    const { page } = await openPane('audit');
    await runPane(page).getByRole('heading', { name: 'Everything that is recorded holds.' }).waitFor();
    await runPane(page)
      .getByText(/computed again in this browser: chain ok\./u)
      .waitFor();
    expect(await runPane(page).getByText('✗').count()).toBe(0);
  });

  test('as a summary: own and total figures of each room, money and tokens', async () => {
    const { page, cloister, run } = await openPane('summary');
    const { cells } = await cloister.show(run);
    const row = runPane(page).getByRole('row').filter({ hasText: 'lead' }).first();
    const [own, total] = [cells[0]!.own.inputTokens, cells[0]!.spent.inputTokens].map((one) =>
      one.toLocaleString('en-US'),
    );
    expect(own).not.toBe(total);
    await row.getByRole('cell', { name: own!, exact: true }).waitFor();
    await runPane(page).getByRole('button', { name: 'With the rooms below' }).click();
    await row.getByRole('cell', { name: total!, exact: true }).waitFor();
  });

  test('as a tree whose branches fold with the keys', async () => {
    const { page } = await openPane('tree');
    const tree = page.getByRole('treegrid', { name: 'Cells' });
    await tree.getByRole('row').filter({ hasText: 'analyst' }).waitFor();
    const before = await tree.getByRole('row').count();
    await page.keyboard.press('ArrowUp');
    await until(page, 'location.hash.includes("cell=lead")');
    await page.keyboard.press('ArrowLeft');
    await tree.getByRole('row').filter({ hasText: 'analyst' }).waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowRight');
    await tree.getByRole('row').filter({ hasText: 'analyst' }).waitFor();
    expect(await tree.getByRole('row').count()).toBe(before);
  });

  test('as the tasks of a team: who saw whose result, as a graph and as a list', async () => {
    const { page, cloister, run } = await openPane('tasks', 'editorial');
    const tasks = await cloister.tasks(run);
    await page.keyboard.press('g');
    const table = runPane(page).getByRole('table').first();
    await table.waitFor();
    for (const { title } of tasks) await table.getByRole('row').filter({ hasText: title }).first().waitFor();
    expect(await table.getByText('Done').count()).toBe(tasks.length);
  });

  test('as the mail of its residents, one hall for each message', async () => {
    const { page, cloister, run } = await openPane('mail', 'game-master');
    const table = runPane(page).getByRole('table', { name: 'Messages, oldest first' });
    await table.waitFor();
    const mail = await cloister.mail(run);
    expect(mail.length).toBeGreaterThan(10);
    await page.keyboard.press('ArrowDown');
    await until(page, 'location.hash.includes("message=")');
    const detail = page.getByRole('complementary', { name: 'Selected message' });
    await detail.getByText('Your leader says: "We enter the crypt."').waitFor();
    expect(await detail.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('Heard by'),
      expect.stringMatching(/^fighter/u),
      expect.stringMatching(/^wizard/u),
      expect.stringMatching(/^rogue/u),
    ]);
    const dead = mail.filter(({ state }) => state === 'dead').length;
    expect(dead).toBe(3);
    await detail.getByText(`Dead letters, ${dead}`).waitFor();
    await page.keyboard.press('d');
    await detail
      .getByText(/had ended/u)
      .first()
      .waitFor();
  });

  test('without mail and without tasks in words that say why', async () => {
    const { page } = await openPane('mail');
    await runPane(page).getByText('These agents sent no messages. Who may is in messages: and topics:.').waitFor();
    await page.getByRole('tab', { name: 'Tasks' }).click();
    await runPane(page).getByText('Only a team has tasks.').waitFor();
    expect(await runPane(page).getByRole('alert').count()).toBe(0);
  });
});

describe.skipIf(browserMissing !== null)('the workspace', () => {
  test('lists its runs, which are found by text, agent, state and refusal', async () => {
    const model = rehearse([
      { when: { text: 'Fail' }, reply: { fault: 400 } },
      { when: { agent: 'lead', turn: 1, text: 'Ask' }, reply: { calls: [{ tool: 'mute', args: { prompt: 'Say.' } }] } },
      { reply: 'Done.' },
    ]);
    const mute = defineAgent({
      name: 'mute',
      description: 'Says nothing.',
      prompt: 'Work.',
      models: [model],
      grants: ['goal'],
    });
    const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: [model], agents: [mute] });
    const other = defineAgent({ name: 'other', description: 'Others.', prompt: 'Work.', models: [model] });
    const { cloister, link } = await openStudio({ agents: [lead, other] });
    for (const [agent, goal] of [
      ['lead', 'Apples'],
      ['other', 'Pears'],
      ['lead', 'Fail please'],
      ['lead', 'Ask the mute'],
    ] as const)
      await cloister.run(agent, goal).outcome;
    const { page } = await openTab(link(operatorToken, '/runs'));
    const table = page.getByRole('table', { name: 'Runs, newest first' });
    const shows = async (wanted: readonly string[]): Promise<void> => {
      await expect.poll(() => table.getByRole('link').allInnerTexts(), { timeout: slowMs }).toEqual(wanted);
    };
    await shows(['Ask the mute', 'Fail please', 'Pears', 'Apples']);

    await page.keyboard.press('/');
    await page.keyboard.type('pear');
    await shows(['Pears']);
    await page.getByRole('searchbox').fill('zebra');
    await page.getByText('Nothing holds “zebra”.').waitFor();
    await page.getByRole('button', { name: 'Show all runs' }).click();
    await table.getByRole('link', { name: 'Apples' }).waitFor();

    await page.getByRole('combobox', { name: 'State' }).selectOption('failed');
    await shows(['Fail please']);
    await page.getByRole('combobox', { name: 'State' }).selectOption('');
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('other');
    await shows(['Pears']);
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('');
    await table.getByRole('link', { name: 'Apples' }).waitFor();
    await page.getByRole('button', { name: 'Refused only' }).click();
    await shows(['Ask the mute']);
    await table.getByText('1 refused').waitFor();
    await table.getByRole('link', { name: 'Ask the mute' }).click();
    await page.getByText('mute’s result stayed in its room.').waitFor();
  });

  test('compares two runs that are marked in the list', async () => {
    const { link } = await openExamples(['lead', 'editorial']);
    const { page } = await openTab(link(operatorToken, '/runs'));
    await page.getByRole('table', { name: 'Runs, newest first' }).getByRole('link').first().waitFor();
    await page.keyboard.press(' ');
    await page.getByText(/is marked\. Mark another run to compare them\./u).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press(' ');
    await page.getByRole('region', { name: 'What changed' }).waitFor();
    expect(page.url()).toContain('with=');
  });

  test('shows its agents with whom they call, and the template of each to copy', async () => {
    const { link, cloister } = await openExamples(['lead', 'editorial']);
    const { page } = await openTab(link(operatorToken, '/agents?agent=lead'), {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const detail = page.getByRole('complementary', { name: 'Selected agent' });
    await detail.getByText('Answers a question with the help of three researchers.', { exact: true }).waitFor();
    expect(await detail.locator('.facts').innerText()).toMatch(/operator, engineer(?:,| and) analyst/u);
    await detail.getByRole('button', { name: 'Copy the template' }).click();
    await detail.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await copied(page)).toBe(cloister.template('lead'));
    await detail.getByRole('link', { name: 'Chat with lead' }).click();
    await page.getByRole('textbox', { name: 'Message to lead' }).waitFor();
  });

  test('begins with what this is, and runs the example that the agent names', async () => {
    const { link, cloister } = await openStudio({ agents: ['examples/research/lead.ai'] });
    const { page } = await openTab(link(operatorToken, '/chat'));
    await page.getByRole('heading', { name: 'Every agent in a room of its own' }).waitFor();
    const sent: string[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && sent.push(request.url())));
    await page.getByRole('button', { name: 'Run the example' }).click();
    await standsAs(page, 'Completed in');
    // The chat that is opened for it does not send it again.
    expect(sent).toHaveLength(1);
    await page.getByText('4 rooms, 8 crossings, all granted.', { exact: true }).waitFor();
    expect(await cloister.runs()).toHaveLength(1);
  });
});
