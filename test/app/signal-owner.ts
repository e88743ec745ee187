// A process that owns a long-lived run, started by the tests of signals. It prints the id of the run, then waits.
import { openCloister } from 'cloister';
import { signalAgents } from './signal-agents.ts';

const [workspace = ''] = process.argv.slice(2);
const cloister = await openCloister({ workspace, agents: signalAgents() });
const session = await cloister.spawn('clerk');
await session.durable();
console.log(session.run);
// A run that waits for messages does not keep its process alive.
process.stdin.resume();
