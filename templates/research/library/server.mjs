// A tool server (MCP over stdin and stdout) for the notes in this folder. It needs no package, and reads no other folder.
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const folder = import.meta.dirname;
const notes = readdirSync(folder).filter((name) => name.endsWith('.md'));
const read = (name) => readFileSync(`${folder}/${name}`, 'utf8');

const tool = (name, description, key) => ({
  name,
  description,
  inputSchema: {
    type: 'object',
    properties: { [key]: { type: 'string' } },
    required: [key],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
});
const tools = [tool('search', 'Find notes that contain a word.', 'word'), tool('read', 'Read a note.', 'note')];

const call = ({ name, arguments: { word = '', note = '' } }) => {
  if (name === 'read')
    return notes.includes(note) ? read(note) : `There is no note ${note}. There are ${notes.join(', ')}.`;
  const found = notes.filter((one) => read(one).toLowerCase().includes(word.toLowerCase()));
  return found.join('\n') || 'Nothing found.';
};

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'library', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: call(params) }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = Object.hasOwn(results, method)
    ? { result: results[method](params) }
    : { error: { code: -32601, message: `unknown method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
}
