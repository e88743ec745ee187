// A process that starts a run with a tool for that run alone, and is killed when the tool is called.
import { openCloister } from 'cloister';
import { scriptAgents } from '../headends/client-tools/scripted-agents.ts';

const [workspace = ''] = process.argv.slice(2);
const cloister = await openCloister({ agents: scriptAgents().agents, workspace });
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
