// The page for everybody: axe finds nothing in any view, light and dark, wide and narrow; and everything works with the keys alone.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';
import type { TabOptions } from './browser.ts';
import { openExamples } from './example-runs.ts';
import { standsAs, until } from './page-driver.ts';
import { openView, pageSizes, views } from './views.ts';

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

/** A page that scrolls sideways, and what of the heads of its panes, and of rows, runs out of them or over something else. */
const cutOff = `(() => {
  const wide = document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways'] : [];
  const heads = [...document.querySelectorAll('.header, .xray-head, .what-if-head')].filter((one) => one.offsetWidth > 0);
  const problems = heads.flatMap((head) => {
    const { right } = head.getBoundingClientRect();
    const boxes = [...head.children]
      .map((child) => ({ name: child.className || child.tagName, box: child.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 1 && box.height > 1);
    return boxes.flatMap(({ name, box }, at) => [
      ...(box.right > right + 1 ? [head.className + ': ' + name + ' runs out'] : []),
      ...boxes
        .slice(at + 1)
        .filter(({ box: other }) => Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1
          && Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 1)
        .map((other) => head.className + ': ' + name + ' lies over ' + other.name),
    ]);
  });
  const rows = [...document.querySelectorAll('.virtual-list [role=row]')].flatMap((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return [...row.querySelectorAll(':not(svg, svg *)')]
      .map((part) => [part, part.getBoundingClientRect()])
      .filter(([, box]) => box.height > 1 && (box.top < top - 1 || box.bottom > bottom + 1))
      .map(([part]) => row.className + ': ' + (part.className || part.tagName) + ' is higher than its row');
  });
  return [...wide, ...problems, ...rows];
})()`;

describe.skipIf(browserMissing !== null)('the page', () => {
  test.each([
    ['wide', 'light'],
    ['wide', 'dark'],
    ['narrow', 'light'],
    ['narrow', 'dark'],
  ] as const)(
    'has no view in which axe finds something, or a head or a row is cut off, %s and %s',
    async (size, colorScheme) => {
      const studio = await openExamples(['lead', 'game-master', 'editorial', 'desk']);
      const options: TabOptions = {
        viewport: pageSizes[size],
        colorScheme,
        hasTouch: size === 'narrow',
        reducedMotion: 'reduce',
      };
      const { page } = await openTab(studio.link(operatorToken, '/runs'), options);
      const found: Record<string, readonly string[]> = {};
      for (const view of views) {
        const { name } = view;
        await openView(page, view, { url: studio.url, token: operatorToken, runs: studio.runs }).catch(
          (error: unknown) => void (found[`${name} is not there`] = [String(error).slice(0, 300)]),
        );
        // The policy of the page allows no script of others; the browser itself may.
        await page.evaluate(axe);
        const problems = [...(await violationsIn(page)), ...(await page.evaluate<readonly string[]>(cutOff))];
        if (problems.length > 0) found[name] = problems;
      }
      expect(found).toEqual({});
    },
  );

  test('has no violation in a first visit, or where a link has expired', async () => {
    const studio = await openStudio({ agents: ['examples/research/lead.ai'] });
    for (const [token, words] of [
      [operatorToken, 'Every agent in a room of its own'],
      ['clo_wrong_wrong_wrong_wrong_wrong_wrong', 'This link has expired. Start studio again.'],
    ] as const)
      for (const viewport of [pageSizes.wide, pageSizes.narrow]) {
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
    await page.getByText('0 unattributed').waitFor();
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
