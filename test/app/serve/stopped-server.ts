// A server in a separate process that is stopped without a grace period and then killed.
import { createInterface } from 'node:readline';
import { openCloister, openServer } from 'cloister';
import { gatedAgent } from './gated-agent.ts';

const [workspace = ''] = process.argv.slice(2);
const { agent, gate } = gatedAgent();
const cloister = await openCloister({ agents: [agent], workspace });
const server = await openServer(cloister, { port: 0 });
const { url } = await server.listen();
const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
printJson({ url, token: server.token });
await gate.arrived(1);
printJson('arrived');
for await (const _line of createInterface({ input: process.stdin })) {
  printJson({ left: await server.stop(0) });
  // What is not closed stays as after a crash.
  process.kill(process.pid, 'SIGKILL');
}
