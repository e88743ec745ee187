// One of several processes that write to a workspace: sessions that wait for the disk at each step, as before an outside effect.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { Frame } from '#contracts';

const [workspace = '', seconds = '1'] = process.argv.slice(2);
const [sessions, framesEach] = [32, 10];

const store = await openSqliteStore(workspace);
/** Also opens the database. */
const first = await store.acquireRun(randomUUID() as RunId);
await first.close();
process.stdout.write('ready\n');
await once(process.stdin, 'data');

const end = performance.now() + 1_000 * Number(seconds);
const before = process.cpuUsage();
let [steps, longestMs] = [0, 0];

const frameOf = (run: RunId, no: number): Frame =>
  ({
    run,
    no,
    at: 1_000 + no,
    cell: 'solo-1',
    record: { type: 'again', op: no, uncertain: null },
    pad: 'x'.repeat(600),
  }) as unknown as Frame;

const work = async (): Promise<void> => {
  while (performance.now() < end) {
    const run = randomUUID() as RunId;
    const log = await store.acquireRun(run);
    for (let no = 0; no < framesEach && performance.now() < end; no++) {
      const from = performance.now();
      log.append(frameOf(run, no));
      await log.durable();
      longestMs = Math.max(longestMs, performance.now() - from);
      if (performance.now() < end) steps++;
    }
    await log.close();
  }
};

await Promise.all(Array.from({ length: sessions }, work));
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ steps, longestMs, cpuMs: (user + system) / 1_000 }));
process.exit(0);
