// Questions to people, answered in the page.
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { ApprovalRule } from 'cloister';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';
import type { StudioOptions } from './browser.ts';
import { heldModel } from './held-model.ts';
import { askIn, standsAs, turnOf, until } from './page-driver.ts';

const toSchema = {
  type: 'object',
  properties: { to: { type: 'string' }, text: { type: 'string' } },
  required: ['to'],
  additionalProperties: false,
};

const [ann, ben] = ['clo_ann_ann_ann_ann_ann_ann_ann_ann_ann', 'clo_ben_ben_ben_ben_ben_ben_ben_ben_ben'];

type Opening = Partial<Omit<StudioOptions, 'agents'>> & { readonly rule?: ApprovalRule };

/** A goal is the names to which it sends, one after the other; one with a question mark is asked of the person. */
const openAsking = async (
  { rule = {}, ...options }: Opening = {},
  more: Partial<Parameters<typeof defineAgent>[0]> = {},
) => {
  const sent: unknown[] = [];
  const model = heldModel([
    {
      reply: ({ goal, toolResults, turn }) => {
        const names = goal.split(' ');
        if (goal.includes('?') && turn === 1) {
          const choices = goal.includes('colour') ? { options: ['red', 'blue'] } : {};
          return { calls: [{ tool: 'ask_person', args: { question: goal, ...choices } }] };
        }
        if (goal.includes('?') || turn > names.length)
          return `It said: ${toolResults.map(({ text }) => text).join(' | ')}`;
        return { calls: [{ tool: 'send', args: { to: names[turn - 1]!, text: 'Ready.' } }] };
      },
    },
  ]);
  const desk = defineAgent({
    name: 'desk',
    description: 'Sends.',
    prompt: 'Send.',
    models: [model],
    asks: true,
    approve: { send: rule },
    tools: [
      {
        name: 'send',
        description: 'Sends.',
        inputSchema: toSchema,
        execute: (args) => {
          sent.push(args);
          return `sent to ${args['to'] as string}`;
        },
      },
    ],
    ...more,
  });
  const studio = await openStudio({ agents: [desk], ...options });
  const open = (token: string = operatorToken) => openTab(studio.link(token, '/chat?agent=desk'));
  return { ...studio, sent, open };
};

const cardIn = (page: Page): Locator => page.getByRole('article', { name: /^desk (?:wants to use|asks you)/u });

describe.skipIf(browserMissing !== null)('a question to a person', () => {
  test('shows exactly what will run, and runs it once after Allow', async () => {
    const { open, sent } = await openAsking();
    const { page } = await open();
    await askIn(page, 'anna');
    const card = cardIn(page);
    await card.getByRole('heading', { name: 'desk wants to use send' }).waitFor();
    await card.getByText('Arguments, exactly what will run').waitFor();
    expect(JSON.parse(await card.locator('pre').innerText())).toEqual({ to: 'anna', text: 'Ready.' });
    await card.getByText(/^denied by itself in 23 h 5\d min$/u).waitFor();
    await standsAs(page, 'Waiting for you');
    expect(sent).toEqual([]);
    await card.getByRole('button', { name: 'Allow' }).click();
    await turnOf(page).getByText('It said: sent to anna').waitFor();
    await turnOf(page).getByText('desk: send. Allowed by boss.').waitFor();
    expect(sent).toEqual([{ to: 'anna', text: 'Ready.' }]);
  });

  test('can be answered with other arguments, of which the agent is told', async () => {
    const { open, sent } = await openAsking();
    const { page } = await open();
    await askIn(page, 'anna');
    const card = cardIn(page);
    await card.getByRole('button', { name: 'Edit' }).click();
    const editor = card.getByRole('textbox', { name: 'Arguments as JSON' });
    expect(await card.getByRole('button', { name: 'Allow as edited' }).isDisabled()).toBe(true);
    await editor.fill('{ "to": ');
    await card.getByText(/^This is not JSON yet/u).waitFor();
    await editor.fill('{ "to": "bob", "text": "Ready." }');
    await card.getByText('You changed 1 argument. desk is told.').waitFor();
    await card.getByRole('button', { name: 'Allow as edited' }).click();
    await turnOf(page)
      .getByText(/^It said: .*sent to bob/su)
      .waitFor();
    await turnOf(page).getByText('Allowed by boss, with changed arguments.').waitFor();
    expect(sent).toEqual([{ to: 'bob', text: 'Ready.' }]);
  });

  test('can be denied, with a reason that the agent is told', async () => {
    const { open, sent } = await openAsking();
    const { page } = await open();
    await askIn(page, 'anna');
    await cardIn(page).getByRole('button', { name: 'Deny' }).click();
    await cardIn(page).getByLabel('Why? desk is told. May stay empty.').fill('Not before Monday');
    await page.keyboard.press('Enter');
    await turnOf(page)
      .getByText(/^It said: .*Not before Monday/su)
      .waitFor();
    await turnOf(page).getByText('Denied by boss: “Not before Monday”').waitFor();
    expect(sent).toEqual([]);
  });

  test('is answered with the keys, which act only while it has the focus', async () => {
    const { open, sent } = await openAsking();
    const { page } = await open();
    await askIn(page, 'anna');
    const card = cardIn(page);
    await card.waitFor();
    await page.getByRole('tab', { name: 'Rooms' }).focus();
    await page.keyboard.press('a');
    await page.keyboard.press('q');
    await until(page, 'document.activeElement?.classList.contains("question")');
    expect(sent).toEqual([]);
    await page.keyboard.press('a');
    await turnOf(page).getByText('It said: sent to anna').waitFor();
    expect(sent).toHaveLength(1);
  });

  test('is not asked again for the same call until the run ends, if the answer covers that', async () => {
    const { open, sent } = await openAsking();
    const { page } = await open();
    await askIn(page, 'anna anna bob');
    await cardIn(page).getByLabel('send by desk with these arguments, until this run ends').check();
    await cardIn(page).getByRole('button', { name: 'Allow' }).click();
    // The next question is about somebody else.
    await cardIn(page).locator('pre', { hasText: 'bob' }).waitFor();
    expect(sent).toEqual([
      { to: 'anna', text: 'Ready.' },
      { to: 'anna', text: 'Ready.' },
    ]);
    await cardIn(page).getByRole('button', { name: 'Allow' }).click();
    await turnOf(page).getByText('It said: sent to bob').waitFor();
    expect(sent).toHaveLength(3);
  });

  test('that was answered elsewhere says so, and its answer here has no effect', async () => {
    const { open, sent, cloister } = await openAsking();
    const { page } = await open();
    await askIn(page, 'anna');
    await cardIn(page).waitFor();
    // The answer of this person is on its way while somebody else answers.
    const onItsWay = Promise.withResolvers<() => Promise<void>>();
    await page.route('**/v1/questions/*', (route) =>
      route.request().method() === 'POST' ? onItsWay.resolve(() => route.continue()) : route.continue(),
    );
    await cardIn(page).getByRole('button', { name: 'Allow' }).click();
    const deliver = await onItsWay.promise;
    const { id, sha256 } = (await cloister.questions())[0]!;
    await cloister.answer(id, { allow: false, sha256, reason: 'No.' }, { by: 'eve' });
    const refused = page.waitForResponse((response) => response.status() === 409);
    await deliver();
    await refused;
    await turnOf(page)
      .getByText(/Denied by eve/u)
      .first()
      .waitFor();
    await turnOf(page)
      .getByText(/^It said: .*No\./su)
      .waitFor();
    expect(sent).toEqual([]);
  });

  test('of an agent has its options as buttons, or a field for words', async () => {
    const { open, cloister } = await openAsking();
    const { page } = await open();
    await askIn(page, 'Which colour?');
    await cardIn(page).getByRole('heading', { name: 'desk asks you' }).waitFor();
    await cardIn(page).getByText('Which colour?').waitFor();
    await cardIn(page).getByRole('button', { name: 'blue' }).click();
    await turnOf(page)
      .getByText(/^It said: .*blue/su)
      .waitFor();

    await askIn(page, 'What else?');
    await cardIn(page).getByRole('textbox', { name: 'Your answer' }).fill('Nothing else.');
    await cardIn(page).getByRole('button', { name: 'Answer', exact: true }).click();
    await turnOf(page)
      .getByText(/^It said: .*Nothing else\./su)
      .waitFor();
    expect(await cloister.questions()).toEqual([]);
  });

  test('that two people must allow waits for the second, who finds it among the questions', async () => {
    const { open, sent, link } = await openAsking({
      rule: { need: 2 },
      tokens: { [ann]: { name: 'ann' }, [ben]: { name: 'ben', answers: ['*'] } },
    });
    const { page } = await open(ann);
    await askIn(page, 'anna');
    await cardIn(page)
      .getByText(/^2 people must allow it\./u)
      .waitFor();
    await cardIn(page).getByRole('button', { name: 'Allow' }).click();
    await cardIn(page).getByText('You have allowed it.').waitFor();
    await page.reload();
    await cardIn(page).getByText('You have allowed it.').waitFor();
    expect(await cardIn(page).getByRole('button', { name: 'Allow' }).count()).toBe(0);
    expect(sent).toEqual([]);
    const second = await openTab(link(ben, '/questions'));
    await second.page.getByRole('heading', { name: '1 question waits' }).waitFor();
    await second.page.getByText('In a run of ann').waitFor();
    await cardIn(second.page).getByRole('button', { name: 'Allow' }).click();
    await turnOf(page).getByText('It said: sent to anna').waitFor();
    await second.page.getByText('Nothing waits for you.').waitFor();
    expect(sent).toHaveLength(1);
  });

  test('that two people must allow is denied by one, after the other has allowed it', async () => {
    const { open, sent, link } = await openAsking({
      rule: { need: 2 },
      tokens: { [ann]: { name: 'ann' }, [ben]: { name: 'ben', answers: ['*'] } },
    });
    const { page } = await open(ann);
    await askIn(page, 'anna');
    await cardIn(page).getByRole('button', { name: 'Allow' }).click();
    await cardIn(page).getByText('You have allowed it.').waitFor();
    const second = await openTab(link(ben, '/questions'));
    await cardIn(second.page).getByRole('button', { name: 'Deny' }).click();
    await cardIn(second.page).getByLabel('Why? desk is told. May stay empty.').fill('Not today');
    await second.page.keyboard.press('Enter');
    await second.page.getByText('Nothing waits for you.').waitFor();
    await turnOf(page).getByText('Denied by ben: “Not today”').waitFor();
    await turnOf(page)
      .getByText(/^It said: .*Not today/su)
      .waitFor();
    expect(sent).toEqual([]);
  });

  test('that nobody answers in time is denied by itself, and says so', async () => {
    const { open, sent } = await openAsking({}, { limits: { questionTimeout: 3_000 } });
    const { page } = await open();
    await askIn(page, 'anna');
    await turnOf(page)
      .getByText(/^desk: send\. Denied by itself: nobody answered in time/u)
      .waitFor();
    await turnOf(page)
      .getByText(/^It said: /u)
      .waitFor();
    expect(await cardIn(page).count()).toBe(0);
    expect(sent).toEqual([]);
  });

  test('that was asked before its agents changed says that it cannot go on, and has no buttons', async () => {
    const workspace = newTemporaryFolder();
    const before = await openAsking({ workspace });
    const { page } = await before.open();
    await askIn(page, 'anna');
    await cardIn(page).waitFor();
    await page.close();
    await before.stop();
    const after = await openAsking({ workspace }, { prompt: 'Send nothing.' });
    const later = await openTab(after.link(operatorToken, '/questions'));
    await later.page.getByText('Cannot go on').waitFor();
    await later.page.getByText(/^The agents have changed since it was asked/u).waitFor();
    expect(await later.page.getByRole('button', { name: /^(?:Allow|Deny|Edit)/u }).count()).toBe(0);
    expect([...before.sent, ...after.sent]).toEqual([]);
  });
});
