// Every view of the page, of runs of the examples: for tests that look at all of them, and for their pictures.
import type { Page } from 'playwright-core';
import type { ExampleName, ExampleRuns } from './examples.ts';
import { chatOf, turnOf } from './page-driver.ts';

export type View = {
  readonly name: string;
  readonly address: (runs: ExampleRuns) => string;
  /** Until it is drawn. */
  readonly ready: (page: Page) => Promise<void>;
  /** What a narrow page shows: one of its three parts. */
  readonly narrow?: 'Rooms' | 'X-ray';
};

export const pageSizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;

const seen =
  (text: string | RegExp): View['ready'] =>
  (page) =>
    page.getByText(text).filter({ visible: true }).first().waitFor();

const heading =
  (name: string): View['ready'] =>
  (page) =>
    page.getByRole('heading', { name }).filter({ visible: true }).first().waitFor();

const pane = (name: string, ready: View['ready'], agent: ExampleName = 'lead'): View => ({
  name,
  address: (runs) => `/chat?run=${runs[agent]}&pane=${name}`,
  ready,
  narrow: 'Rooms',
});

export const views: readonly View[] = [
  {
    name: 'new-chat',
    address: () => '/chat?agent=lead',
    ready: (page) => chatOf(page).getByRole('textbox').first().waitFor(),
  },
  {
    name: 'chat',
    address: (runs) => `/chat?run=${runs.lead}`,
    ready: (page) => turnOf(page).getByText('Use SQLite for records').waitFor(),
  },
  pane('rooms', seen('4 rooms, 8 crossings, all granted.')),
  pane('tree', (page) => page.getByRole('treegrid').waitFor()),
  pane('tasks', seen('Facts on writing'), 'editorial'),
  pane('mail', (page) => page.getByRole('table', { name: 'Messages, oldest first' }).waitFor(), 'game-master'),
  pane('transcript', seen('I will ask three researchers')),
  pane('windows', (page) =>
    page
      .getByRole('img', { name: / tokens$/u })
      .first()
      .waitFor(),
  ),
  pane('summary', heading('Models')),
  pane('audit', seen(/computed again in this browser/u)),
  {
    name: 'selected-request',
    address: (runs) => `/chat?run=${runs.lead}`,
    ready: seen('0 unattributed'),
    narrow: 'X-ray',
  },
  { name: 'xray', address: (runs) => `/chat?run=${runs.lead}&xray&part=7`, ready: seen('0 unattributed') },
  { name: 'what-if', address: (runs) => `/chat?run=${runs.lead}&with=`, ready: heading('What if') },
  {
    name: 'diff',
    address: (runs) => `/chat?run=${runs.lead}&with=${runs.editorial}`,
    ready: (page) => page.getByRole('region', { name: 'What changed' }).waitFor(),
  },
  { name: 'question', address: (runs) => `/chat?run=${runs.desk}`, ready: seen('mailer wants to use mail/send') },
  { name: 'questions', address: () => '/questions', ready: seen('1 question waits') },
  {
    name: 'runs',
    address: () => '/runs',
    ready: (page) => page.getByRole('table', { name: 'Runs, newest first' }).getByRole('link').first().waitFor(),
  },
  {
    name: 'agents',
    address: () => '/agents?agent=lead',
    ready: seen('Answers a question with the help of three researchers.'),
  },
  { name: 'unknown-run', address: () => '/chat?run=r-nowhere', ready: seen('There is no such run in this workspace.') },
];

type Place = { readonly url: string; readonly token: string; readonly runs: ExampleRuns };

/** Opens a view as whoever follows a link to it would. */
export const openView = async (page: Page, view: View, { url, token, runs }: Place): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${url}/#token=${token}&${view.address(runs)}`);
  const isNarrow = (page.viewportSize()?.width ?? 0) <= 700;
  if (isNarrow && view.narrow !== undefined) {
    const bar = page.getByRole('navigation', { name: 'Parts of the page' });
    await bar.getByRole('button', { name: view.narrow }).click();
  }
  await view.ready(page);
};
