// The agents that real client programs are tried with: their model is a rehearsal, so nothing leaves this machine.
import { defineAgent, openCloister, openServer } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedCall, ScriptedReply } from 'cloister/testkit';

export const answer = 'Lisbon is the capital of Portugal.';
/** What the model says if it was shown a system prompt of the client. */
export const ruled = 'I follow your rules.';
export const done = 'The tool was called.';
export const fileName = 'pear.txt';

/** Ways of running a command, by the names that coding tools give them. */
const shellCalls: Readonly<Record<string, (command: string) => ScriptedCall['args']>> = {
  Bash: (command) => ({ command, description: 'Writes a file' }),
  bash: (command) => ({ command, description: 'Writes a file' }),
  run_shell_command: (command) => ({ command, description: 'Writes a file', is_background: false }),
  shell_command: (command) => ({ command }),
  exec_command: (cmd) => ({ cmd }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
};

/** The text after the last "Ask:" says what the model does; the rest of a prompt is the client's. */
const reply = ({ messages, tools }: RequestView): ScriptedReply => {
  const prompt = JSON.stringify(messages);
  const ask = /.*Ask: (\w+)/su.exec(prompt)?.[1];
  const isAnswered = messages.some(({ role }) => role === 'tool');
  const systems = messages.filter(({ role }) => role === 'system').length;
  if (ask === 'tool' && !isAnswered) {
    if (tools.includes('weather')) return { calls: [{ tool: 'weather', args: { city: 'Lisbon' } }] };
    const shell = Object.keys(shellCalls).find((name) => tools.includes(name));
    if (shell !== undefined) return { calls: [{ tool: shell, args: shellCalls[shell]!(`printf pear > ${fileName}`) }] };
    return { text: `No tool that I know: ${tools.join(', ')}` };
  }
  if (isAnswered) return { pieces: [done, prompt.includes('It is sunny') ? ' It is sunny.' : ''] };
  if (ask === 'json') return { text: '{"city":"Lisbon"}' };
  if (ask === 'before') return { text: prompt.includes('My name is Ann') ? 'You are Ann.' : 'I do not know.' };
  return {
    pieces: ['Lisbon is ', 'the capital ', 'of Portugal.', systems > 1 ? ` ${ruled}` : ''],
    usage: { input: 90, output: 9 },
  };
};

/** A server as for coding tools: system prompts and tools of clients are allowed. */
export const serveGuide = async (port: number, { compat }: { readonly compat: boolean }) => {
  const model = rehearse([{ reply }], { keepRequests: false });
  const agent = defineAgent({ name: 'guide', description: 'Knows cities.', prompt: 'Answer.', models: [model] });
  const cloister = await openCloister({ agents: [agent], store: 'memory' });
  const server = await openServer(cloister, {
    port,
    clients: { system: true, tools: true, compat },
  });
  const { url } = await server.listen();
  return { url, token: server.token!, server, cloister };
};
