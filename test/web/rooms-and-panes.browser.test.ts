// Rooms and X-ray in a real browser: what the picture says, with a pointer, with keys, and for screen readers.
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserMissing, openTab, operatorToken } from './browser.ts';
import type { TabOptions } from './browser.ts';
import { openExamples } from './example-runs.ts';
import { runPane, until, xrayOf } from './page-driver.ts';

const openLead = async (more = '', options: TabOptions = {}) => {
  const studio = await openExamples(['lead']);
  const tab = await openTab(studio.link(operatorToken, `/chat?run=${studio.runs.lead}${more}`), options);
  if (more === '') {
    await tab.page.getByText('4 rooms, 8 crossings, all granted.', { exact: true }).waitFor();
    await rooms(tab.page).focus();
  }
  return { ...studio, ...tab };
};

const rooms = (page: Page): Locator => page.getByRole('grid', { name: 'Rooms over time' });

/** One frame later: what a pointer did is drawn by then. */
const nextFrame = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))');

/** Moves the pointer down the middle of the rooms until a card begins with these words. */
const hoverUntil = async (page: Page, words: RegExp): Promise<Locator> => {
  const box = (await rooms(page).boundingBox())!;
  const card = page.locator('.rooms-card');
  for (const across of [0.5, 0.35, 0.65])
    for (let down = 10; down < box.height; down += 8) {
      await page.mouse.move(box.x + box.width * across, box.y + down);
      await nextFrame(page);
      if ((await card.count()) > 0 && words.test(await card.innerText())) return card;
    }
  throw new Error(`Nothing in the rooms says ${words.source}.`);
};

describe.skipIf(browserMissing !== null)('the rooms', () => {
  test('say in a table off the screen what the picture says, from the log', async () => {
    const { page, cloister, runs } = await openLead();
    const { cells, events } = await cloister.show(runs.lead);
    const goal = Buffer.byteLength('Should a small team keep its data in SQLite or in DuckDB?');
    await rooms(page).getByRole('row').filter({ hasText: 'engineer' }).first().waitFor({ state: 'attached' });
    const words = await rooms(page).getByRole('row').allInnerTexts();
    expect(words).toHaveLength(cells.length);
    const bytes = (kind: string, agent: string) =>
      (events.find((event) => event.type === 'crossing' && event.kind === kind && event.from.startsWith(agent)) as any)
        .bytes;
    expect(words[0]).toMatch(
      new RegExp(`^lead, 2 requests, completed\\. In: goal from you, ${goal} bytes; result from`, 'u'),
    );
    const engineer = words.find((row) => row.startsWith('engineer'));
    expect(engineer).toBe(
      `engineer, 3 requests, completed. In: goal from lead, 62 bytes. Out: result to lead, ${bytes('result', 'engineer')} bytes.`,
    );
  });

  test('dim what a cell never saw, and say how much it saw', async () => {
    const { page } = await openLead();
    const card = await hoverUntil(page, /^engineer saw/u);
    expect(await card.innerText()).toContain('engineer saw 2 of 8 crossings');
    expect(await card.innerText()).toMatch(/Never saw: operator, analyst, your question, the answer\./u);
    expect(await card.innerText()).toContain('62 B, grant goal');
    // Held, the card stays when the pointer goes.
    await page.keyboard.press('h');
    await page.mouse.move(2, 2);
    await nextFrame(page);
    expect(await card.innerText()).toContain('Held: H lets go.');
  });

  test('are walked through with the keys, and Enter opens the X-ray of a request', async () => {
    const { page } = await openLead();
    await rooms(page).focus();
    await page.keyboard.press('ArrowDown');
    await rooms(page).getByRole('row', { selected: true }).waitFor({ state: 'attached' });
    const seen = new Set<string>();
    for (let step = 0; step < 5; step++) {
      seen.add((await rooms(page).getByRole('row', { selected: true }).innerText()).split(',')[0]!);
      const at = page.url();
      await page.keyboard.press('ArrowDown');
      await nextFrame(page);
      if (page.url() === at) break;
    }
    expect([...seen].sort()).toEqual(expect.arrayContaining(['analyst', 'engineer', 'operator']));
    await page.keyboard.press('ArrowRight');
    for (let step = 0; step < 6 && !/op=\d/u.test(page.url()); step++) {
      await page.keyboard.press('ArrowRight');
      await nextFrame(page);
    }
    expect(page.url()).toMatch(/cell=[^&]+&op=\d+|op=\d+/u);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await page.getByText('0 unattributed').waitFor();
    await page.keyboard.press('Escape');
    await rooms(page).waitFor();
  });

  test('show each crossing with bytes, grant, both ledgers, and a hash that this browser computes', async () => {
    const { page } = await openLead();
    const table = page.getByRole('table', { name: 'Crossings' });
    await table.getByRole('row').filter({ hasText: 'engineer' }).first().click();
    const xray = xrayOf(page);
    await xray.getByRole('heading', { name: /^Crossing \d/u }).waitFor();
    await xray.getByText('SHA-256 matches').waitFor();
    await xray.getByRole('heading', { name: 'Ledger of lead' }).waitFor();
    await xray.getByRole('heading', { name: 'Ledger of engineer' }).waitFor();
    expect(await xray.getByText(/^chain ok, \d+ links$/u).count()).toBe(2);
    await page.keyboard.press('j');
    await until(page, 'location.hash.includes("crossing=")');
  });

  test('take keys from the moment in which they are there', async () => {
    const { page, url, runs } = await openLead('&pane=summary');
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    // Pressed in the same task in which the canvas appears: no person is as fast, but a slow page is as slow.
    await page.evaluate(`new MutationObserver((_, observer) => {
      const box = document.querySelector('.rooms-box');
      if (box === null) return;
      observer.disconnect();
      for (let press = 0; press < 2; press++) box.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.goto(`${url}/#/chat?run=${runs.lead}`);
    await rooms(page).waitFor();
    const [, percent] = await page.getByRole('group', { name: 'Zoom' }).getByRole('button').all();
    await expect.poll(() => percent?.innerText()).toBe('196 %');
  });

  test('zoom with the keys and fit again', async () => {
    const { page } = await openLead();
    const zoom = page.getByRole('group', { name: 'Zoom' });
    await page.keyboard.press('+');
    await page.keyboard.press('+');
    await zoom.getByRole('button', { name: '196 %' }).waitFor();
    await page.keyboard.press('-');
    await zoom.getByRole('button', { name: '140 %' }).waitFor();
    await page.keyboard.press('0');
    await zoom.waitFor({ state: 'hidden' });
    expect(page.url()).not.toContain('cell=');
  });
});

describe.skipIf(browserMissing !== null)('the X-ray', () => {
  test('names the origin of every byte of a request, and follows a text back to the person', async () => {
    const { page } = await openLead();
    const xray = xrayOf(page);
    await xray.getByText('0 unattributed').waitFor();
    await xray.getByRole('button', { name: 'Open', exact: true }).click();
    await page.getByText('0 unattributed').waitFor();
    const goal = page.locator('.part', { hasText: 'Goal from you' });
    await goal.getByRole('button').first().click();
    const trail = page.getByRole('region', { name: 'Trail' });
    await trail.getByText('You', { exact: false }).first().waitFor();
    expect(await trail.innerText()).toContain('Should a small team keep its data in SQLite or in DuckDB?');
    expect(page.url()).toContain('part=');
  });

  test('follows a sentence of a sub-agent to the tool that it came from', async () => {
    const { page } = await openLead('&xray');
    const part = page
      .locator('.part', { hasText: 'Result of engineer' })
      .or(page.locator('.part', { hasText: 'engineer' }));
    const text = part.locator('pre').first();
    await text.waitFor();
    await text.click({ position: { x: 60, y: 30 } });
    const trail = page.getByRole('region', { name: 'Trail' });
    await trail
      .getByText(/notes\/internals|engineer/u)
      .first()
      .waitFor();
    expect(page.url()).toContain('find=');
  });

  test('finds text in a request, and says when there is none', async () => {
    const { page, complaints } = await openLead('&xray');
    await page.getByText('0 unattributed').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('SQLite');
    await page.locator('mark').first().waitFor();
    await page.getByRole('searchbox').fill('zebra');
    await page.getByText('Nothing holds “zebra”.').waitFor();
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(browserMissing !== null)('what if', () => {
  test('runs again without a grant: the result is refused, and both runs are side by side', async () => {
    const { page, cloister } = await openLead();
    const engineer = (await cloister.runs())[0]!;
    await page
      .getByRole('table', { name: 'Crossings' })
      .getByRole('row')
      .filter({ hasText: 'engineer' })
      .first()
      .click();
    await xrayOf(page).getByRole('button', { name: 'engineer' }).first().click();
    await xrayOf(page).getByRole('button', { name: 'Fork here' }).click();
    await page.getByRole('heading', { name: 'What if' }).waitFor();
    await page.getByLabel('without the grant').selectOption('result');
    await page.getByRole('button', { name: 'Run again' }).click();
    const changed = page.getByRole('region', { name: 'What changed' });
    await changed.waitFor();
    expect(await changed.innerText()).toMatch(/refused/u);
    const runs = await cloister.runs();
    expect(runs).toHaveLength(2);
    const fork = runs.find(({ run }) => run !== engineer.run)!;
    await page.goto(`${page.url().split('#')[0]}#/chat?run=${fork.run}`);
    await page.getByText(/engineer’s result stayed in its room\./u).waitFor();
    await page
      .getByText(/1 refused/u)
      .first()
      .waitFor();
    await rooms(page)
      .getByText(/^engineer, .* Out: result refused, no grant\.$/u)
      .waitFor({ state: 'attached' });
    await runPane(page).getByRole('row').filter({ hasText: 'refused: no grant' }).first().waitFor();
  });

  test('runs again with another budget, from the start of the run', async () => {
    const { page, cloister } = await openLead();
    const [first] = await cloister.runs();
    await xrayOf(page).getByRole('button', { name: 'Fork here' }).click();
    await page.getByRole('button', { name: 'budget', exact: true }).click();
    expect(await page.getByLabel('Operation').count()).toBe(0);
    await page.getByLabel('tokens', { exact: true }).fill('900');
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('region', { name: 'What changed' }).waitFor();
    await page.getByText('the budget had been').getByText('900 tokens, $1', { exact: true }).waitFor();
    const fork = (await cloister.runs()).find(({ run }) => run !== first!.run)!;
    const report = await cloister.show(fork.run);
    expect([report.status, report.budget]).toEqual(['budget', { tokens: 900, usd: 1 }]);
    expect(await cloister.audit(fork.run)).toMatchObject({ ok: true });
  });

  test('runs again with another goal', async () => {
    const { page, cloister } = await openLead();
    await xrayOf(page).getByRole('button', { name: 'Fork here' }).click();
    await page.getByRole('button', { name: 'goal', exact: true }).click();
    await page.getByRole('textbox', { name: 'The new goal' }).fill('Should a large team use Postgres?');
    await page.getByRole('button', { name: 'Run again' }).click();
    const changed = page.getByRole('region', { name: 'What changed' });
    await changed.getByText('Should a large team use Postgres?').first().waitFor();
    await page.keyboard.press('Escape');
    await rooms(page).waitFor();
    const goals = (await cloister.runs()).map(({ goal }) => goal);
    expect(goals).toContain('Should a large team use Postgres?');
  });
});
