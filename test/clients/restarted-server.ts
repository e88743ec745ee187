// A server for clients that is killed and started again: on the same port, workspace and token. Its model runs a slow command of the
// client, or searches for a tool that the client holds back and calls it.
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';

const [port, workspace, command = ''] = process.argv.slice(2);
const heldBack = 'mcp__clock__noon';

const reply = ({ messages, tools, toolResults }: RequestView): ScriptedReply => {
  const ask = /.*Ask: (\w+)/su.exec(JSON.stringify(messages))?.[1];
  const told = toolResults.map((result) => JSON.stringify(result)).join(' ');
  if (ask === 'command')
    return toolResults.length === 0
      ? { calls: [{ tool: 'Bash', args: { command, description: 'Takes a while' } }] }
      : { text: `Result: ${told}` };
  if (ask !== 'noon') return { text: 'Nothing to do.' };
  if (tools.includes(heldBack) && !told.includes('twelve')) return { calls: [{ tool: heldBack, args: {} }] };
  if (toolResults.length === 0)
    return { calls: [{ tool: 'ToolSearch', args: { query: `select:${heldBack}`, max_results: 5 } }] };
  return { text: `Result: ${told}; tools: ${tools.join(' ')}` };
};

const agent = defineAgent({
  name: 'guide',
  description: 'Runs commands.',
  prompt: 'Answer.',
  models: [rehearse([{ reply }], { keepRequests: false })],
});
const cloister = await openCloister({ agents: [agent], workspace: workspace! });
const server = await openServer(cloister, {
  port: Number(port),
  tokens: [{ name: 'me', sha256: hashToken('me') }],
  clients: { system: true, tools: true, compat: true },
});
const { url } = await server.listen();
console.log(url);
