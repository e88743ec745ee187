// Several processes that write to one workspace at once.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark } from './benchmark.ts';
import { median } from './measure.ts';

const together = 3;
const crowd = 100;
const rounds = 3;
const seconds = 4;

export const severalProcessesBenchmark: Benchmark = {
  name: 'several-processes',
  about: `${together} processes that write to one workspace, compared with one; and ${crowd} at once`,
  async run() {
    const pairs: { one: Sample; three: Sample }[] = [];
    for (let round = 0; round < rounds; round++)
      pairs.push({ one: await inFolder(1, seconds), three: await inFolder(together, seconds) });
    const many = await inFolder(crowd, 2 * seconds);
    return [
      {
        what: `steps per second of ${together} processes, raw = of one`,
        unit: '/s',
        raw: median(pairs.map(({ one }) => one.perSecond)),
        cloister: median(pairs.map(({ three }) => three.perSecond)),
        figure: median(pairs.map(({ one, three }) => three.perSecond / one.perSecond)),
        figureUnit: '×',
        target: { atLeast: 0.8 },
      },
      {
        what: 'CPU of a step, raw = of one process',
        unit: 'µs',
        raw: median(pairs.map(({ one }) => one.cpuUs)),
        cloister: median(pairs.map(({ three }) => three.cpuUs)),
        figure: median(pairs.map(({ one, three }) => three.cpuUs / one.cpuUs)),
        figureUnit: '×',
        target: null,
      },
      {
        what: `steps of the slowest of ${together} processes, raw = of the fastest`,
        unit: '',
        raw: median(pairs.map(({ three }) => three.most)),
        cloister: median(pairs.map(({ three }) => three.fewest)),
        figure: median(pairs.map(({ three }) => three.fewest / three.most)),
        figureUnit: '×',
        target: null,
      },
      {
        what: 'longest wait for a commit of these, raw = of one process',
        unit: 'ms',
        raw: median(pairs.map(({ one }) => one.longestMs)),
        cloister: median(pairs.map(({ three }) => three.longestMs)),
        figure: median(pairs.map(({ three }) => three.longestMs)),
        figureUnit: 'ms',
        target: null,
      },
      {
        what: `processes of ${crowd} that failed`,
        unit: '',
        raw: null,
        cloister: many.failed,
        figure: many.failed,
        figureUnit: '',
        target: { atMost: 0 },
        ...(many.reasons.length === 0 ? {} : { note: many.reasons.join('; ') }),
      },
      {
        what: `longest wait for a commit of ${crowd} processes`,
        unit: 'ms',
        raw: null,
        cloister: many.longestMs,
        figure: many.longestMs,
        figureUnit: 'ms',
        target: null,
      },
      {
        what: `steps of the slowest of ${crowd} processes, raw = of the fastest`,
        unit: '',
        raw: many.most,
        cloister: many.fewest,
        figure: many.fewest / many.most,
        figureUnit: '×',
        target: null,
      },
    ];
  },
};

type Sample = {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly fewest: number;
  readonly most: number;
  readonly longestMs: number;
  readonly failed: number;
  readonly reasons: readonly string[];
};

type Told = { readonly steps: number; readonly cpuMs: number; readonly longestMs: number };

const inFolder = async (processes: number, forSeconds: number): Promise<Sample> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-several-'));
  try {
    const writers = Array.from({ length: processes }, () => startWriter(workspace, forSeconds));
    const opened = await Promise.all(writers.map((one) => one.ready));
    for (const { begin } of writers) begin();
    const told = await Promise.all(writers.map(({ done }) => done));
    const ended = told.flatMap((one) => (typeof one === 'string' ? [] : [one]));
    const reasons = [...opened, ...told].flatMap((one) => (typeof one === 'string' ? [one] : []));
    const steps = ended.map((one) => one.steps);
    const all = steps.reduce((sum, one) => sum + one, 0);
    return {
      perSecond: all / forSeconds,
      cpuUs: (1_000 * ended.reduce((sum, { cpuMs }) => sum + cpuMs, 0)) / all,
      fewest: Math.min(...steps),
      most: Math.max(...steps),
      longestMs: Math.max(...ended.map(({ longestMs }) => longestMs)),
      failed: processes - ended.length,
      reasons: [...new Set(reasons)],
    };
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
};

/** Each opens its store first, so that only writing is measured. */
const startWriter = (workspace: string, forSeconds: number) => {
  const path = new URL('several-processes-writer.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--conditions=cloister-source', path, workspace, String(forSeconds)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const [ready, done] = [Promise.withResolvers<string | null>(), Promise.withResolvers<Told | string>()];
  let [text, errors] = ['', ''];
  child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()));
  child.stdout.on('data', (piece: Buffer) => {
    text += piece.toString();
    if (text.startsWith('ready\n')) ready.resolve(null);
  });
  child.on('close', () => {
    ready.resolve(errors);
    const last = text.trimEnd().split('\n').at(-1) ?? '';
    done.resolve(last.startsWith('{') ? (JSON.parse(last) as Told) : errors.slice(-500));
  });
  return { ready: ready.promise, done: done.promise, begin: () => void child.stdin.end('begin\n') };
};
