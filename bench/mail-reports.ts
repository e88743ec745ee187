// Reports about the messages of a run with many of them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { Benchmark, Line } from './benchmark.ts';
import { longestPieceMs } from './longest-piece.ts';
import { sendThroughLedger } from './mail.ts';
import { threadMs } from './measure.ts';

const [few, many] = [33_000, 331_000];

const reports: Readonly<Record<string, (cloister: Cloister, run: string) => Promise<unknown>>> = {
  mail: (cloister, run) => cloister.mail(run),
  'dead letters': (cloister, run) => cloister.deadLetters({ run }),
  tasks: (cloister, run) => cloister.tasks(run),
};

export const mailReportsBenchmark: Benchmark = {
  name: 'mail-reports',
  about: `reports of a run with ${many.toLocaleString('en')} messages, compared with one with ${few.toLocaleString('en')}`,
  async run() {
    const small = await measure(few);
    const large = await measure(many);
    return Object.keys(reports).flatMap((what): readonly Line[] => [
      {
        what: `${what}: time for each message`,
        unit: 'µs',
        raw: small[what]!.us,
        cloister: large[what]!.us,
        figure: large[what]!.us / small[what]!.us,
        figureUnit: '×',
        target: { atMost: 1.5 },
      },
      {
        what: `${what}: longest piece of work`,
        unit: 'ms',
        raw: small[what]!.pieceMs,
        cloister: large[what]!.pieceMs,
        figure: large[what]!.pieceMs,
        figureUnit: 'ms',
        target: { atMost: 100 },
      },
    ]);
  },
};

type Sample = { readonly us: number; readonly pieceMs: number };

const measure = async (messages: number): Promise<Readonly<Record<string, Sample>>> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-mail-reports-'));
  try {
    const run = await writeLog(workspace, messages);
    await using cloister = await openCloister({ workspace, agents: [] });
    const samples: Record<string, Sample> = {};
    for (const [what, read] of Object.entries(reports))
      samples[what] = await sample(() => read(cloister, run), messages);
    return samples;
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
};

const sample = async (read: () => Promise<unknown>, messages: number): Promise<Sample> => {
  const work = async (): Promise<void> => void (await read());
  const ms = await threadMs(work);
  return { us: (1_000 * ms) / messages, pieceMs: await longestPieceMs(work) };
};

const writeLog = async (workspace: string, messages: number): Promise<RunId> => {
  const store = await openSqliteStore(workspace);
  const run = 'be4c40000001' as RunId;
  const log = await store.acquireRun(run);
  await sendThroughLedger('x'.repeat(20), messages, log);
  await log.close();
  await store.close();
  return run;
};
