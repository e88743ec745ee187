// runs.ts <workspace> <id> …: one run of `echo` after the other, with these ids.
import { openCloister } from 'cloister';
import agents from './team.ts';

const [workspace = '', ...runs] = process.argv.slice(2);
for (const run of runs) {
  const ids = [run];
  let cells = 0;
  await using cloister = await openCloister({
    workspace,
    agents,
    ids: { random: () => ids.pop() ?? `${run}${cells++}` },
  });
  await cloister.run('echo', `I am ${run}`).outcome;
}
