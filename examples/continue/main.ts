// An agent that continues in a fresh copy of itself before its window is full.
import { openCloister } from 'cloister';

await using cloister = await openCloister({ store: 'memory', agents: [`${import.meta.dirname}/reader.ai`] });
const { status, output, run } = await cloister.run('reader', 'Sum up parts 1 to 6 of the report.').outcome;
console.log(output);

const { cells } = await cloister.show(run);
const windows = await cloister.windows(run);
for (const { cell, depth } of cells) {
  const { total } = windows.find((window) => window.cell === cell)!;
  console.log(`reader at level ${depth}: ${total.bytes} bytes in its window`);
}
const audit = await cloister.audit(run);
console.log(`${status}, audit ok: ${audit.ok}, unattributed ${audit.unattributedBytes}`);
