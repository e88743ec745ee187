// An agent reads a skill on demand; `explain` says which file of it each text came from.
import { openCloister } from 'cloister';

await using cloister = await openCloister({ store: 'memory', agents: [`${import.meta.dirname}/clerk.ai`] });
const { status, output, run } = await cloister.run('clerk', 'An invoice for the blue door, please').outcome;
console.log(output);

const [cell] = (await cloister.show(run)).cells;
const { segments } = await cloister.explain(run, cell!.cell);
for (const { bytes, trail } of segments)
  for (const step of trail)
    if (step.type === 'skill') console.log(`${bytes} bytes from the skill ${step.skill}, ${step.file ?? 'SKILL.md'}`);

const audit = await cloister.audit(run);
console.log(`${status}, audit ok: ${audit.ok}, unattributed ${audit.unattributedBytes}`);
