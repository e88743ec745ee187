// Pictures of every view of the studio, wide and narrow, light and dark, of runs of the examples:
// `node --conditions=cloister-source tools/studio-pictures.ts <folder> [view…]`. With `docs`, it writes those that docs use, small.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { hashToken, makeToken, openCloister, openServer } from 'cloister';
import { findChromium } from './chromium.ts';
import { shrinkPng } from './small-png.ts';
import { exampleFiles, startExamples } from '../test/web/examples.ts';
import type { ExampleName, ExampleRuns } from '../test/web/examples.ts';
import { openView, pageSizes, views } from '../test/web/views.ts';

/** By the names of their files. */
const docsPictures = [
  { file: 'rooms', view: 'rooms', size: 'wide', theme: 'light' },
  { file: 'rooms-dark', view: 'rooms', size: 'wide', theme: 'dark' },
  { file: 'xray', view: 'xray', size: 'wide', theme: 'light' },
  { file: 'question', view: 'question', size: 'wide', theme: 'light' },
  { file: 'phone', view: 'rooms', size: 'narrow', theme: 'light' },
] as const;

type Picture = {
  readonly file: string;
  readonly view: string;
  readonly size: keyof typeof pageSizes;
  readonly theme: 'light' | 'dark';
};

const allPictures = (wanted: readonly string[]): readonly Picture[] =>
  views
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
    .flatMap(({ name }) =>
      (['wide', 'narrow'] as const).flatMap((size) =>
        (['light', 'dark'] as const).map((theme) => ({
          file: `${name}-${theme}${size === 'narrow' ? '-390' : ''}`,
          view: name,
          size,
          theme,
        })),
      ),
    );

type Place = Parameters<typeof openView>[2];

const takePicture = async (browser: Browser, { view, size, theme }: Picture, place: Place): Promise<Buffer> => {
  const page = await browser.newPage({
    viewport: pageSizes[size],
    colorScheme: theme,
    reducedMotion: 'reduce',
    hasTouch: size === 'narrow',
  });
  try {
    await openView(
      page,
      views.find(({ name }) => name === view)!,
      place,
    );
    await page.waitForLoadState('networkidle');
    return await page.screenshot({ caret: 'hide' });
  } finally {
    await page.close();
  }
};

const openPlace = async (workspace: string) => {
  const cloister = await openCloister({ workspace, agents: Object.values(exampleFiles) });
  const token = makeToken();
  const tokens = [{ name: 'you', sha256: hashToken(token), operator: true }];
  const server = await openServer(cloister, { port: 0, tokens });
  const { url } = await server.listen();
  const close = async (): Promise<void> => {
    await server.stop(0);
    await cloister.close();
  };
  const start = (names: readonly ExampleName[]): Promise<ExampleRuns> => startExamples(cloister, names);
  return { url: url.replace(/\/$/u, ''), token, start, close };
};

const main = async ([target = 'studio-pictures', ...wanted]: readonly string[]): Promise<void> => {
  const found = findChromium();
  if (found.path === null) throw new Error(found.why);
  const [folder, pictures] = target === 'docs' ? ['docs/studio', docsPictures] : [target, allPictures(wanted)];
  mkdirSync(folder, { recursive: true });
  const temporary = mkdtempSync(join(tmpdir(), 'cloister-pictures-'));
  const place = await openPlace(join(temporary, 'workspace'));
  const browser = await chromium.launch({ executablePath: found.path, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    let runs = await place.start(['lead', 'game-master', 'editorial']);
    // A question that waits is announced in every view, so it is asked last.
    const [others, asking] = [false, true].map((asks) =>
      pictures.filter(({ view }) => view.startsWith('question') === asks),
    );
    for (const picture of [...others!, ...asking!]) {
      if (picture === asking![0]) runs = { ...runs, ...(await place.start(['desk'])) };
      const png = await takePicture(browser, picture, { ...place, runs });
      const bytes = target === 'docs' ? shrinkPng(png) : png;
      writeFileSync(join(folder, `${picture.file}.png`), bytes);
      console.log(`${join(folder, picture.file)}.png ${bytes.length}`);
    }
  } finally {
    await browser.close();
    await place.close();
    rmSync(temporary, { recursive: true, force: true });
  }
};

await main(process.argv.slice(2));
