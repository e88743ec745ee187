// The page for everybody: axe finds nothing in any view, light and dark, wide and narrow; and everything works with the keys alone.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';
import type { TabOptions } from './browser.ts';
import { openExamples } from './example-runs.ts';
import type { ExampleStudio } from './example-runs.ts';
import { chatOf, standsAs, turnOf, until } from './page-driver.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Violation = {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

/** What axe finds, one line for each element. */
const violationsIn = async (page: Page): Promise<readonly string[]> => {
  const violations = await page.evaluate<readonly Violation[]>(`(async () => {
    return (await axe.run()).violations;
  })()`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.replaceAll(/\s+/gu, ' ')}`),
  );
};

type View = {
  readonly name: string;
  readonly address: (studio: ExampleStudio) => string;
  /** Until it is drawn. */
  readonly ready: (page: Page) => Promise<void>;
};

const seen = (text: string | RegExp) => (page: Page) => page.getByText(text).first().waitFor();
const inTab = (pane: string, ready: View['ready'], agent: keyof ExampleStudio['runs'] = 'lead'): View => ({
  name: pane,
  address: ({ runs }) => `/chat?run=${runs[agent]}&pane=${pane}`,
  ready,
});

const views: readonly View[] = [
  {
    name: 'a new chat',
    address: () => '/chat?agent=lead',
    ready: (page) => chatOf(page).getByRole('textbox').first().waitFor(),
  },
  {
    name: 'chat and rooms',
    address: ({ runs }) => `/chat?run=${runs.lead}`,
    ready: (page) => turnOf(page).getByText('Use SQLite for records').waitFor(),
  },
  inTab('rooms', (page) => page.getByText('4 rooms, 8 crossings, all granted.').waitFor({ state: 'attached' })),
  inTab('tree', (page) => page.getByRole('treegrid').waitFor({ state: 'attached' })),
  inTab('tasks', (page) => page.getByText('researcher').first().waitFor({ state: 'attached' }), 'editorial'),
  inTab(
    'mail',
    (page) => page.getByRole('table', { name: 'Messages, oldest first' }).waitFor({ state: 'attached' }),
    'game-master',
  ),
  inTab('transcript', (page) =>
    page.getByText('You lead a small research team.').first().waitFor({ state: 'attached' }),
  ),
  inTab('windows', (page) => page.locator('.window-bar').first().waitFor({ state: 'attached' })),
  inTab('summary', (page) => page.getByRole('heading', { name: 'Models' }).waitFor({ state: 'attached' })),
  inTab('audit', (page) => page.getByText('Everything that is recorded holds.').waitFor({ state: 'attached' })),
  { name: 'X-ray', address: ({ runs }) => `/chat?run=${runs.lead}&xray&part=1`, ready: seen('0 bytes unattributed') },
  {
    name: 'what if',
    address: ({ runs }) => `/chat?run=${runs.lead}&with=`,
    ready: (page) => page.getByRole('heading', { name: 'What if' }).waitFor(),
  },
  {
    name: 'two runs side by side',
    address: ({ runs }) => `/chat?run=${runs.lead}&with=${runs.editorial}`,
    ready: (page) => page.getByRole('region', { name: 'What changed' }).waitFor(),
  },
  { name: 'a question', address: ({ runs }) => `/chat?run=${runs.desk}`, ready: seen('mailer wants to use mail/send') },
  { name: 'questions', address: () => '/questions', ready: seen('1 question waits') },
  {
    name: 'runs',
    address: () => '/runs',
    ready: (page) => page.getByRole('table', { name: 'Runs, newest first' }).waitFor(),
  },
  {
    name: 'agents',
    address: () => '/agents?agent=lead',
    ready: seen('Answers a question with the help of three researchers.'),
  },
  {
    name: 'an unknown run',
    address: () => '/chat?run=r-nowhere',
    ready: seen('There is no such run in this workspace.'),
  },
];

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;

describe.skipIf(browserMissing !== null)('the page', () => {
  test.each([
    ['wide', 'light'],
    ['wide', 'dark'],
    ['narrow', 'light'],
    ['narrow', 'dark'],
  ] as const)('has no view in which axe finds something, %s and %s', async (size, colorScheme) => {
    const studio = await openExamples(['lead', 'game-master', 'editorial', 'desk']);
    const options: TabOptions = {
      viewport: sizes[size],
      colorScheme,
      hasTouch: size === 'narrow',
      reducedMotion: 'reduce',
    };
    const { page } = await openTab(studio.link(operatorToken, '/runs'), options);
    const found: Record<string, readonly string[]> = {};
    for (const { name, address, ready } of views) {
      // The policy of the page allows no script of others; the browser itself may.
      await page.goto('about:blank');
      await page.goto(`${studio.url}/#token=${operatorToken}&${address(studio)}`);
      const bar = page.getByRole('navigation', { name: 'Parts of the page' });
      if (size === 'narrow' && address(studio).includes('pane='))
        await bar.getByRole('button', { name: 'Rooms' }).click();
      await ready(page).catch((error: unknown) => void (found[`${name} is not there`] = [String(error).slice(0, 300)]));
      await page.evaluate(axe);
      const violations = await violationsIn(page);
      if (violations.length > 0) found[name] = violations;
    }
    expect(found).toEqual({});
  });

  test('has no violation in a first visit, or where a link has expired', async () => {
    const studio = await openStudio({ agents: ['examples/research/lead.ai'] });
    for (const [token, words] of [
      [operatorToken, 'Every agent in a room of its own'],
      ['clo_wrong_wrong_wrong_wrong_wrong_wrong', 'This link has expired. Start studio again.'],
    ] as const)
      for (const viewport of [sizes.wide, sizes.narrow]) {
        const { page } = await openTab(studio.link(token, '/chat'), { viewport });
        await page.getByRole('heading', { name: words }).waitFor();
        await page.evaluate(axe);
        expect(await violationsIn(page)).toEqual([]);
      }
  });

  test('is used with the keys alone: ask, look at rooms, open the X-ray, follow a text, find the run again', async () => {
    const studio = await openStudio({ agents: ['examples/research/lead.ai'] });
    const { page, complaints } = await openTab(studio.link(operatorToken, '/chat'));
    await page.getByRole('button', { name: 'Chat with lead' }).waitFor();
    await page.keyboard.press('c');
    await until(page, 'document.activeElement?.tagName === "TEXTAREA"');
    await page.keyboard.type('Should a small team keep its data in SQLite or in DuckDB?');
    await page.keyboard.press('Enter');
    await standsAs(page, 'Completed in');
    await page.getByText('4 rooms, 8 crossings, all granted.', { exact: true }).waitFor();

    // Tab goes through the page, and always shows where it is.
    const reached: string[] = [];
    for (let step = 0; step < 60 && !reached.includes('Rooms over time'); step++) {
      await page.keyboard.press('Tab');
      const [label, outline] = await page.evaluate<readonly [string, string]>(`(() => {
        const at = document.activeElement;
        // A field may leave its outline to the box around it.
        const outlines = [at, at.parentElement, at.parentElement.parentElement].map((one) => getComputedStyle(one).outlineStyle);
        return [at.getAttribute('aria-label') ?? at.textContent.trim(), outlines.find((one) => one !== 'none') ?? 'none'];
      })()`);
      reached.push(label);
      expect(outline, label).not.toBe('none');
    }
    expect(reached).toContain('Rooms over time');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await until(page, 'location.hash.includes("cell=")');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await page.getByText('0 bytes unattributed').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('t');
    await page.locator('.trail .stop').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('grid', { name: 'Rooms over time' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'All keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'All keys' }).waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  test('does not move for those who want no motion', async () => {
    const { link, runs } = await openExamples(['lead']);
    const { page } = await openTab(link(operatorToken, `/chat?run=${runs.lead}`), { reducedMotion: 'reduce' });
    await page.getByText('4 rooms, 8 crossings, all granted.', { exact: true }).waitFor();
    const moving = await page.evaluate<readonly string[]>(`[...document.querySelectorAll('*')].flatMap((element) => {
      const { transitionDuration, animationName, animationDuration } = getComputedStyle(element);
      const moves = (durations) => durations.split(',').some((one) => parseFloat(one) > 0.01);
      return moves(transitionDuration) || (animationName !== 'none' && moves(animationDuration)) ? [element.className] : [];
    })`);
    expect(moving).toEqual([]);
  });
});
