// `useChat` of the AI SDK, in a page of another origin, in a real browser.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { rolldown } from 'rolldown';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Sees } from '#contracts';
import { gatedAgent } from '../app/serve/gated-agent.ts';
import { cleanUpAfter } from '../cleanup.ts';
import { eventually, team } from '../headends/ag-ui/driver.ts';
import { browserMissing, openStudio, openTab } from './browser.ts';
import type { StudioOptions } from './browser.ts';

let script = '';

beforeAll(async () => {
  if (browserMissing !== null) return console.warn(`useChat is not tried in a browser: ${browserMissing}`);
  const bundle = await rolldown({
    input: 'test/web/pages/use-chat.mjs',
    platform: 'browser',
    onLog: () => undefined,
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  });
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
  script = output[0].code;
  await bundle.close();
});

/** A server of nothing but the page. */
const servePage = async (): Promise<string> => {
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript
        ? script
        : '<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/page.js"></script>',
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  cleanUpAfter('test', () => new Promise<void>((resolve) => void server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const openChat = async (
  agents: StudioOptions['agents'],
  { sees = 'contents', more = '' }: { readonly sees?: Sees; readonly more?: string } = {},
) => {
  const origin = await servePage();
  const served = await openStudio({
    agents,
    origins: [origin],
    tokens: { ann: { name: 'ann', sees }, ben: { name: 'ben' } },
  });
  const link = (token: string, options = more): string =>
    `${origin}/#${new URLSearchParams({ api: `${served.url}/ui/lead`, token }).toString()}${options}`;
  const tab = await openTab(link('ann'));
  const say = async (text: string): Promise<void> => {
    await tab.page.getByLabel('Message').fill(text);
    await tab.page.keyboard.press('Enter');
  };
  const ready = () => tab.page.locator('#status', { hasText: 'ready' }).waitFor();
  return { ...served, ...tab, link, say, ready };
};

describe.skipIf(browserMissing !== null)('useChat in a browser', () => {
  test('shows text, a sub-agent inside its call, and a message that is written again', async () => {
    const { page, say, ready, complaints, cloister } = await openChat(team().agents);
    await say('go');
    await page.getByText('Done after 1.').waitFor();
    const call = page.locator('main > .assistant > .tool');
    expect(await call.locator('> b').textContent()).toBe('helper');
    expect(await call.locator('.assistant p').allTextContents()).toEqual(['I look.', 'helped: seen']);
    expect(await call.locator('.assistant .tool b').allTextContents()).toEqual(['look']);
    await ready();
    await page.getByRole('button', { name: 'Again' }).click();
    await eventually(async () => expect(await cloister.runs()).toHaveLength(2));
    await ready();
    expect(await page.locator('main > .assistant').count()).toBe(1);
    await page.getByText('Done after 1.').waitFor();
    expect(await cloister.runs()).toHaveLength(2);
    expect(complaints).toEqual([]);
  });

  test('asks before a sub-agent’s call, and continues the same message with the answer', async () => {
    const made = team();
    const { page, say, ready, complaints, cloister } = await openChat(made.agents);
    await say('send');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    expect(await page.locator('.tool[data-state="approval-requested"] > b').textContent()).toBe('lead › helper: send');
    expect(made.sent).toEqual([]);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Done after 1.').waitFor();
    await ready();
    expect(made.sent).toEqual(['x']);
    expect(await page.locator('main > .assistant > p').allTextContents()).toEqual(['I ask.', 'Done after 1.']);
    await say('own send');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.locator('.tool[data-state="output-denied"]').waitFor();
    await page.getByText('Done after 1.').nth(1).waitFor();
    expect(made.sent).toEqual(['x']);
    expect(await cloister.runs()).toHaveLength(2);
    expect(complaints).toEqual([]);
  });

  test('stops a run', async () => {
    const { agent, gate } = gatedAgent('lead');
    const { page, say, ready, cloister } = await openChat([agent]);
    await say('go');
    await gate.arrived(1);
    await page.getByRole('button', { name: 'Stop' }).click();
    await ready();
    await eventually(async () => expect((await cloister.runs())[0]!.status).toBe('cancelled'));
  });

  test('resumes a run after a reload; somebody else finds nothing', async () => {
    const { agent, gate } = gatedAgent('lead');
    const { page, say, link, cloister } = await openChat([agent], { more: '&resumable=1&resume=1' });
    await say('go');
    await gate.arrived(1);
    await page.reload();
    await page.locator('#status', { hasText: /submitted|streaming/u }).waitFor();
    const other = await openTab(link('ben', '&resume=1'));
    await other.page.locator('#status', { hasText: 'ready' }).waitFor();
    gate.open();
    await page.getByText('Done: go').waitFor();
    expect(await page.locator('main > .assistant > p').allTextContents()).toEqual(['Done: go']);
    expect(await other.page.locator('main > .assistant').count()).toBe(0);
    expect((await cloister.runs()).map(({ status }) => status)).toEqual(['completed']);
  });

  test('says in words what went wrong', async () => {
    const model = rehearse([{ reply: { text: 'Half an ans', fault: 'cut' } }]);
    const lead = defineAgent({
      name: 'lead',
      description: 'd',
      prompt: 'p',
      models: [model],
      limits: { maxRetries: 0 },
    });
    const { page, say } = await openChat([lead]);
    await say('go');
    expect(await page.getByRole('alert').textContent()).toBe(
      "The model's response stream ended early.\nlead: model rehearsal/rehearsal failed: The model's response stream ended early. terminated\nRetry; if it keeps happening, check the connection.",
    );
  });
});
