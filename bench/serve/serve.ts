// An agent server against a bare hono server that answers with the same bytes, each in its own process.
import type { Benchmark, Line } from '../benchmark.ts';
import { median } from '../measure.ts';
import { sendRequests, checkStalled, openStalledReaders, readStreams } from './load.ts';
import type { LoadResult } from './load.ts';
import { startServer } from './running-server.ts';
import type { RunningServer } from './running-server.ts';

/** Requests get cheaper over the first rounds, while the engine still optimises. */
const [connections, perRound, warmUps, rounds] = [64, 4_000, 6, 11];
const streams = 1_000;
const many = 100_000;
const MiB = 1024 * 1024;

export const serveBenchmark: Benchmark = {
  name: 'serve',
  about: `requests/s against bare hono, ${streams} streams for 60 s, ${streams} stalled readers, heap over ${many} requests`,
  run: async () => [
    ...(await measureThroughput()),
    ...(await measureStreams()),
    await measureStalled(),
    await measureHeapGrowth(),
  ],
};

type Round = { readonly perSecond: number; readonly cpuMs: number };

const sendChecked = async (server: RunningServer, count: number): Promise<LoadResult> => {
  const load = await sendRequests(server, connections, count);
  if (load.errors > 0) throw new Error(`${load.errors} of ${load.requests} requests failed.`);
  return load;
};

const measureRound = async (server: RunningServer): Promise<Round> => {
  const before = await server.usage();
  const { requests, seconds } = await sendChecked(server, perRound);
  const after = await server.usage();
  return { perSecond: requests / seconds, cpuMs: (after.cpuMs - before.cpuMs) / requests };
};

const measureThroughput = async (): Promise<readonly Line[]> => {
  const [bare, ours] = await Promise.all([startServer('bare-hono.ts'), startServer('cloister-server.ts')]);
  const [raws, cloisters]: [Round[], Round[]] = [[], []];
  for (let turn = -warmUps; turn < rounds; turn++) {
    const [raw, cloister] = [await measureRound(bare), await measureRound(ours)];
    if (turn < 0) continue;
    raws.push(raw);
    cloisters.push(cloister);
  }
  await Promise.all([bare.stop(), ours.stop()]);
  const share = (of: (one: Round) => number): number =>
    median(cloisters.map((one, turn) => (of(one) / of(raws[turn]!)) * 100));
  return [
    {
      what: `requests/s, ${connections} connections, instant model, with a token`,
      unit: '/s',
      raw: median(raws.map((one) => one.perSecond)),
      cloister: median(cloisters.map((one) => one.perSecond)),
      figure: share((one) => one.perSecond),
      figureUnit: '%',
      target: { atLeast: 50 },
    },
    {
      what: 'server CPU per request',
      unit: 'ms',
      raw: median(raws.map((one) => one.cpuMs)),
      cloister: median(cloisters.map((one) => one.cpuMs)),
      figure: share((one) => one.cpuMs) / 100,
      figureUnit: '×',
      target: null,
    },
  ];
};

const measureStreams = async (): Promise<readonly Line[]> => {
  const server = await startServer('cloister-server.ts');
  let rssMax = 0;
  const watching = setInterval(() => void server.usage().then(({ rss }) => (rssMax = Math.max(rssMax, rss))), 2_000);
  const { ended, errors } = await readStreams(server, '/v1/dripping', streams);
  clearInterval(watching);
  await server.stop();
  if (rssMax === 0) throw new Error('No memory was measured while streams were open.');
  const line = { raw: null, target: null };
  return [
    {
      ...line,
      what: `errors in ${ended} streams of 60 s`,
      unit: '',
      cloister: errors,
      figure: errors,
      figureUnit: '',
      target: { atMost: 0 },
    },
    {
      ...line,
      what: `memory (rss) with ${streams} streams`,
      unit: 'MiB',
      cloister: rssMax / MiB,
      figure: rssMax / MiB,
      figureUnit: 'MiB',
      target: { atMost: 512 },
    },
  ];
};

/** How much slower other requests are while many readers are stalled. Compared with before and after, because machines change speed. */
const measureStalled = async (): Promise<Line> => {
  const server = await startServer('cloister-server.ts');
  // Warms up fully; otherwise later measurements look fast compared with the first.
  for (let turn = 0; turn < 6; turn++) await measureRound(server);
  const before = await threeRounds(server);
  const { rss: rssAlone } = await server.usage();
  const sockets = await openStalledReaders(server, '/v1/gushing', streams);
  const beside = await threeRounds(server);
  const backedUp = await checkStalled(server, streams);
  const { rss } = await server.usage();
  for (const socket of sockets) socket.destroy();
  while ((await server.usage()).backedUp > 0);
  await measureRound(server);
  const alone = [...before, ...(await threeRounds(server))];
  await server.stop();
  const [raw, cloister] = [alone, beside].map((all) => median(all.map((one) => one.perSecond)));
  const [cpuAlone, cpuBeside] = [alone, beside].map((all) => median(all.map((one) => one.cpuMs)));
  return {
    what: `requests/s with ${streams} stalled readers`,
    unit: '/s',
    raw: raw!,
    cloister: cloister!,
    figure: raw! / cloister!,
    figureUnit: '× slower',
    target: { atMost: 2 },
    note:
      `${backedUp} readers are backed up; the server uses ${(rss / MiB).toFixed(0)} MiB with them, ${(rssAlone / MiB).toFixed(0)} without, ` +
      `and ${(cpuBeside! / cpuAlone!).toFixed(2)} × the CPU per request`,
  };
};

const threeRounds = async (server: RunningServer): Promise<readonly Round[]> => [
  await measureRound(server),
  await measureRound(server),
  await measureRound(server),
];

const measureHeapGrowth = async (): Promise<Line> => {
  const server = await startServer('cloister-server.ts');
  await sendChecked(server, many / 5);
  const early = await server.usage(true);
  await sendChecked(server, (many / 5) * 4);
  const late = await server.usage(true);
  await server.stop();
  return {
    what: `heap after ${many} requests, raw = after a fifth of them`,
    unit: 'MiB',
    raw: early.heap / MiB,
    cloister: late.heap / MiB,
    figure: late.heap / early.heap,
    figureUnit: '×',
    target: { atMost: 1.1 },
    note: `rss ${(early.rss / MiB).toFixed(0)} and ${(late.rss / MiB).toFixed(0)} MiB`,
  };
};
