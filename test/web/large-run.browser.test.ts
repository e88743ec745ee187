// A run of 500 MB: neither the page nor the server holds all of it.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defineAgent, defineTool } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { browserMissing, openStudio, openTab, operatorToken } from './browser.ts';
import { xrayOf } from './page-driver.ts';

const [turns, calls, megabyte] = [53, 10, 1_000_000];
const line = 'A line of notes that says something, and nothing twice.\n';

const openLarge = async () => {
  let outputs = 0;
  const dump = defineTool({
    name: 'dump',
    description: 'Dumps.',
    inputSchema: { type: 'object', properties: {} },
    execute: () => `Output ${++outputs}\n${line.repeat(17_000)}`,
  });
  const all = Array.from({ length: calls }, () => ({ tool: 'dump', args: {} }));
  const model = rehearse([{ when: ({ turn }) => turn <= turns, reply: { calls: all } }, { reply: 'Done.' }]);
  const busy = defineAgent({
    name: 'busy',
    description: 'Busy.',
    prompt: 'Work.',
    models: [{ language: model, contextTokens: 200_000 }],
    tools: [dump],
    limits: { maxToolTurns: turns + 5, maxToolCallsPerTurn: calls },
  });
  const workspace = newTemporaryFolder();
  const studio = await openStudio({ agents: [busy], workspace });
  const { run, status } = await studio.cloister.run('busy', 'Go.').outcome;
  expect(status).toBe('completed');
  expect(statSync(join(workspace, 'cloister.db')).size).toBeGreaterThan(500 * megabyte);
  return { ...studio, run };
};

/** What the process holds at most until it is asked. */
const followMemory = (): (() => number) => {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 50);
  return () => {
    clearInterval(timer);
    return (most - before) / megabyte;
  };
};

test.skipIf(browserMissing !== null)('a run of 500 MB is shown in all its views', async () => {
  const { link, run, url } = await openLarge();
  const grown = followMemory();
  const { page, complaints } = await openTab(link(operatorToken, `/chat?run=${run}`));
  let largest = 0;
  page.on('response', (response) => {
    void response.body().then(
      ({ length }) => (largest = Math.max(largest, length)),
      () => undefined,
    );
  });
  await page.getByText('1 room, 2 crossings, all granted.', { exact: true }).waitFor();
  await page.getByText(/^\d+ earlier calls$/u).waitFor();
  await xrayOf(page).getByText('0 unattributed').waitFor();
  for (const [pane, words] of [
    ['transcript', 'prompt 1'],
    ['windows', /of 200,000 tokens/u],
    ['summary', 'Models'],
    ['audit', 'Everything that is recorded holds.'],
  ] as const) {
    await page.goto(`${url}/#/chat?run=${run}&pane=${pane}`);
    await page.getByText(words).first().waitFor();
  }
  await page.waitForLoadState('networkidle');
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const memory = grown();
  console.log(
    `the page holds ${(usedSize / megabyte).toFixed(0)} MB, the largest reply has ${(largest / megabyte).toFixed(1)} MB, the server has grown by ${memory.toFixed(0)} MB`,
  );
  expect(usedSize).toBeLessThan(100 * megabyte);
  expect(largest).toBeLessThan(16 * megabyte);
  expect(memory).toBeLessThan(400);
  expect(complaints).toEqual([]);
});
