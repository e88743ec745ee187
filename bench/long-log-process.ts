// A process of its own for the benchmark of long logs: writes one, or reads one in some way, and tells what that took.
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { longLivedAgent, writeLongLog } from './long-log.ts';

const [workspace = '', what = '', more = ''] = process.argv.slice(2);

const readers: Readonly<Record<string, (cloister: Cloister, run: string) => Promise<boolean>>> = {
  audit: async (cloister, run) => (await cloister.audit(run)).ok,
  show: async (cloister, run) => (await cloister.show(run, { events: 'refusals' })).status === 'completed',
};

const read = async (run: string): Promise<void> => {
  await using cloister = await openCloister({ workspace, agents: [longLivedAgent()] });
  if (!(await readers[what]!(cloister, run))) throw new Error(`${what}: the run is not as it should be.`);
};

if (what === 'write') console.log(await writeLongLog(workspace, Number(more)));
else {
  const before = process.cpuUsage();
  await read(more);
  const { user, system } = process.cpuUsage(before);
  const rss = process.resourceUsage().maxRSS / 1_024;
  console.log(JSON.stringify({ cpuMs: (user + system) / 1_000, rss }));
}
