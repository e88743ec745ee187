// Claude Code while its server is killed and started again, and with an MCP tool that it holds back until the model searches for it.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Runs the client with a prompt and more arguments, against this server. Returns what it printed. */
type RunClient = (
  args: readonly string[],
  server: { readonly url: string; readonly token: string; readonly home: string; readonly work: string },
) => Promise<string>;

/** What went wrong, by feature; null: nothing. */
export const tryRestarts = async (run: RunClient): Promise<Readonly<Record<string, string | null>>> => {
  const home = mkdtempSync(join(tmpdir(), 'clients-'));
  const [work, workspace, count] = [join(home, 'work'), join(home, 'workspace'), join(home, 'count.txt')];
  for (const folder of [work, workspace]) mkdirSync(folder);
  writeFileSync(join(home, 'clock.mjs'), clockServer);
  const clock = { mcpServers: { clock: { command: process.execPath, args: [join(home, 'clock.mjs')] } } };
  writeFileSync(join(home, 'mcp.json'), JSON.stringify(clock));
  const start = (port: number) => startServer(port, workspace, `echo run >> ${count}; sleep 8; echo pear`);
  let server = await start(0);
  try {
    const at = { url: server.url, token: 'me', home, work };
    const asked = run(['Ask: command. Run it.', '--allowedTools', 'Bash'], at);
    while (!existsSync(count) && server.child.exitCode === null) await sleep(100);
    server.child.kill('SIGKILL');
    server = await start(Number(new URL(server.url).port));
    const said = await asked;
    const runs = readFileSync(count, 'utf8').trim().split('\n').length;
    const allowed = ['--mcp-config', join(home, 'mcp.json'), '--allowedTools', 'mcp__clock__noon', 'ToolSearch'];
    const noon = await run(['Ask: noon. When is it?', ...allowed], at);
    return {
      restart: said.includes('pear') && runs === 1 ? null : `the command ran ${runs} times: ${said.slice(-300)}`,
      'held back tools': noon.includes('twelve') ? null : noon.slice(-300),
    };
  } finally {
    server.child.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  }
};

const startServer = async (
  port: number,
  workspace: string,
  command: string,
): Promise<{ readonly url: string; readonly child: ChildProcess }> => {
  const args = [...process.execArgv, 'test/clients/restarted-server.ts', String(port), workspace, command];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = Promise.withResolvers<string>();
  child.stdout.once('data', (data) => url.resolve(String(data).trim()));
  child.once('exit', () => url.reject(new Error('The server did not start.')));
  return { url: await url.promise, child };
};

const clockServer = `import { createInterface } from 'node:readline';
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'clock', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'noon', description: 'Tells when noon is.', inputSchema: { type: 'object', properties: {} } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'twelve' }] }),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method]?.(params) ?? {} }));
});
`;
