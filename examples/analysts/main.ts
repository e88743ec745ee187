// Analysts that work in parallel and reply to their caller's mailbox.
import { openCloister } from 'cloister';

await using cloister = await openCloister({ store: 'memory', agents: [`${import.meta.dirname}/reviewer.ai`] });
const session = cloister.run('reviewer', process.argv[2] ?? 'Review the change "orders by customer name".');
for await (const event of session)
  if (event.type === 'mail')
    console.error(
      `  ${event.kind} ${event.agent_id} → ${event.recipient_id}: ${event.state}${event.reason === null ? '' : `, ${event.reason}`}`,
    );

const { status, output, run } = await session.outcome;
console.log(output);
const { cells } = await cloister.show(run);
const audit = await cloister.audit(run);
console.log(`${status}: ${cells.length} cells, audit ok: ${audit.ok}, unattributed ${audit.unattributedBytes}`);
