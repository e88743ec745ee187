// `cloister show <run> --html <file>`: one file, readable offline.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { browserMissing, newContext, openTabIn } from './browser.ts';
import { foreignElements, watchForScripts } from './in-page.ts';
import { chatOf, runPane, turnOf, until, xrayOf } from './page-driver.ts';
import { xssPayloads } from './xss-payloads.ts';

const command = fileURLToPath(new URL('../../bin/cloister.js', import.meta.url));

/** Writes the run with the command itself. */
const writePage = async (workspace: string, run: string): Promise<string> => {
  const file = join(workspace, '..', `${run}.html`);
  const args = ['--conditions=cloister-source', command, 'show', run, '--html', file, '--workspace', workspace];
  await promisify(execFile)(process.execPath, args);
  return file;
};

/** From the disk, with a browser that has no network. */
const openOffline = async (file: string) => {
  const context = await newContext();
  await context.setOffline(true);
  await context.addInitScript(watchForScripts);
  return openTabIn(context, pathToFileURL(file).href);
};

/** What the file itself is made of: its policy, styles, the run and the script. */
const own = ['meta http-equiv=content-security-policy', 'style', 'inline script', 'inline script'];

const check = async (page: Page, where: string): Promise<void> => {
  expect(await page.evaluate<readonly string[]>('seen'), where).toEqual([]);
  expect(await page.evaluate<readonly string[]>(foreignElements), where).toEqual(own);
};

describe.skipIf(browserMissing !== null)('a run in a file', () => {
  test('shows chat, rooms, X-ray and everything else without a server', async () => {
    const workspace = join(newTemporaryFolder(), 'workspace');
    const cloister = await openCloister({ workspace, agents: ['examples/research/lead.ai'] });
    const { run, outcome } = cloister.run('lead', 'Should a small team keep its data in SQLite or in DuckDB?');
    expect((await outcome).status).toBe('completed');
    await cloister.close();
    const { page, complaints, origins } = await openOffline(await writePage(workspace, run));
    await turnOf(page).getByText('Use SQLite for records that change').waitFor();
    await chatOf(page).getByText('A copy of one run. Nothing can be started here.').waitFor();
    await page.getByText('4 rooms, 8 crossings, all granted.', { exact: true }).waitFor();
    await xrayOf(page).getByText('0 unattributed').waitFor();
    await turnOf(page)
      .getByRole('button', { name: /^engineer/u })
      .click();
    await turnOf(page).locator('.chat-inner .chat-text').first().waitFor();
    for (const pane of ['Tree', 'Tasks', 'Mail', 'Transcript', 'Windows', 'Summary', 'Audit', 'Rooms']) {
      await page.getByRole('tab', { name: pane }).click();
      await page.getByRole('tabpanel', { name: pane }).waitFor();
      await runPane(page).locator('[aria-busy=true]').waitFor({ state: 'detached' });
      expect(await page.getByRole('alert').count(), pane).toBe(0);
    }
    await page.getByRole('table', { name: 'Crossings' }).getByRole('row').nth(3).click();
    await page.getByText('SHA-256 matches').or(page.getByText('This browser computes hashes only')).first().waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${page.url().split('#')[0]}#/chat?run=${run}&xray`);
    await page.getByText('0 unattributed').waitFor();
    await page.locator('.part', { hasText: 'Goal from you' }).getByRole('button').first().click();
    await page.locator('.trail .stop').first().waitFor();
    expect(await page.getByRole('button', { name: /^(?:Retry|Branch|Fork|Send|Stop)/u }).count()).toBe(0);
    await check(page, 'the file');
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([]);
  });

  test('shows pictures that came with a message, and names its other files', async () => {
    const workspace = join(newTemporaryFolder(), 'workspace');
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
    const models = [{ language: rehearse([{ reply: 'Seen.' }]), attachments: ['*/*'] }];
    const lead = defineAgent({ name: 'lead', description: 'Looks.', prompt: 'Look.', models });
    const cloister = await openCloister({ workspace, agents: [lead] });
    const attachments = [
      { mediaType: 'image/png', name: 'dot.png', data: Buffer.from(png, 'base64') },
      { mediaType: 'application/pdf', name: 'paper.pdf', data: Buffer.from('%PDF-1.7') },
    ];
    const { run, outcome } = cloister.run('lead', 'Look at this.', { attachments });
    expect((await outcome).status).toBe('completed');
    await cloister.close();
    const { page, complaints, origins } = await openOffline(await writePage(workspace, run));
    const picture = chatOf(page).getByRole('img', { name: 'dot.png' });
    await picture.waitFor();
    await until(page, `document.querySelector('img[alt="dot.png"]').naturalWidth === 1`);
    await chatOf(page).getByText('paper.pdf').waitFor();
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([]);
  });

  test('holds hostile texts, which stay text', async () => {
    const workspace = join(newTemporaryFolder(), 'workspace');
    const model = rehearse([
      {
        when: { turn: 1 },
        reply: () => ({ pieces: [xssPayloads.slice(0, 300).join('\n\n')], calls: [{ tool: 'look' }] }),
      },
      { reply: () => ({ pieces: [xssPayloads.slice(300, 600).join('\n\n')] }) },
    ]);
    const lead = defineAgent({
      name: 'lead',
      description: 'Answers.',
      prompt: 'Answer.',
      output: { format: 'markdown' },
      models: [{ language: model, contextTokens: 1_000_000 }],
      tools: [
        {
          name: 'look',
          description: 'Looks.',
          inputSchema: { type: 'object', properties: {} },
          execute: () => `${xssPayloads.slice(600).join('\n\n')}</script><!--<script>`,
        },
      ],
    });
    const cloister = await openCloister({ workspace, agents: [lead] });
    const { run, outcome } = cloister.run('lead', '</script><script>pwned()</script><!-- <img src=x onerror=pwned()>');
    await outcome;
    await cloister.close();
    const file = await writePage(workspace, run);
    // The run cannot end the element that holds it.
    expect(readFileSync(file, 'utf8').match(/<script/giu)).toHaveLength(2);
    const { page, complaints, origins } = await openOffline(file);
    await turnOf(page).getByText('pwned()').first().waitFor();
    await check(page, 'the chat');
    for (const pane of ['Transcript', 'Windows', 'Summary', 'Audit', 'Rooms']) {
      await page.getByRole('tab', { name: pane }).click();
      await page.getByRole('tabpanel', { name: pane }).waitFor();
      await runPane(page).locator('[aria-busy=true]').waitFor({ state: 'detached' });
      await check(page, pane);
    }
    await until(page, 'document.readyState === "complete"');
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([]);
  });
});
