// A studio on a real server, in a real browser.
import { rmSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { hashToken, openCloister, openServer } from 'cloister';
import type { Agent, Cloister, ServerOptions } from 'cloister';
import { findChromium } from '../../tools/chromium.ts';
import { cleanUpAfter } from '../cleanup.ts';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';

const found = findChromium();

/** Why browser tests are skipped; null: they run. In CI a missing browser is a failure. */
export const browserMissing: string | null = found.path === null ? found.why : null;
if (browserMissing !== null && process.env['CI'] === 'true') throw new Error(browserMissing);

/** Nothing of these speaks with anybody but the pages' own servers. */
const quiet = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let browser: Promise<Browser> | undefined;
cleanUpAfter('file', async () => {
  await (await browser)?.close();
  browser = undefined;
});

const contexts = new Set<BrowserContext>();

/** `WEB_SHOTS`: a folder for pictures of what each test saw last, for those who write tests. */
const closeContexts = async (): Promise<void> => {
  const { WEB_SHOTS: shots } = process.env;
  for (const context of contexts) {
    const name = expect.getState().currentTestName?.replaceAll(/\W+/gu, '-');
    if (shots !== undefined)
      for (const [at, page] of context.pages().entries())
        await page.screenshot({ path: `${shots}/${name}${at === 0 ? '' : `-${at}`}.png` }).catch(() => undefined);
    await context.close();
  }
  contexts.clear();
};

// Pages go before their servers.
cleanUpAfter('test', closeContexts);

const openBrowser = (): Promise<Browser> =>
  (browser ??= chromium.launch({ executablePath: found.path ?? '', args: quiet }));

export type Tab = {
  readonly page: Page;
  /** Errors of scripts, refused loads and messages of the console: none is expected. */
  readonly complaints: readonly string[];
  /** The origins of all requests. */
  readonly origins: ReadonlySet<string>;
};

export type TabOptions = Pick<
  NonNullable<Parameters<Browser['newContext']>[0]>,
  'viewport' | 'colorScheme' | 'reducedMotion' | 'hasTouch' | 'permissions'
>;

/** `WEB_WAIT_MS`: shorter, for those who write tests. */
export const slowMs = Number(process.env['WEB_WAIT_MS'] ?? 120_000);
const wide = { width: 1280, height: 800 };

/** A tab of its own, with nothing of other tabs. */
export const openTab = async (url: string, options: TabOptions = {}): Promise<Tab> => {
  const context = await newContext(options);
  return openTabIn(context, url);
};

export const newContext = async (options: TabOptions = {}): Promise<BrowserContext> => {
  const context = await (await openBrowser()).newContext({ viewport: wide, ...options });
  contexts.add(context);
  return context;
};

export const openTabIn = async (context: BrowserContext, url: string): Promise<Tab> => {
  const page = await context.newPage();
  // A busy machine is slow, not wrong.
  page.setDefaultTimeout(slowMs);
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => complaints.push(String(error.stack)));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (/^https?:/u.test(request.url())) origins.add(new URL(request.url()).origin);
  });
  await page.goto(url);
  return { page, complaints, origins };
};

export type Studio = {
  readonly cloister: Cloister;
  readonly url: string;
  /** Opens the page for whoever has this token. */
  readonly link: (token: string, address?: string) => string;
  /** Stops the server; runs go on where they can. */
  readonly stop: () => Promise<void>;
};

export type StudioOptions = Omit<ServerOptions, 'tokens' | 'agents'> & {
  readonly agents: readonly (Agent | string)[];
  readonly workspace?: string;
  readonly tokens?: Readonly<Record<string, Partial<NonNullable<ServerOptions['tokens']>[number]>>>;
};

/** The token of the operator. */
export const operatorToken = 'clo_operator_operator_operator_operator';

/** `tokens`: by the token itself; default: one of the operator. */
export const openStudio = async ({ agents, workspace, tokens, ...options }: StudioOptions): Promise<Studio> => {
  const folder = workspace ?? newTemporaryFolder();
  const cloister = await openCloister({ agents: [...agents], workspace: folder });
  const entries = Object.entries(tokens ?? { [operatorToken]: { name: 'boss', operator: true } });
  const server = await openServer(cloister, {
    port: 0,
    ...options,
    agents: cloister.agents.map(({ name }) => name),
    tokens: entries.map(([token, entry]) => ({ name: 'one', sha256: hashToken(token), ...entry })),
  });
  const { url } = await server.listen();
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await server.stop(0);
    await cloister.close();
  };
  cleanUpAfter('test', async () => {
    await stop();
    if (workspace === undefined) rmSync(folder, { recursive: true, force: true });
  });
  const origin = url.replace(/\/$/u, '');
  return { cloister, url: origin, link: (token, address = '/chat') => `${origin}/#token=${token}&${address}`, stop };
};
