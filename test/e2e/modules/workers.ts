// Agents that workers drive. They write the key of every effect into `effects` of the working folder.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { defineAgent } from 'cloister';
import type { ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';

const inputSchema = { type: 'object', properties: {} };

const note: ToolDefinition = {
  name: 'note',
  description: 'Writes a line.',
  inputSchema,
  execute: (_args, { key }) => {
    appendFileSync('effects', `${key}\n`);
    return 'noted';
  },
};

/** Ends its process the first time, as if that had run out of memory. */
const fatal: ToolDefinition = {
  name: 'fatal',
  description: 'Fails badly.',
  inputSchema,
  repeat: 'free',
  execute: () => {
    if (existsSync('died')) return 'survived';
    writeFileSync('died', '');
    process.kill(process.pid, 'SIGKILL');
    return 'never said';
  },
};

/** Takes a second for each of its five steps. */
const steps = (delayMs: number) => [
  ...[1, 2, 3, 4, 5].map((turn) => ({ when: { turn }, reply: { calls: [{ tool: 'note', args: {} }], delayMs } })),
  { reply: { text: 'Done.', delayMs } },
];

const worker = (name: string, tools: readonly ToolDefinition[], script: Parameters<typeof rehearse>[0]) =>
  defineAgent({
    name,
    description: 'Works.',
    prompt: 'Work.',
    tools,
    models: [rehearse(script, { keepRequests: false })],
  });

const once = (tool: string) => [{ when: { turn: 1 }, reply: { calls: [{ tool, args: {} }] } }, { reply: 'Done.' }];

export default [
  worker('clerk', [note], steps(150)),
  worker('asker', [{ ...note, approve: true }], once('note')),
  worker('crasher', [fatal], once('fatal')),
];
