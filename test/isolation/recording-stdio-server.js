// A tool server as a process that records everything it receives: its arguments, its environment, every byte it was sent.
// It implements the protocol by hand and is plain JavaScript, because many of these processes are started.
//   node recording-stdio-server.js <folder for its records> <what its tools return, base64> [any other argument]
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [folder = '', results = ''] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const file = join(folder, `${process.pid}.jsonl`);
const note = (what) => appendFileSync(file, `${JSON.stringify(what)}\n`);
/** The configured result, and the server's token if it has one. */
const found = Buffer.from(results, 'base64').toString() + (process.env['TOKEN'] ?? '');
let count = 0;

const tools = {
  look: ({ mark }) => `${mark} ${found}`,
  count: () => String(++count),
  environment: () => JSON.stringify(process.env),
  fail: () => {
    throw new Error(`No luck with ${found}.`);
  },
  die: () => {
    process.stderr.write(`I had ${found}.\n`, () => process.exit(3));
    return null;
  },
};

const send = (message) => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const call = (id, { name, arguments: args }) => {
  try {
    const text = tools[name](args);
    if (text !== null) send({ id, result: { content: [{ type: 'text', text }] } });
  } catch (error) {
    send({ id, result: { isError: true, content: [{ type: 'text', text: error.message }] } });
  }
};

const answer = ({ id, method, params }) => {
  if (id === undefined) return;
  const serverInfo = { name: 'recorder', version: '1' };
  if (method === 'initialize')
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
  else if (method === 'tools/list') send({ id, result: { tools: Object.keys(tools).map(listed) } });
  else if (method === 'tools/call') call(id, params);
  else send({ id, error: { code: -32_601, message: 'Method not found' } });
};

const listed = (name) => ({ name, description: `Does ${name}. ${found}`, inputSchema: { type: 'object' } });

note({ argv: process.argv.slice(1), env: process.env, cwd: process.cwd() });
createInterface({ input: process.stdin }).on('line', (line) => {
  note(`${line}\n`);
  answer(JSON.parse(line));
});
