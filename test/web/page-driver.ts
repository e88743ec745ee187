// What tests do in the page, and where they look.
import type { Locator, Page } from 'playwright-core';

export const chatOf = (page: Page): Locator => page.getByRole('region', { name: 'Chat' });

/** The turn that is shown in full. */
export const turnOf = (page: Page): Locator => page.locator('.turn:not(.is-past):not(.is-outgoing)');

/** Earlier and later turns of the conversation. */
export const otherTurns = (page: Page): Locator => page.locator('.turn.is-past');

export const runPane = (page: Page): Locator => page.getByRole('tabpanel');

export const xrayOf = (page: Page): Locator => page.getByRole('region', { name: 'X-ray' });

/** Until the header says how the shown run stands. */
export const standsAs = (page: Page, words: string): Promise<void> =>
  page.locator('.run-status').getByText(words).waitFor();

export const askIn = async (page: Page, text: string): Promise<void> => {
  const field = chatOf(page).getByRole('textbox', { name: /^Message to/u });
  await field.fill(text);
  await field.press('Enter');
};

/** The run that the page shows. */
export const shownRun = (page: Page): string => new URLSearchParams(page.url().split('?')[1]).get('run') ?? '';

/** Milliseconds of a processor that the main thread of a page has used from here on. What other programs do makes no difference. */
export const followMainThread = async (page: Page): Promise<() => Promise<number>> => {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1_000;
  };
};

/** Until this expression holds in the page. The page's own policy forbids what `waitForFunction` does with a text. */
export const until = (page: Page, expression: string): Promise<unknown> =>
  page.evaluate(
    `new Promise((done) => { const look = () => ((${expression}) ? done(0) : requestAnimationFrame(look)); look(); })`,
  );
