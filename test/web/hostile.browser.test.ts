// Everything in the log is foreign text. Whatever it says, it stays text: nothing runs, nothing is fetched.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView } from 'cloister/testkit';
import { browserMissing, newContext, openStudio, openTabIn, operatorToken } from './browser.ts';
import { foreignElements, watchForScripts } from './in-page.ts';
import { chatOf, runPane, shownRun, standsAs, turnOf, until } from './page-driver.ts';
import { xssPayloads } from './xss-payloads.ts';

const chunkSize = 50;
const chunks = Array.from({ length: xssPayloads.length / chunkSize }, (_, at) =>
  xssPayloads.slice(at * chunkSize, (at + 1) * chunkSize),
);
const textOf = (at: number): string => chunks[at % chunks.length]!.join('\n\n');

/** The first turn starts a clerk for each chunk; each next one says and looks up a chunk; the last one answers with one. */
const leadReply = ({ turn }: RequestView) => {
  if (turn === 1)
    return {
      text: xssPayloads[0]!,
      calls: chunks.map((_, at) => ({ tool: 'clerk', args: { prompt: textOf(at) } })),
    };
  const at = turn - 2;
  if (at >= chunks.length) return { pieces: [textOf(0)] };
  return {
    pieces: [textOf(at)],
    calls: [
      { tool: 'look', args: { text: textOf(at) } },
      { tool: 'fall', args: { text: chunks[at]![0]! } },
    ],
  };
};

const textSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

const openHostile = async () => {
  const model = rehearse([
    { when: { agent: 'lead' }, reply: leadReply },
    { when: { agent: 'clerk' }, reply: ({ goal }) => ({ pieces: [goal] }) },
  ]);
  const models = [{ language: model, contextTokens: 2_000_000, attachments: ['*/*'] }];
  const clerk = defineAgent({ name: 'clerk', description: textOf(1), prompt: 'Answer.', models, usage: textOf(2) });
  const lead = defineAgent({
    name: 'lead',
    description: textOf(3),
    usage: textOf(4),
    prompt: textOf(5),
    output: { format: 'markdown' },
    models,
    agents: [clerk],
    limits: { maxToolTurns: 40, maxToolCallsPerTurn: 40 },
    tools: [
      {
        name: 'look',
        description: textOf(6),
        inputSchema: textSchema,
        execute: ({ text }) => text as string,
      },
      {
        name: 'fall',
        description: 'Falls.',
        inputSchema: textSchema,
        execute: ({ text }) => {
          throw new Error(text as string);
        },
      },
    ],
  });
  return openStudio({ agents: [lead] });
};

const check = async (page: Page, where: string): Promise<void> => {
  expect(await page.evaluate<readonly string[]>('seen'), where).toEqual([]);
  expect(await page.evaluate<readonly string[]>(foreignElements), where).toEqual([]);
};

test.skipIf(browserMissing !== null)(
  'what a hole would show is found: scripts, elements, attributes and links',
  async () => {
    const context = await newContext();
    await context.addInitScript(watchForScripts);
    const { link } = await openHostile();
    const { page, complaints } = await openTabIn(context, link(operatorToken, '/runs'));
    await check(page, 'nothing is planted yet');
    // As a view would that made markup from a text: the policy refuses it, and is heard.
    await page.evaluate(`try { document.body.innerHTML += '<b onclick="pwned()">'; } catch {}`);
    await until(page, 'seen.length === 1');
    expect(await page.evaluate('seen')).toEqual([expect.stringContaining('require-trusted-types-for')]);
    expect(complaints).toHaveLength(1);
    await page.evaluate('pwned()');
    expect(await page.evaluate('seen.length')).toBe(2);
    // The page refuses these too, so they are tried where there is no policy.
    const { page: empty } = await openTabIn(context, 'about:blank');
    for (const [tag, name, value, words] of [
      ['iframe', 'title', 'x', 'iframe'],
      ['a', 'href', 'javascript:pwned()', 'a href=javascript:pwned()'],
      ['img', 'src', 'https://elsewhere.example/x.png', 'img src=https://elsewhere.example/x.png'],
      ['b', 'onclick', 'pwned()', 'b onclick=pwned()'],
      ['p', 'style', 'background: url(/x)', 'p style=background: url(/x)'],
    ]) {
      await empty.evaluate(
        ([one, key, text]) => {
          const { document } = globalThis as any;
          const element = document.createElement(one);
          element.setAttribute(key, text);
          document.body.append(element);
        },
        [tag!, name!, value!],
      );
      expect(await empty.evaluate<readonly string[]>(foreignElements)).toContain(words);
    }
  },
);

describe.skipIf(browserMissing !== null)('1,000 hostile texts', () => {
  test('as goals, answers, Markdown, arguments, outputs, errors, descriptions and file names stay text', async () => {
    expect(new Set(xssPayloads).size).toBe(1_000);
    const studio = await openHostile();
    const context = await newContext();
    await context.addInitScript(watchForScripts);
    const { page, complaints, origins } = await openTabIn(context, studio.link(operatorToken, '/chat?agent=lead'));
    await check(page, 'a new chat');

    // Sent in the page itself, with a file whose name is one.
    await chatOf(page).getByLabel('More options').click();
    await chatOf(page)
      .locator('input[type=file]')
      .setInputFiles({
        name: `"><img src=x onerror=pwned()>.txt`,
        mimeType: 'text/plain',
        buffer: Buffer.from(textOf(7)),
      });
    const field = chatOf(page).getByRole('textbox', { name: /^Message to/u });
    await field.fill(textOf(8));
    await field.press('Enter');
    await standsAs(page, 'Completed in');
    const run = shownRun(page);
    const report = await studio.cloister.show(run);
    expect(report.cells).toHaveLength(1 + chunks.length);
    await check(page, 'the chat');

    // Every sub-agent opened: its goal, and its answer as Markdown.
    const rows = turnOf(page).locator('button.chat-row');
    // The turn is shown when its words have been read.
    await rows.nth(chunks.length - 1).waitFor();
    expect(await rows.count()).toBe(chunks.length);
    for (let at = 0; at < chunks.length; at++) await rows.nth(at).click();
    await turnOf(page).locator('.chat-inner').last().locator('.chat-text').first().waitFor();
    await check(page, 'the sub-agents');
    // The texts are there, not swallowed.
    const chat = await chatOf(page).innerText();
    expect(chat).toContain('<script>pwned()</script>');
    expect(chat).toContain('<img src=x onerror=pwned()>');

    for (const pane of ['Tree', 'Tasks', 'Mail', 'Transcript', 'Windows', 'Summary', 'Audit', 'Rooms']) {
      await page.getByRole('tab', { name: pane }).click();
      await runPane(page)
        .and(page.getByRole('tabpanel', { name: pane }))
        .waitFor();
      await runPane(page).locator('[aria-busy=true]').waitFor({ state: 'detached' });
      await check(page, pane);
    }
    const crossings = page.getByRole('table', { name: 'Crossings' }).getByRole('row');
    await crossings.nth(3).click();
    await page.getByText('SHA-256 matches').waitFor();
    await check(page, 'a crossing');

    const origin = page.url().split('#')[0]!;
    for (const { cell } of report.cells.slice(0, 4)) {
      await page.goto(`${origin}#/chat?run=${run}&cell=${encodeURIComponent(cell)}&xray`);
      await page.getByText('0 unattributed').waitFor();
      await page.locator('.part').last().getByRole('button').first().click();
      await page.locator('.trail .stop').first().waitFor();
      await check(page, `the X-ray of ${cell}`);
    }
    await page.goto(`${origin}#/chat?run=${run}&with=`);
    await page.getByRole('heading', { name: 'What if' }).waitFor();
    await check(page, 'what if');
    for (const view of ['Runs', 'Agents', 'Questions']) {
      await page.getByRole('link', { name: view, exact: false }).first().click();
      await until(page, `location.hash.startsWith('#/${view.toLowerCase()}')`);
      await page.locator('.shell-main > *').first().waitFor();
      await check(page, view);
    }
    await page.reload();
    await check(page, 'after a reload');
    expect(page.url().startsWith(studio.url)).toBe(true);
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([studio.url]);
  });

  test('as what an address names: runs, cells, agents, conversations and texts to find', async () => {
    const studio = await openHostile();
    const context = await newContext();
    await context.addInitScript(watchForScripts);
    const { page, complaints, origins } = await openTabIn(context, studio.link(operatorToken, '/chat?agent=lead'));
    const names = [
      'run',
      'cell',
      'crossing',
      'find',
      'with',
      'agent',
      'conversation',
      'message',
      'question',
      'pane',
      'part',
    ];
    for (const [at, payload] of xssPayloads.slice(0, 200).entries()) {
      const query = new URLSearchParams([
        [names[at % names.length]!, payload],
        ['run', payload],
      ]);
      const hash = `#/${['chat', 'runs', 'agents'][at % 3]}?${query.toString()}`;
      await page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
    }
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))');
    await check(page, 'addresses');
    // Runs that do not exist are not found; nothing else is complained of.
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
    expect([...origins]).toEqual([studio.url]);
  });
});
