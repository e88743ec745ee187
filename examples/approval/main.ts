// A person is asked before an agent two levels down sends a mail. Here, code stands in for the person.
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCloister } from 'cloister';

process.chdir(mkdtempSync(join(tmpdir(), 'approval-')));
const agents = [`${import.meta.dirname}/desk.ai`];

// Nobody is here to answer: the question is on disk, and the run is left.
{
  await using cloister = await openCloister({ agents });
  const session = cloister.run('desk', 'Tell Anna that her bike is ready.');
  await new Promise<void>((resolve) => session.onWaiting(() => resolve()));
}

// Somebody else, later: the answer continues the run.
await using cloister = await openCloister({ agents });
const [question] = await cloister.questions();
console.log(`${question!.path.join(' > ')} wants to call ${question!.tool}: ${JSON.stringify(question!.args['to'])}`);
const { state, session } = await cloister.answer(question!.id, { allow: true, sha256: question!.sha256 });
const { status, output, run } = await session!.outcome;
console.log(`${state}, ${status}: ${output}`);
console.log(readFileSync('outbox.txt', 'utf8').trim());
const audit = await cloister.audit(run);
console.log(`audit ok: ${audit.ok}, unattributed ${audit.unattributedBytes}`);
