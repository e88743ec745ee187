// Who may see and do what in the page: callers see nothing of each other, and each link does what its token may.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';
import type { StudioOptions } from './browser.ts';
import { heldModel } from './held-model.ts';
import { askIn, chatOf, shownRun, standsAs, turnOf, xrayOf } from './page-driver.ts';

const tokenOf = (name: string): string => `clo_${name.repeat(12).slice(0, 40)}`;
const [ann, ben] = [tokenOf('ann'), tokenOf('ben')];

const openHouse = async (tokens: NonNullable<StudioOptions['tokens']>) => {
  const model = heldModel([
    {
      when: { agent: 'lead', turn: 1 },
      reply: ({ goal }) =>
        goal.startsWith('Send')
          ? { calls: [{ tool: 'send', args: { to: 'secret@example.com' } }] }
          : { text: 'I ask.', calls: [{ tool: 'clerk', args: { prompt: 'Which day, for the sake of Tuesday?' } }] },
    },
    { when: { agent: 'clerk' }, reply: 'Between us: Wednesday.' },
    { reply: 'The answer is Thursday.' },
  ]);
  const clerk = defineAgent({ name: 'clerk', description: 'Knows days.', prompt: 'Answer.', models: [model] });
  const lead = defineAgent({
    name: 'lead',
    description: 'Answers.',
    prompt: 'Ask.',
    models: [model],
    agents: [clerk],
    approve: { send: {} },
    tools: [
      {
        name: 'send',
        description: 'Sends.',
        inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
        execute: () => 'sent',
      },
    ],
  });
  const studio = await openStudio({ agents: [lead], tokens });
  const open = (token: string, address = '/chat?agent=lead') => openTab(studio.link(token, address));
  return { ...studio, model, open };
};

const everythingIn = async (page: Page): Promise<string> => page.locator('body').innerText();

describe.skipIf(browserMissing !== null)('in the page', () => {
  test('a second caller sees nothing of the first: no run, conversation or question, not even by its address', async () => {
    const { open } = await openHouse({
      [ann]: { name: 'ann', sees: 'contents' },
      [ben]: { name: 'ben', sees: 'contents' },
    });
    const { page } = await open(ann);
    await askIn(page, 'Find Annasword.');
    await standsAs(page, 'Completed in');
    await askIn(page, 'Send Annasword.');
    await page.getByRole('article', { name: /^lead wants to use send/u }).waitFor();
    const address = page.url().slice(page.url().indexOf('#') + 1);

    const hers = /annas|Thursday|secret@|wants to use/iu;
    const other = await open(ben, '/runs');
    await other.page
      .getByText(/no runs|nothing|none/iu)
      .first()
      .waitFor();
    expect(await everythingIn(other.page)).not.toMatch(hers);
    await other.page.getByRole('link', { name: /^Questions/u }).click();
    await other.page.getByText('Nothing waits for you.').waitFor();
    await other.page.goto(`${other.page.url().split('#')[0]}#/chat?agent=lead`);
    await chatOf(other.page).getByRole('textbox').first().waitFor();
    expect(await other.page.getByRole('combobox', { name: 'Conversation' }).innerText()).not.toMatch(hers);

    const direct = await open(ben, address);
    await direct.page.getByRole('heading', { name: 'There is no such run in this workspace.' }).waitFor();
    // What it shows of the address is what was typed there.
    expect((await everythingIn(direct.page)).replaceAll(/find-annasword\S*/gu, '')).not.toMatch(hers);
  });

  test('what one caller has written in a tab is gone once a link of another caller is opened there', async () => {
    const { open, link, model } = await openHouse({ [ann]: { name: 'ann' }, [ben]: { name: 'ben' } });
    const { page } = await open(ann);
    const field = page.getByRole('textbox', { name: /^Message to lead/u });
    await field.fill('Annasword, half written');
    await page.reload();
    await expect.poll(() => field.inputValue()).toBe('Annasword, half written');
    const reloaded = page.waitForEvent('load');
    await page.evaluate(`location.href = ${JSON.stringify(link(ben, '/chat?agent=lead'))}`);
    await reloaded;
    await field.waitFor();
    expect(await field.inputValue()).toBe('');
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('Annasword');
    expect(page.url()).not.toContain(ben);
    expect(model.askers).toEqual([]);
  });

  test('an operator sees the runs of everybody, and answers for them', async () => {
    const { open, cloister } = await openHouse({
      [ann]: { name: 'ann' },
      [operatorToken]: { name: 'boss', operator: true },
    });
    const { page } = await open(ann);
    await askIn(page, 'Send it.');
    await page.getByRole('article', { name: /^lead wants to use send/u }).waitFor();
    const boss = await open(operatorToken, `/chat?run=${shownRun(page)}`);
    await boss.page
      .getByRole('article', { name: /^lead wants to use send/u })
      .getByRole('button', { name: 'Allow' })
      .click();
    await turnOf(page).getByText('The answer is Thursday.').waitFor();
    await turnOf(page).getByText('lead: send. Allowed by boss.').waitFor();
    expect(await cloister.runs()).toMatchObject([{ caller: 'ann', status: 'completed' }]);
  });

  test('a wrong token opens nothing, says so, and asks for another one', async () => {
    const { open } = await openHouse({ [ann]: { name: 'ann' } });
    const { page } = await open(tokenOf('eve'));
    await page.getByRole('heading', { name: 'This link has expired. Start studio again.' }).waitFor();
    expect(await chatOf(page).count()).toBe(0);
    await page.getByLabel('Token').fill(ann);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('textbox', { name: /^Message to lead/u }).waitFor();
  });

  test('a token that expires while the page is open ends what it shows', async () => {
    const { open, model } = await openHouse({ [ann]: { name: 'ann', expiresAt: Date.now() + 6_000 } });
    const { page } = await open(ann);
    await page.getByRole('textbox', { name: /^Message to lead/u }).waitFor();
    await page.getByRole('heading', { name: 'This link has expired. Start studio again.' }).waitFor();
    expect(model.askers).toEqual([]);
  });

  test('a link that may look only has no controls, and starts nothing', async () => {
    const watch = tokenOf('watch');
    const { open, cloister, model } = await openHouse({
      [ann]: { name: 'ann', sees: 'contents' },
      [watch]: { name: 'ann', may: ['watch'], sees: 'contents' },
    });
    const { page } = await open(ann);
    await askIn(page, 'Send it.');
    await page.getByRole('article', { name: /^lead wants to use send/u }).waitFor();
    const asked = model.askers.length;

    const watcher = await open(watch, `/chat?run=${shownRun(page)}`);
    await watcher.page.getByText('This link may look only.', { exact: true }).waitFor();
    await turnOf(watcher.page).getByText('Send it.').waitFor();
    await watcher.page.getByText('This link may look only. Somebody else has to answer.').waitFor();
    const names =
      /^(?:Send|Stop|Retry|Branch from here|Allow|Edit|Deny|Fork here|Finish|Run the example|Write to a room)/u;
    expect(await watcher.page.getByRole('button', { name: names }).count()).toBe(0);
    // Keys do not, either.
    await watcher.page.getByRole('tab', { name: 'Rooms' }).focus();
    for (const key of ['s', 'r', 'b', 'f', 'a', 'd', 'm']) await watcher.page.keyboard.press(key);
    await watcher.page.getByRole('link', { name: 'Agents' }).click();
    await watcher.page.getByText('This link may look only, so it has no agents.').waitFor();
    expect(await watcher.page.getByRole('button', { name: names }).count()).toBe(0);
    expect(await cloister.runs()).toMatchObject([{ endedAt: null }]);
    expect(model.askers).toHaveLength(asked);
  });

  test('a token that sees answers only is told in words what is withheld', async () => {
    const { open } = await openHouse({ [ann]: { name: 'ann', sees: 'answers' } });
    const { page } = await open(ann);
    await askIn(page, 'Which?');
    await turnOf(page).getByText('The answer is Thursday.').waitFor();
    await standsAs(page, 'Completed in');
    await turnOf(page)
      .getByRole('button', { name: /^clerk/u })
      .click();
    await turnOf(page).getByText('This token shows answers only, not what agents wrote below.').waitFor();
    await page.goto(`${page.url().split('#')[0]}#/chat?run=${shownRun(page)}`);
    await xrayOf(page).getByText('Contents are withheld').waitFor();
    for (const pane of ['Transcript', 'Windows', 'Summary', 'Audit', 'Tree', 'Tasks', 'Mail']) {
      await page.getByRole('tab', { name: pane }).click();
      await page.getByRole('tabpanel', { name: pane }).waitFor();
      expect(await everythingIn(page), pane).not.toMatch(/Wednesday/u);
    }
  });
});
