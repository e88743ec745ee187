// The same agents through the library: what `cloister demo` does, in a few lines.
import { openCloister } from 'cloister';

const question = process.argv[2] ?? 'Should a small team keep its data in SQLite or in DuckDB?';

await using cloister = await openCloister({ store: 'memory', agents: [`${import.meta.dirname}/lead.ai`] });
const session = cloister.run('lead', question);
for await (const event of session)
  if (event.type === 'crossing')
    console.error(`${event.kind}: ${event.from} → ${event.to}, ${event.bytes} bytes, under grant "${event.grant}"`);

const { status, output, spent, run } = await session.outcome;
console.log(output);
const audit = await cloister.audit(run);
console.error(
  `${status}, ${spent.inputTokens + spent.outputTokens} tokens, $${spent.usd}; audit ${audit.ok ? 'ok' : 'failed'}, unattributed ${audit.unattributedBytes}`,
);
