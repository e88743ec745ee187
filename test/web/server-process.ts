// A server in a process of its own, which a test can kill: `node server-process.ts <workspace> <port> <token hash>`. Its models wait for the
// file `open` in the workspace's parent folder, and note who asked them in `askers`.
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView } from 'cloister/testkit';

const [folder = '', port = '0', sha256 = ''] = process.argv.slice(2);

const note = ({ agent }: RequestView): void => appendFileSync(join(folder, 'askers'), `${agent}\n`);

/** Looks for the file again and again: the test is another process. */
const untilOpen = (_ms: number, due: () => void): (() => void) => {
  const timer = setInterval(() => {
    if (!existsSync(join(folder, 'open'))) return;
    clearInterval(timer);
    due();
  }, 20);
  return () => clearInterval(timer);
};

const model = rehearse(
  [
    {
      when: { agent: 'clerk' },
      reply: (request) => {
        note(request);
        return 'Monday.';
      },
    },
    {
      reply: (request) => {
        note(request);
        return request.turn === 1
          ? { text: 'I ask.', calls: [{ tool: 'clerk', args: { prompt: 'Which day?' } }] }
          : { pieces: ['The clerk ', 'says Monday.'], pieceDelayMs: 1 };
      },
    },
  ],
  { clock: { timer: untilOpen } },
);

const clerk = defineAgent({ name: 'clerk', description: 'Knows days.', prompt: 'Answer.', models: [model] });
const lead = defineAgent({
  name: 'lead',
  description: 'Answers.',
  prompt: 'Ask the clerk.',
  models: [model],
  agents: [clerk],
});

const cloister = await openCloister({ agents: [lead], workspace: join(folder, 'workspace') });
const server = await openServer(cloister, { port: Number(port), tokens: [{ name: 'boss', sha256, operator: true }] });
const { url } = await server.listen();
process.send?.(url);
