// Resumes the newest run of a workspace, a resident, and writes to its agents: <agent file>.
import { openCloister } from 'cloister';

const [agent = ''] = process.argv.slice(2);
await using cloister = await openCloister({ workspace: '.cloister', agents: [agent] });
const [newest] = await cloister.runs();
const session = await cloister.resume(newest!.run);
const agentNames = session.agents().map(({ sub_agent_id: name }) => name);
const { text, status } = await session.ask('We listen.');
const { agent_id: answeredBy } = await session.ask('Are you there?', { to: 'cave:wizard' });
session.finish();
const outcome = await session.outcome;
const { ok } = await cloister.audit(session.run);
console.log(
  JSON.stringify({
    resident: session.resident,
    living: agentNames,
    text,
    status,
    answeredBy,
    ended: outcome.status,
    ok,
  }),
);
