// How long drawing rooms keeps the main thread of a browser.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { build } from 'vite';
import { pageConfig } from '../../web/vite.config.ts';
import { browserMissing, openTab } from './browser.ts';

const bundled = async (): Promise<string> => {
  const { build: _build, ...config } = pageConfig('', false);
  const entry = fileURLToPath(new URL('rooms.page.ts', import.meta.url));
  const lib = { entry, formats: ['iife'] as const, name: 'page' };
  const made = await build({
    ...config,
    build: { write: false, minify: true, lib: { ...lib, formats: [...lib.formats] } },
  });
  const [output] = [made].flat() as { output: { code: string }[] }[];
  return output!.output[0]!.code;
};

/** As `rooms.page.ts` has it. */
type MeasureRooms = (events: number, framesEach: number) => { readonly frames: readonly { readonly p95: number }[] };

const megabyte = 1_000_000;

test.skipIf(browserMissing !== null).each([
  { events: 10_000, frameMs: 8 },
  { events: 100_000, frameMs: 16 },
])('a run of $events events is drawn in $frameMs ms a frame', async ({ events, frameMs }) => {
  const { page, complaints } = await openTab('about:blank');
  await page.addStyleTag({ path: 'web/src/styles/tokens.css' });
  await page.addScriptTag({ content: await bundled() });
  const figures = await page.evaluate(
    ([count, each]) => (globalThis as unknown as { measureRooms: MeasureRooms }).measureRooms(count!, each!),
    [events, 100],
  );
  if (process.env['SHOTS'] !== undefined)
    await page.screenshot({ path: `${process.env['SHOTS']}/rooms-${events}.png` });
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  console.log(JSON.stringify({ events, ...figures, heapMb: Math.round(usedSize / megabyte) }));
  for (const { p95 } of figures.frames) expect(p95).toBeLessThan(frameMs);
  expect(usedSize).toBeLessThan(150 * megabyte);
  expect(complaints).toEqual([]);
});
