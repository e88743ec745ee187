// In place of the process that runs seeds: seed 3 uses all memory, seed 5 exits, seed 6 is killed. The others pass.
//   <how to die before the first seed, or nothing> <first seed> <how many>
import type { SeedLine } from '../../sim/run-seeds-apart.ts';

const [early, from = '', count = ''] = process.argv.slice(2);
const useAllMemory = (): never => {
  const kept: unknown[] = [];
  for (;;) kept.push(Array.from({ length: 10_000 }, (_, at) => ({ at })));
};

const print = (line: SeedLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

if (early === 'early') throw new Error('It cannot even start.');
for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
  print({ start: seed });
  if (seed === 3) useAllMemory();
  if (seed === 5) process.exit(9);
  if (seed === 6) process.kill(process.pid, 'SIGKILL');
  const nothing = { problems: [], trace: '', last: [], figures: { runs: 1 }, faults: {}, checks: {} };
  print({ report: { seed, ok: true, ...nothing }, cpuSeconds: 1 });
}
