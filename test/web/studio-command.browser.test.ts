// `cloister studio`: prints a link that opens the page.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { browserMissing, openTab } from './browser.ts';
import { askIn, standsAs, turnOf } from './page-driver.ts';

const inRepo = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The link that it prints. */
const startStudio = async (...paths: readonly string[]): Promise<string> => {
  const args = [inRepo('bin/cloister.js'), 'studio', '--no-open', '--json', '--port', '0', ...paths];
  const child = spawn(process.execPath, args, { cwd: newTemporaryFolder(), stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    const { link } = JSON.parse(line) as { readonly link?: string };
    if (link !== undefined) return link;
  }
  throw new Error('It has ended without a link.');
};

describe.skipIf(browserMissing !== null)('cloister studio', () => {
  test('chats with the agents that it is given', async () => {
    const { page, complaints, origins } = await openTab(await startStudio(inRepo('examples/research/lead.ai')));
    await page.getByRole('button', { name: 'Chat with lead' }).click();
    await askIn(page, 'Should a small team keep its data in SQLite or in DuckDB?');
    await standsAs(page, 'Completed in');
    await turnOf(page).getByText('Use SQLite for records that change').waitFor();
    expect(complaints).toEqual([]);
    expect(origins.size).toBe(1);
  });

  test('looks only, without agents', async () => {
    const { page, complaints } = await openTab(await startStudio());
    await page.getByText('Looking only.').first().waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
