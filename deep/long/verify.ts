// `cloister verify` on the example team, with fresh seeds, until the time is up: what a user would run, but longer.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { repo } from '../build-subject.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
const example = 'research';
const pairs = 200;

type Value = { readonly ok?: boolean; readonly pairs?: number; readonly differences?: readonly unknown[] };

const verify = (from: number): Value | null => {
  const args = ['verify', example, '--pairs', String(pairs), '--seed', String(from), '--json'];
  const { stdout } = spawnSync(process.execPath, [join(repo, 'bin/cloister.js'), ...args], { encoding: 'utf8' });
  try {
    return JSON.parse(stdout) as Value;
  } catch {
    return null;
  }
};

for (let round = 0; Date.now() < until; round++) {
  const from = seed + round * pairs;
  const rerun = `node bin/cloister.js verify ${example} --pairs ${pairs} --seed ${from}`;
  printLine({ trying: rerun });
  const value = verify(from);
  if (value?.pairs === undefined) {
    printLine({ skipped: `cloister verify ${example} returned no report: ${JSON.stringify(value)}` });
    break;
  }
  printLine({ tried: value.pairs, of: 'pairs of the example team by `cloister verify`' });
  if (value.ok === true) continue;
  const details = (value.differences ?? []).map((difference) => JSON.stringify(difference));
  printLine({ finding: { what: `two runs of ${example} differ`, details, rerun } });
  break;
}
