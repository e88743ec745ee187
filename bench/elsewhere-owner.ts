// The process that works on runs which another one reads: it prints their ids and, once they have ended, how long its own readers waited
// for events.
import { once } from 'node:events';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';

const [workspace = '', runs = '1', turns = '1'] = process.argv.slice(2);

const { model } = rehearse([
  {
    reply: ({ turn }) =>
      turn <= Number(turns)
        ? { text: 'I look.', calls: [{ tool: 'look', args: {} }], delayMs: 15 + ((turn * 7) % 30) }
        : { text: 'Done.' },
  },
]);
const look = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  execute: async () => new Promise<string>((resolve) => void setTimeout(resolve, 10, 'Nothing.')),
} as const;
const limits = { maxTurns: Number(turns) + 1 };
const agent = defineAgent({
  name: 'lead',
  description: 'Looks.',
  prompt: 'Look.',
  limits,
  models: [model],
  tools: [look],
});

await using cloister = await openCloister({ workspace, agents: [agent] });
const sessions = Array.from({ length: Number(runs) }, () => cloister.run('lead', 'Go.', { caller: 'ann' }));
const delays: number[] = [];
const reading = sessions.map(async (session) => {
  for await (const event of session) if ('at' in event) delays.push(Date.now() - event.at);
});
for (const session of sessions) await session.durable();
process.stdout.write(`${sessions.map(({ run }) => run).join(' ')}\n`);
await once(process.stdin, 'data');
await Promise.all(reading);
process.stdout.write(`${delays.join(' ')}\n`);
