// A server of agents beside a bare hono server that answers with the same bytes, both in processes of their own.
import type { Benchmark, Line } from '../benchmark.ts';
import { median } from '../measure.ts';
import { ask, checkStalled, stall, stream } from './load.ts';
import type { Load } from './load.ts';
import { start } from './started.ts';
import type { Started } from './started.ts';

/** A request gets cheaper for some rounds: until then the engine still learns. */
const [connections, perRound, warmUps, rounds] = [64, 4_000, 6, 11];
const streams = 1_000;
const many = 100_000;
const MiB = 1024 * 1024;

export const serving: Benchmark = {
  name: 'serve',
  about: `requests/s beside bare hono, ${streams} streams for 60 s, ${streams} stalled readers, memory over ${many} requests`,
  run: async () => [...(await throughput()), ...(await streaming()), await stalled(), await flat()],
};

type Round = { readonly perSecond: number; readonly cpuMs: number };

const asked = async (server: Started, count: number): Promise<Load> => {
  const load = await ask(server, connections, count);
  if (load.errors > 0) throw new Error(`${load.errors} of ${load.requests} requests failed.`);
  return load;
};

const round = async (server: Started): Promise<Round> => {
  const before = await server.usage();
  const { requests, seconds } = await asked(server, perRound);
  const after = await server.usage();
  return { perSecond: requests / seconds, cpuMs: (after.cpuMs - before.cpuMs) / requests };
};

const throughput = async (): Promise<readonly Line[]> => {
  const [bare, ours] = await Promise.all([start('bare-hono.ts'), start('cloister-server.ts')]);
  const [raws, cloisters]: [Round[], Round[]] = [[], []];
  for (let turn = -warmUps; turn < rounds; turn++) {
    const [raw, cloister] = [await round(bare), await round(ours)];
    if (turn < 0) continue;
    raws.push(raw);
    cloisters.push(cloister);
  }
  await Promise.all([bare.stop(), ours.stop()]);
  const share = (of: (one: Round) => number): number =>
    median(cloisters.map((one, turn) => (of(one) / of(raws[turn]!)) * 100));
  return [
    {
      what: `requests/s, ${connections} connections, an instant model, a token`,
      unit: '/s',
      raw: median(raws.map((one) => one.perSecond)),
      cloister: median(cloisters.map((one) => one.perSecond)),
      figure: share((one) => one.perSecond),
      figureUnit: '%',
      target: { atLeast: 50 },
    },
    {
      what: 'CPU of the server for a request',
      unit: 'ms',
      raw: median(raws.map((one) => one.cpuMs)),
      cloister: median(cloisters.map((one) => one.cpuMs)),
      figure: share((one) => one.cpuMs) / 100,
      figureUnit: '×',
      target: null,
    },
  ];
};

const streaming = async (): Promise<readonly Line[]> => {
  const server = await start('cloister-server.ts');
  let rssMax = 0;
  const watching = setInterval(() => void server.usage().then(({ rss }) => (rssMax = Math.max(rssMax, rss))), 2_000);
  const { ended, errors } = await stream(server, '/v1/dripping', streams);
  clearInterval(watching);
  await server.stop();
  if (rssMax === 0) throw new Error('No memory was measured while there were streams.');
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

/** How much slower others are served while many take nothing of what they asked for: against before and after, for machines change. */
const stalled = async (): Promise<Line> => {
  const server = await start('cloister-server.ts');
  // Until it is as quick as it gets: else whatever is measured later looks quick beside what was measured first.
  for (let turn = 0; turn < 6; turn++) await round(server);
  const before = await threeRounds(server);
  const { rss: rssAlone } = await server.usage();
  const sockets = await stall(server, '/v1/gushing', streams);
  const beside = await threeRounds(server);
  const backedUp = await checkStalled(server, streams);
  const { rss } = await server.usage();
  for (const socket of sockets) socket.destroy();
  while ((await server.usage()).backedUp > 0);
  await round(server);
  const alone = [...before, ...(await threeRounds(server))];
  await server.stop();
  const [raw, cloister] = [alone, beside].map((all) => median(all.map((one) => one.perSecond)));
  const [cpuAlone, cpuBeside] = [alone, beside].map((all) => median(all.map((one) => one.cpuMs)));
  return {
    what: `requests/s beside ${streams} stalled readers`,
    unit: '/s',
    raw: raw!,
    cloister: cloister!,
    figure: raw! / cloister!,
    figureUnit: '× slower',
    target: { atMost: 2 },
    note:
      `${backedUp} are backed up; with them the server has ${(rss / MiB).toFixed(0)} MiB, without ${(rssAlone / MiB).toFixed(0)}, ` +
      `and takes ${(cpuBeside! / cpuAlone!).toFixed(2)} × the CPU for a request`,
  };
};

const threeRounds = async (server: Started): Promise<readonly Round[]> => [
  await round(server),
  await round(server),
  await round(server),
];

const flat = async (): Promise<Line> => {
  const server = await start('cloister-server.ts');
  await asked(server, many / 5);
  const early = await server.usage(true);
  await asked(server, (many / 5) * 4);
  const late = await server.usage(true);
  await server.stop();
  return {
    what: `heap after ${many} requests, and after a fifth of them`,
    unit: 'MiB',
    raw: early.heap / MiB,
    cloister: late.heap / MiB,
    figure: late.heap / early.heap,
    figureUnit: '×',
    target: { atMost: 1.1 },
    note: `rss ${(early.rss / MiB).toFixed(0)} and ${(late.rss / MiB).toFixed(0)} MiB`,
  };
};
