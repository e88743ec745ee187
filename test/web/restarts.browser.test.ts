// A run that is watched goes on, whatever happens to the page or the server: nothing is lost, nothing is doubled.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, hashToken, openCloister } from 'cloister';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { browserMissing, openStudio, openTab, openTabIn, operatorToken } from './browser.ts';
import { halves, heldModel } from './held-model.ts';
import { askIn, chatOf, shownRun, standsAs, turnOf } from './page-driver.ts';

const openHeld = async () => {
  const model = heldModel([
    {
      when: { agent: 'lead', turn: 1 },
      reply: { text: 'I ask.', calls: [{ tool: 'clerk', args: { prompt: 'Which?' } }] },
    },
    { when: { agent: 'clerk' }, reply: 'Monday.' },
    { reply: halves('The clerk ', 'says Monday.') },
  ]);
  const clerk = defineAgent({ name: 'clerk', description: 'Knows days.', prompt: 'Answer.', models: [model] });
  const lead = defineAgent({ name: 'lead', description: 'Answers.', prompt: 'Ask.', models: [model], agents: [clerk] });
  const studio = await openStudio({ agents: [lead] });
  const tab = await openTab(studio.link(operatorToken, '/chat?agent=lead'));
  return { ...studio, ...tab, model };
};

const textsIn = (page: Page): Promise<readonly string[]> => turnOf(page).locator('.chat-text').allInnerTexts();
const wholeAnswer = ['I ask.', 'The clerk says Monday.'];

/** A doubled event would be a crossing more. */
const hasFourCrossings = (page: Page): Promise<void> =>
  page.getByText('2 rooms, 4 crossings, all granted.', { exact: true }).waitFor();

const startServer = async (
  folder: string,
  port: number,
  token = operatorToken,
): Promise<{ readonly url: string; readonly child: ChildProcess }> => {
  const file = fileURLToPath(new URL('server-process.ts', import.meta.url));
  const args = [folder, String(port), hashToken(token)];
  const child = fork(file, args, { execArgv: ['--conditions=cloister-source'], stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [url] = (await once(child, 'message')) as [string];
  return { url: url.replace(/\/$/u, ''), child };
};

const kill = async (child: ChildProcess): Promise<void> => {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
};

describe.skipIf(browserMissing !== null)('a run that is watched', () => {
  test('is shown whole, and once, after a reload in the middle of it', async () => {
    const { page, model, cloister, complaints } = await openHeld();
    await askIn(page, 'When?');
    await turnOf(page).getByText('The clerk', { exact: true }).waitFor();
    await page.reload();
    await turnOf(page).getByText('The clerk', { exact: true }).waitFor();
    await page.reload();
    await turnOf(page).getByText('The clerk', { exact: true }).waitFor();
    expect(
      await turnOf(page)
        .getByRole('button', { name: /^clerk/u })
        .count(),
    ).toBe(1);
    model.gate.open();
    await standsAs(page, 'Completed in');
    await turnOf(page).getByText(wholeAnswer[1]!, { exact: true }).waitFor();
    expect(await textsIn(page)).toEqual(wholeAnswer);
    expect(await chatOf(page).locator('.person-message').count()).toBe(1);
    const runs = await cloister.runs();
    expect(runs).toHaveLength(1);
    await hasFourCrossings(page);
    expect(model.askers).toEqual(['lead', 'clerk', 'lead']);
    expect(complaints).toEqual([]);
  });

  test('shows the same in two tabs', async () => {
    const { page, model } = await openHeld();
    await askIn(page, 'When?');
    await turnOf(page).getByText('The clerk', { exact: true }).waitFor();
    const other = await openTabIn(page.context(), page.url());
    // Each tab has its own token: the second one is asked for it.
    await other.page.getByLabel('Token').fill(operatorToken);
    await other.page.getByRole('button', { name: 'Open' }).click();
    await turnOf(other.page).getByText('I ask.').waitFor();
    model.gate.open();
    for (const shown of [page, other.page]) {
      await turnOf(shown).getByText(wholeAnswer[1]!, { exact: true }).waitFor();
      await standsAs(shown, 'Completed in');
      expect(await textsIn(shown)).toEqual(wholeAnswer);
      await hasFourCrossings(shown);
    }
  });

  test('goes on when the server is killed and started again: the page says so, and nothing is doubled', async () => {
    const folder = newTemporaryFolder();
    const first = await startServer(folder, 0);
    const port = Number(new URL(first.url).port);
    const { page } = await openTab(`${first.url}/#token=${operatorToken}&/chat?agent=lead`);
    await askIn(page, 'When?');
    await turnOf(page).getByText('The clerk', { exact: true }).waitFor();
    const run = shownRun(page);

    await kill(first.child);
    // Once on the page, although chat and rooms stand beside each other.
    const notice = page.getByText(/^The server does not answer\. .* trying again/u).filter({ visible: true });
    await notice.waitFor();
    expect(await turnOf(page).getByText('I ask.').count()).toBe(1);

    const second = await startServer(folder, port);
    await notice.waitFor({ state: 'detached' });
    writeFileSync(join(folder, 'open'), '');
    await standsAs(page, 'Completed in');
    await turnOf(page).getByText(wholeAnswer[1]!, { exact: true }).waitFor();
    expect(await textsIn(page)).toEqual(wholeAnswer);
    expect(shownRun(page)).toBe(run);
    expect(
      await turnOf(page)
        .getByRole('button', { name: /^clerk/u })
        .count(),
    ).toBe(1);
    await hasFourCrossings(page);
    await kill(second.child);

    // The request that was in flight is made again; what had ended is not.
    expect(readFileSync(join(folder, 'askers'), 'utf8').trim().split('\n')).toEqual(['lead', 'clerk', 'lead', 'lead']);
    const cloister = await openCloister({ workspace: join(folder, 'workspace'), agents: [] });
    expect(await cloister.runs()).toMatchObject([{ run, status: 'completed', cells: 2 }]);
    await cloister.close();
  });

  // invariant: outbox-once
  test('starts once although the message was sent while the server was away', async () => {
    const folder = newTemporaryFolder();
    writeFileSync(join(folder, 'open'), '');
    const first = await startServer(folder, 0);
    const { page } = await openTab(`${first.url}/#token=${operatorToken}&/chat?agent=lead`);
    await chatOf(page).getByRole('textbox').first().waitFor();
    await kill(first.child);
    await askIn(page, 'When?');
    await chatOf(page)
      .getByText(/^The server does not answer\. Not sent yet; trying again in/u)
      .waitFor();
    await startServer(folder, Number(new URL(first.url).port));
    await standsAs(page, 'Completed in');
    await turnOf(page).getByText(wholeAnswer[1]!, { exact: true }).waitFor();
    expect(await textsIn(page)).toEqual(wholeAnswer);
    expect(readFileSync(join(folder, 'askers'), 'utf8').trim().split('\n')).toEqual(['lead', 'clerk', 'lead']);
  });

  // invariant: outbox-once
  test('starts once, with its message, although the studio that comes back has another link', async () => {
    const folder = newTemporaryFolder();
    writeFileSync(join(folder, 'open'), '');
    const first = await startServer(folder, 0);
    const { page } = await openTab(`${first.url}/#token=${operatorToken}&/chat?agent=lead`);
    await chatOf(page).getByRole('textbox').first().waitFor();
    await kill(first.child);
    await askIn(page, 'When?');
    const token = 'clo_newer_newer_newer_newer_newer_newer';
    const refused = page.waitForResponse((reply) => reply.request().method() === 'POST' && reply.status() === 401);
    await startServer(folder, Number(new URL(first.url).port), token);
    await refused;
    await page.getByRole('heading', { name: 'This link has expired. Start studio again.' }).waitFor();
    await page.getByText('Or paste a token.').waitFor();
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Open' }).click();
    await standsAs(page, 'Completed in');
    await turnOf(page).getByText(wholeAnswer[1]!, { exact: true }).waitFor();
    expect(await chatOf(page).locator('.person-message').allInnerTexts()).toEqual([expect.stringContaining('When?')]);
    expect(readFileSync(join(folder, 'askers'), 'utf8').trim().split('\n')).toEqual(['lead', 'clerk', 'lead']);
  });
});
