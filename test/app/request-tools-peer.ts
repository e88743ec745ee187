// A process that begins a run with a tool for that run alone, and is gone when the tool is called.
import { openCloister } from 'cloister';
import { openHouse } from '../headends/client-tools/house.ts';

const [workspace = ''] = process.argv.slice(2);
const cloister = await openCloister({ agents: openHouse().agents, workspace });
cloister.run('guide', 'weather:a', {
  tools: [
    {
      name: 'weather',
      description: 'd',
      inputSchema: { type: 'object' },
      execute: () => process.kill(process.pid, 'SIGKILL') as never,
    },
  ],
});
