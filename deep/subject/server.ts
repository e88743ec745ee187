// The server that a client talks to while it is killed. It prints its address, and serves until then, or until SIGTERM.
//
//   server.js <workspace> [<hours>]     its clock is that many hours ahead
import { setTimeout as sleep } from 'node:timers/promises';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { clientToken, operatorToken } from './client-tokens.ts';

const look = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
  repeat: 'free',
  execute: async () => {
    await sleep(3);
    return 'Seen.';
  },
} as const;

const model = rehearse(
  [
    { when: { agent: 'keeper' }, reply: { text: 'Heard.', delayMs: 3 } },
    { when: { agent: 'worker', turn: 1 }, reply: { calls: [{ tool: 'look', args: { at: 'north' } }], delayMs: 3 } },
    { when: { agent: 'worker', turn: 2 }, reply: { calls: [{ tool: 'look', args: { at: 'south' } }], delayMs: 3 } },
    { when: { agent: 'worker' }, reply: { text: 'Surveyed: {{goal}}', delayMs: 3 } },
  ],
  { keepRequests: false },
);

const worker = defineAgent({
  name: 'worker',
  description: 'Works.',
  prompt: 'Work.',
  models: [model.model],
  tools: [look],
});
const keeper = defineAgent({ name: 'keeper', description: 'Keeps.', prompt: 'Keep.', models: [model.model] });

const [workspace = '', hours = '0'] = process.argv.slice(2);

/** Runs at the speed of the real one. */
const clock = {
  now: () => Date.now() + Number(hours) * 3_600_000,
  timer: (ms: number, due: () => void) => {
    const timer = setTimeout(due, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};

const cloister = await openCloister({ workspace, agents: [worker, keeper], clock });
const server = await openServer(cloister, {
  port: 0,
  clock,
  tokens: [
    { name: 'client', sha256: hashToken(clientToken) },
    { name: 'overseer', sha256: hashToken(operatorToken), operator: true },
  ],
});
process.once('SIGTERM', () => {
  void server.stop(1_000).then(() => process.exit(0));
});
const { url } = await server.listen();
process.stdout.write(`${JSON.stringify({ url })}\n`);
