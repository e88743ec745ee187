// One of several processes that work on a store: sessions with a fast model. Its arguments: a workspace folder, and an address or nothing.
import { once } from 'node:events';
import { openCloister } from 'cloister';
import { toolAgent } from './agents.ts';
import { runConcurrently, runSpread } from './measure.ts';
import { fastModel, goals } from './models.ts';

const [workspace = '', store = ''] = process.argv.slice(2);
const [sessions, turnsEach, modelMs] = [256, 10, 20];

const cloister = await openCloister({
  workspace,
  ...(store === '' ? {} : { store }),
  agents: [toolAgent(fastModel({ delayMs: modelMs }), { maxToolTurns: turnsEach + 1 })],
});
const goal = goals.lookups(turnsEach);
// The first one opens the database, and makes the code warm.
await runConcurrently(cloister, 'solo', goal, 32);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const before = process.cpuUsage();
const from = performance.now();
await runSpread(cloister, 'solo', goal, { count: sessions, overMs: modelMs });
const ms = performance.now() - from;
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ steps: sessions * turnsEach, ms, cpuMs: (user + system) / 1_000 }));
await cloister.close();
process.exit(0);
