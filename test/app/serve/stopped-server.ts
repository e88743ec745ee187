// A server in a process of its own that is stopped without patience, and then gone.
import { createInterface } from 'node:readline';
import { openCloister, openServer } from 'cloister';
import { gatedAgent } from './gated-agent.ts';

const [workspace = ''] = process.argv.slice(2);
const { agent, gate } = gatedAgent();
const cloister = await openCloister({ agents: [agent], workspace });
const server = await openServer(cloister, { port: 0 });
const { url } = await server.listen();
const tell = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
tell({ url, token: server.token });
await gate.arrived(1);
tell('arrived');
for await (const _line of createInterface({ input: process.stdin })) {
  tell({ left: await server.stop(0) });
  // What is not closed is as a crash leaves it.
  process.kill(process.pid, 'SIGKILL');
}
