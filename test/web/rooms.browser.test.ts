// Rooms in a real browser: pointer, keys, zoom and what screen readers find.
import { expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';

const call = { tool: 'clerk', args: { prompt: 'Which day is best?' } };
const model = rehearse([
  { when: { agent: 'lead', turn: 1 }, reply: { text: 'I ask a clerk.', calls: [call] } },
  { when: { agent: 'lead' }, reply: { text: 'Monday.' } },
  { when: { agent: 'clerk' }, reply: { text: 'Monday, says the clerk.' } },
]);
const clerk = defineAgent({ name: 'clerk', description: 'Knows days.', prompt: 'Answer.', models: [model] });
const lead = defineAgent({ name: 'lead', description: 'Asks.', prompt: 'Ask.', models: [model], agents: [clerk] });

const openRooms = async (): Promise<{ readonly page: Page; readonly complaints: readonly string[] }> => {
  const studio = await openStudio({ agents: [lead] });
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ input: 'When?' });
  const answered = await fetch(`${studio.url}/v1/lead`, { method: 'POST', headers, body });
  expect(answered.status).toBe(200);
  const [row] = await studio.cloister.runs();
  const { page, complaints } = await openTab(studio.link(operatorToken, `/chat?run=${row!.run}`));
  await page.getByText('2 rooms, 4 crossings, all granted.').waitFor();
  return { page, complaints };
};

const cardTitle = (page: Page): Promise<string> =>
  page.evaluate('document.querySelector(".rooms-card h3")?.textContent ?? ""');

/** Moves over the canvas until the card says this. */
const hoverUntil = async (
  page: Page,
  words: RegExp,
  step: { x: number; y: number },
): Promise<{ readonly x: number; readonly y: number }> => {
  const box = (await page.locator('.rooms-box').boundingBox())!;
  for (let y = box.y + 24; y < box.y + box.height; y += step.y)
    for (let x = box.x + 8; x < box.x + box.width; x += step.x) {
      await page.mouse.move(x, y);
      // The card is drawn a little later: it must still say so then.
      if (words.test(await cardTitle(page))) {
        await page.waitForTimeout(100);
        if (words.test(await cardTitle(page))) return { x, y };
      }
    }
  throw new Error(`nothing says ${words}`);
};

const inRooms = { x: 40, y: 20 };
const onArrows = { x: 8, y: 40 };

const selected = (page: Page): URLSearchParams => new URLSearchParams(new URL(page.url()).hash.split('?')[1]);

test.skipIf(browserMissing !== null)('rooms can be read and walked through with keys', async () => {
  const { page, complaints } = await openRooms();
  const rows = page.locator('.rooms-box [role=row]');
  await expect.poll(() => rows.count()).toBe(2);
  const [first, second] = await rows.allTextContents();
  expect(first).toMatch(/^lead, 2 requests, completed\. In: goal from you, \d+ bytes; result from clerk, \d+ bytes\./u);
  expect(second).toMatch(
    /^clerk, 1 request, completed\. In: goal from lead, \d+ bytes\. Out: result to lead, \d+ bytes\.$/u,
  );

  await page.locator('.rooms-box').focus();
  await page.keyboard.press('ArrowDown');
  expect(selected(page).get('cell')).toMatch(/^lead/u);
  await page.keyboard.press('ArrowDown');
  expect(selected(page).get('cell')).toMatch(/^clerk/u);
  const active = await page.locator('.rooms-box').getAttribute('aria-activedescendant');
  expect(await page.locator(`#${active}`).textContent()).toBe(second);
  await page.keyboard.press('ArrowRight');
  expect(selected(page).get('crossing')).not.toBeNull();
  await page.keyboard.press('ArrowRight');
  expect(selected(page).get('op')).not.toBeNull();

  const scrolls = () => page.locator('.rooms-box').evaluate((box) => box.scrollWidth > box.clientWidth + 1);
  expect(await scrolls()).toBe(false);
  await page.keyboard.press('+');
  await expect.poll(scrolls).toBe(true);
  await page.keyboard.press('0');
  await expect.poll(scrolls).toBe(false);

  await page.keyboard.press('Enter');
  expect(selected(page).has('xray')).toBe(true);
  expect(complaints).toEqual([]);
});

test.skipIf(browserMissing !== null)('hovering a room says what it saw, H holds it, and a click selects', async () => {
  const { page, complaints } = await openRooms();
  // Letters act outside text fields.
  await page.locator('.rooms-box').focus();
  await hoverUntil(page, /^clerk saw 2 of 4 crossings$/u, inRooms);
  await expect.poll(() => page.locator('.rooms-card').textContent()).toContain('Never saw: your question, the answer.');
  await page.keyboard.press('h');
  await page.mouse.move(2, 2);
  expect(await page.locator('.rooms-card').textContent()).toContain('Held');
  await page.keyboard.press('h');
  await expect.poll(() => page.locator('.rooms-card').count()).toBe(0);

  const arrow = await hoverUntil(page, /^goal from lead to clerk$/u, onArrows);
  await page.mouse.click(arrow.x, arrow.y);
  expect(selected(page).get('crossing')).not.toBeNull();
  const room = await hoverUntil(page, /^clerk saw/u, inRooms);
  await page.mouse.click(room.x, room.y);
  expect([selected(page).get('cell')?.split('-')[0], selected(page).get('crossing')]).toEqual(['clerk', null]);
  expect(complaints).toEqual([]);
});
