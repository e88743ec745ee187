// Chatting in the page: what is written is seen while it is written, and what is pressed is done once.
import { describe, expect, test } from 'vitest';
import { defineAgent, defineTool } from 'cloister';
import type { AgentShortForms } from 'cloister';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';
import { halves, heldModel } from './held-model.ts';
import type { HeldModel } from './held-model.ts';
import { askIn, chatOf, otherTurns, standsAs, turnOf } from './page-driver.ts';

const openChat = async (model: HeldModel, more: Partial<AgentShortForms> = {}, address = '/chat?agent=lead') => {
  const clerk = defineAgent({ name: 'clerk', description: 'Knows days.', prompt: 'Answer.', models: [model] });
  const lead = defineAgent({
    name: 'lead',
    description: 'Answers.',
    prompt: 'Ask the clerk.',
    output: { format: 'markdown' },
    models: [model],
    agents: [clerk],
    ...more,
  });
  const studio = await openStudio({ agents: [lead] });
  const tab = await openTab(studio.link(operatorToken, address), {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  return { ...studio, ...tab };
};

const askClerk = (text: string) => ({ text, calls: [{ tool: 'clerk', args: { prompt: 'Which day is best?' } }] });

describe.skipIf(browserMissing !== null)('the chat', () => {
  test('shows a text while it is being written', async () => {
    const model = heldModel([{ reply: halves('The first half, ', 'and the second.') }]);
    const { page, complaints } = await openChat(model);
    await askIn(page, 'Say something long.');
    await turnOf(page).getByText('The first half,', { exact: true }).waitFor();
    await model.gate.arrived(1);
    model.gate.open();
    await turnOf(page).getByText('The first half, and the second.', { exact: true }).waitFor();
    await standsAs(page, 'Completed in');
    expect(await turnOf(page).locator('.chat-text').allInnerTexts()).toEqual(['The first half, and the second.']);
    expect(complaints).toEqual([]);
  });

  test('has sub-agents below the turn that called them, live, which open with their own words', async () => {
    const model = heldModel([
      { when: { agent: 'lead', turn: 1 }, reply: askClerk('I ask a clerk.') },
      { when: { agent: 'lead' }, reply: 'It is Monday.' },
      { when: { agent: 'clerk' }, reply: halves('Let me look at ', 'the calendar: Monday.') },
    ]);
    const { page } = await openChat(model);
    await askIn(page, 'When?');
    const row = turnOf(page).getByRole('button', { name: /^clerk/u });
    await row.waitFor();
    expect(await row.getAttribute('aria-expanded')).toBe('false');
    expect(await turnOf(page).getByText('Let me look at').count()).toBe(0);
    await row.click();
    await turnOf(page).getByText('Let me look at', { exact: true }).waitFor();
    expect(await turnOf(page).getByText('Which day is best?').count()).toBeGreaterThan(0);
    model.gate.open();
    await turnOf(page).getByText('Let me look at the calendar: Monday.', { exact: true }).waitFor();
    await turnOf(page).getByText('It is Monday.', { exact: true }).waitFor();
  });

  test('stops a run: nothing starts afterwards', async () => {
    const model = heldModel([
      { when: { agent: 'lead', turn: 1, text: 'When?' }, reply: askClerk('I ask a clerk.') },
      { when: { agent: 'lead' }, reply: 'Something else.' },
      { when: { agent: 'clerk' }, reply: halves('Never ', 'said.') },
    ]);
    const { page, cloister } = await openChat(model);
    await askIn(page, 'When?');
    await model.gate.arrived(1);
    await chatOf(page).getByRole('button', { name: 'Stop' }).click();
    await turnOf(page).getByText('Stopped by you').waitFor();
    model.gate.open();
    const [run] = await cloister.runs();
    expect(run).toMatchObject({ state: 'ended', status: 'cancelled' });
    expect(model.askers).toEqual(['lead', 'clerk']);
    // Whatever a stopped run could still start would come before the next one ends.
    await askIn(page, 'And now?');
    await turnOf(page).getByText('Something else.').waitFor();
    await standsAs(page, 'Completed in');
    expect(model.askers).toEqual(['lead', 'clerk', 'lead']);
    expect(await cloister.runs()).toHaveLength(2);
  });

  test('still has the words of a stopped answer after a reload', async () => {
    const model = heldModel([{ reply: halves('Half a sen', 'tence.') }]);
    const { page } = await openChat(model);
    await askIn(page, 'When?');
    await turnOf(page).getByText('Half a sen').waitFor();
    await chatOf(page).getByRole('button', { name: 'Stop' }).click();
    await turnOf(page).getByText('Stopped by you').waitFor();
    await page.reload();
    await turnOf(page).getByText('Stopped by you').waitFor();
    await expect.poll(() => turnOf(page).getByText('Half a sen', { exact: true }).count()).toBe(1);
    model.gate.open();
  });

  test('takes the next message while a run is working, and sends it after that', async () => {
    const model = heldModel([{ when: { text: 'First?' }, reply: halves('One ', 'moment.') }, { reply: 'After that.' }]);
    const { page, cloister } = await openChat(model);
    await askIn(page, 'First?');
    await model.gate.arrived(1);
    await chatOf(page).getByPlaceholder('lead is working. Your next message waits its turn.').waitFor();
    await askIn(page, 'Second?');
    await chatOf(page).getByText('Waits its turn.').waitFor();
    expect(await cloister.runs()).toHaveLength(1);
    model.gate.open();
    await turnOf(page).getByText('After that.').waitFor();
    expect(await cloister.runs()).toHaveLength(2);
  });

  test('tries a turn again, keeps the first try, and shows both', async () => {
    let tries = 0;
    const model = heldModel([{ reply: () => `Try number ${++tries}.` }]);
    const { page, cloister } = await openChat(model);
    await askIn(page, 'Try.');
    await turnOf(page).getByText('Try number 1.').waitFor();
    await turnOf(page).getByRole('button', { name: 'Retry' }).click();
    await turnOf(page).getByText('Try number 2.').waitFor();
    await turnOf(page).getByText('2 of 2').waitFor();
    await turnOf(page).getByRole('button', { name: 'Version before' }).click();
    await turnOf(page).getByText('Try number 1.').waitFor();
    await turnOf(page).getByText('1 of 2').waitFor();
    expect(await chatOf(page).locator('.person-message').allInnerTexts()).toEqual([expect.stringContaining('Try.')]);
    expect((await cloister.runs()).map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  test('continues a conversation, and branches from any message without the ones after it', async () => {
    const model = heldModel([
      { reply: ({ messages }) => `I heard ${messages.filter(({ role }) => role === 'user').length} messages.` },
    ]);
    const { page, cloister } = await openChat(model);
    await askIn(page, 'Alpha');
    await turnOf(page).getByText('I heard 1 messages.').waitFor();
    await standsAs(page, 'Completed in');
    await askIn(page, 'Beta');
    await turnOf(page).getByText('I heard 2 messages.').waitFor();
    await standsAs(page, 'Completed in');
    const past = otherTurns(page);
    await past.getByText('I heard 1 messages.').waitFor();
    const first = await page.getByRole('combobox', { name: 'Conversation' }).inputValue();

    await past.getByRole('button', { name: 'Branch from here' }).click();
    await chatOf(page).getByText('Beta').waitFor({ state: 'detached' });
    await askIn(page, 'Gamma');
    await turnOf(page).getByText('I heard 2 messages.').waitFor();
    await otherTurns(page).getByText('Alpha').waitFor();
    expect(await chatOf(page).getByText('Beta').count()).toBe(0);
    const branch = await page.getByRole('combobox', { name: 'Conversation' }).inputValue();
    expect(branch).not.toBe(first);

    await page.getByRole('combobox', { name: 'Conversation' }).selectOption(first);
    await turnOf(page).getByText('Beta').waitFor();
    expect(await chatOf(page).getByText('Gamma').count()).toBe(0);
    expect(await cloister.conversations.list()).toHaveLength(2);
  });

  test('gives the next message a budget, which ends its run', async () => {
    const model = heldModel([
      { when: { turn: 1 }, reply: { ...askClerk('I ask.'), usage: { input: 900, output: 200 } } },
      { reply: { text: 'Too late.', usage: { input: 900, output: 200 } } },
    ]);
    const { page, cloister } = await openChat(model);
    await chatOf(page).getByLabel('Tokens for the next message').fill('1,000');
    await askIn(page, 'Spend.');
    await turnOf(page).getByRole('alert').getByText('Budget', { exact: true }).waitFor();
    const [run] = await cloister.runs();
    expect(run).toMatchObject({ status: 'budget' });
    expect(await chatOf(page).getByText('Too late.').count()).toBe(0);

    await chatOf(page).getByLabel('Tokens for the next message').fill('a lot');
    await askIn(page, 'Again.');
    await chatOf(page).getByText('Tokens, such as 50,000.').waitFor();
    expect(await cloister.runs()).toHaveLength(1);
  });

  test('shows Markdown, code that can be copied, and pictures that are in the text', async () => {
    const pixel =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const markdown = `# Plan\n\n- one\n- **two**\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n\`\`\`ts\nconst x = 1;\n\`\`\`\n\n[docs](https://example.com/docs)\n\n![a dot](${pixel})`;
    const { page, complaints, origins } = await openChat(heldModel([{ reply: () => ({ pieces: [markdown] }) }]));
    await askIn(page, 'Plan?');
    const turn = turnOf(page);
    await turn.getByRole('heading', { name: 'Plan' }).waitFor();
    expect(await turn.getByRole('listitem').allInnerTexts()).toEqual(expect.arrayContaining(['one', 'two']));
    expect(await turn.getByRole('cell').allInnerTexts()).toEqual(['1', '2']);
    expect(await turn.getByRole('link', { name: 'docs' }).getAttribute('rel')).toBe('noopener noreferrer');
    await turn.getByRole('img', { name: 'a dot' }).waitFor();
    await turn.locator('.code-block').getByRole('button', { name: 'Copy' }).click();
    await turn.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe('const x = 1;');
    expect(complaints).toEqual([]);
    expect(origins.size).toBe(1);
  });

  test('shows JSON as a tree that opens and closes', async () => {
    const data = { city: 'Oslo', parts: [{ name: 'sea', deep: { deeper: { deepest: true } } }] };
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const { page } = await openChat(heldModel([{ reply: () => JSON.stringify(data) }]), {
      output: { format: 'json', schema },
    });
    await askIn(page, 'Which city?');
    const tree = turnOf(page).locator('.json-tree');
    await tree.getByText('"Oslo"').waitFor();
    expect(await tree.getByText('deepest').count()).toBe(0);
    await tree.locator('summary', { hasText: '0:' }).click();
    await tree.locator('summary', { hasText: 'deep:' }).click();
    await tree.locator('summary', { hasText: 'deeper:' }).click();
    await tree.getByText('deepest').waitFor();
  });

  test('sends files with a message, and shows them with it', async () => {
    const model = heldModel([{ reply: 'A dot.' }]);
    const { page, complaints } = await openChat(model, { models: [{ language: model, attachments: ['image/*'] }] });
    await chatOf(page).getByLabel('More options').click();
    const bytes = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await chatOf(page)
      .locator('input[type=file]')
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(bytes, 'base64') });
    await chatOf(page).getByRole('button', { name: 'Remove dot.png' }).waitFor();
    await askIn(page, 'What is this?');
    await turnOf(page).getByText('A dot.').waitFor();
    await turnOf(page).getByRole('img', { name: 'dot.png' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('has the tools that were called, with what failed', async () => {
    const model = heldModel([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'look' }, { tool: 'fall' }] } },
      { reply: 'Done.' },
    ]);
    const empty = { type: 'object', properties: {} };
    const tools = [
      defineTool({ name: 'look', description: 'Looks.', inputSchema: empty, execute: () => 'seen' }),
      defineTool({
        name: 'fall',
        description: 'Falls.',
        inputSchema: empty,
        execute: () => {
          throw new Error('fell over');
        },
      }),
    ];
    const { page } = await openChat(model, { tools });
    await askIn(page, 'Look.');
    await turnOf(page).getByText('Done.').waitFor();
    const rows = turnOf(page).locator('.chat-row.is-tool');
    expect(await rows.count()).toBe(2);
    expect(await rows.nth(0).innerText()).toContain('4 B');
    expect(await rows.nth(1).locator('.mark-failed').count()).toBe(1);
  });
});
