// One short journey through the studio in a real browser; the others are in `npm run test:web`.
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';

if (browserMissing !== null) console.warn(`The page is not tried in a browser: ${browserMissing}`);

const model = rehearse([
  {
    when: { agent: 'lead', turn: 1 },
    reply: {
      text: 'I ask a clerk.',
      calls: [{ tool: 'clerk', args: { prompt: 'Which day is best?' } }],
    },
  },
  { when: { agent: 'lead' }, reply: { text: '## Monday\n\nSays **the clerk**.' } },
  { when: { agent: 'clerk' }, reply: { text: 'Monday <img src=x onerror=alert(1)>.' } },
]);

const clerk = defineAgent({ name: 'clerk', description: 'Knows days.', prompt: 'Answer.', models: [model] });
const lead = defineAgent({
  name: 'lead',
  description: 'Answers.',
  prompt: 'Ask the clerk.',
  output: { format: 'markdown' },
  models: [model],
  agents: [clerk],
});

// invariants: page-no-cookie, store-once
test.skipIf(browserMissing !== null)(
  'a person asks in the page, sees the answer, the rooms and what each model saw, and finds it again after a reload',
  async () => {
    const studio = await openStudio({ agents: [lead] });
    const { page, complaints, origins } = await openTab(studio.link(operatorToken));
    expect(page.url()).not.toContain('token');

    await page.getByRole('button', { name: 'Chat with lead' }).click();
    await page.getByPlaceholder('Ask lead').fill('When do we meet?');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Monday' }).waitFor();
    await page.getByText('2 rooms, 4 crossings, all granted.').waitFor();
    await page.getByText('0 unattributed').first().waitFor();

    const address = page.url();
    await page.reload();
    await page.getByRole('heading', { name: 'Monday' }).waitFor();
    expect(page.url()).toBe(address);
    expect(await page.getByText('When do we meet?').count()).toBeGreaterThan(0);
    expect(await studio.cloister.runs()).toHaveLength(1);

    expect(await page.getByRole('heading', { name: 'Monday' }).count()).toBe(1);
    expect(await page.context().cookies()).toEqual([]);
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([studio.url]);
  },
);
