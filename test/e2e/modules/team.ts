// Agents for the tests of the command, each for one behaviour. They use files in the working folder: `effects` has a line for
// every effect, `entered` says that an agent waits at the gate, `go` opens it.
import { appendFileSync, existsSync, watch } from 'node:fs';
import { defineAgent } from 'cloister';
import type { ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { ScriptLine } from 'cloister/testkit';

const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };

const note: ToolDefinition = {
  name: 'note',
  description: 'Writes a line.',
  inputSchema,
  execute: ({ text }) => {
    appendFileSync('effects', `${text as string}\n`);
    return `noted ${text as string}`;
  },
};

const gate: ToolDefinition = {
  name: 'gate',
  description: 'Waits until the gate is open.',
  inputSchema,
  repeat: 'free',
  execute: (_args, { signal }) =>
    new Promise((resolve, reject) => {
      const watcher = watch('.');
      const look = () => {
        if (!existsSync('go')) return;
        watcher.close();
        resolve('the gate is open');
      };
      watcher.on('change', look);
      signal.addEventListener('abort', () => {
        watcher.close();
        reject(new Error('called back'));
      });
      appendFileSync('effects', 'at the gate\n');
      appendFileSync('entered', 'entered\n');
      look();
    }),
};

const hang: ToolDefinition = {
  name: 'hang',
  description: 'Never returns, whatever is asked of it.',
  inputSchema,
  execute: () => {
    appendFileSync('entered', 'entered\n');
    return new Promise(() => {});
  },
};

const stray: ToolDefinition = {
  name: 'stray',
  description: 'Returns, and throws where nobody listens.',
  inputSchema,
  execute: () =>
    new Promise((resolve) => {
      setTimeout(() => {
        resolve('returned');
        throw new Error('a stray error');
      });
    }),
};

const call = (agent: string, turn: number, tool: string, text: string, said = ''): ScriptLine => ({
  when: { agent, turn },
  reply: { text: said, calls: [{ tool, args: tool === 'helper' ? { prompt: text, reason: 'A task.' } : { text } }] },
});
const say = (agent: string, turn: number, text: string): ScriptLine => ({ when: { agent, turn }, reply: text });

const { model } = rehearse(
  {
    price: { input: 1, output: 5 },
    lines: [
      say('echo', 1, 'You said: {{goal}}'),
      call('lead', 1, 'helper', 'Count the words'),
      say('lead', 2, 'The helper counted three.'),
      call('helper', 1, 'note', 'helped'),
      say('helper', 2, 'Three words.'),
      call('gated', 1, 'note', 'before'),
      call('gated', 2, 'gate', '', 'Half of the answer.'),
      call('gated', 3, 'note', 'after'),
      say('gated', 4, 'Through the gate.'),
      call('stuck', 1, 'hang', '', 'Half of the answer.'),
      say('stuck', 2, 'Unstuck.'),
      call('astray', 1, 'stray', ''),
      say('astray', 2, 'Back again.'),
      { when: { agent: 'locked-out' }, reply: { fault: 401 } },
      { when: { agent: 'tireless' }, reply: { calls: [{ tool: 'note', args: { text: 'again' } }] } },
      { when: { agent: 'endless' }, reply: { calls: [{ tool: 'note', args: { text: 'x'.repeat(2000) } }] } },
    ],
  },
  { keepRequests: false },
);

const agent = (name: string, tools: readonly ToolDefinition[] = [], more: object = {}) =>
  defineAgent({ name, description: `The agent ${name}.`, prompt: `Be ${name}.`, models: [model], tools, ...more });

export default [
  agent('echo'),
  agent('lead', [], { agents: [agent('helper', [note])] }),
  agent('gated', [note, gate]),
  agent('stuck', [hang]),
  agent('astray', [stray]),
  agent('locked-out'),
  agent('tireless', [note], { limits: { max_steps: 3 } }),
  agent('endless', [note], { limits: { maxToolTurns: 10_000 } }),
];
