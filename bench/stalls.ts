// The longest piece of work that keeps the event loop to itself, for inputs of 10 MB on every way in.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import type { Benchmark, Line } from './benchmark.ts';
import { megabytes, modelOf, scenarios } from './large-inputs.ts';
import type { Scenario } from './large-inputs.ts';
import { longestPieceMs } from './longest-piece.ts';

const readers: Readonly<Record<string, (cloister: Cloister, run: string) => Promise<unknown>>> = {
  show: (cloister, run) => cloister.show(run),
  audit: (cloister, run) => cloister.audit(run),
  explain: async (cloister, run) =>
    cloister.explain(run, (await cloister.show(run)).cells[0]!.cell, { find: 'third stone' }),
  diff: (cloister, run) => cloister.diff(run, run),
  replay: (cloister, run) => cloister.replay(run),
};

const measure = async ({ what, agents, replies }: Scenario): Promise<readonly Line[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-bench-stalls-'));
  try {
    await using cloister = await openCloister({
      agents: agents(folder),
      models: [modelOf(replies)],
      workspace: join(folder, '.cloister'),
      cwd: folder,
      env: { BENCH_TOKEN: 'k3J9-xQ72-vLm4-ZbT8-wPq5' },
    });
    const { run, outcome } = cloister.run(cloister.agents[0]!.name, 'Go.');
    const lines = [
      toLine(
        `${what}: run`,
        await longestPieceMs(async () => {
          const { status, failure } = await outcome;
          if (status !== 'completed') throw new Error(`${what}: ${status} ${JSON.stringify(failure)}`);
        }),
      ),
    ];
    for (const [name, read] of Object.entries(readers)) {
      const ms = await longestPieceMs(async () => void (await read(cloister, run)));
      lines.push(toLine(`${what}: ${name}`, ms));
    }
    return lines;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const toLine = (what: string, ms: number): Line => ({
  what,
  unit: 'ms',
  raw: null,
  cloister: ms,
  figure: ms,
  figureUnit: 'ms',
  target: { atMost: 100 },
});

/** Shorter pieces are not worth a line. */
const shownMs = 20;

export const stallsBenchmark: Benchmark = {
  name: 'stalls',
  about: `CPU of the longest piece of work in one turn of the event loop, with inputs of ${megabytes} MB`,
  async run() {
    const lines: Line[] = [];
    for (const scenario of scenarios) lines.push(...(await measure(scenario)).filter(({ figure }) => figure > shownMs));
    return lines;
  },
};
