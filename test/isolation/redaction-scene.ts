// Agents whose models, tools, servers and providers all say the secrets they were given, in every form and everywhere.
import { fileURLToPath } from 'node:url';
import type { ServerResponse } from 'node:http';
import { chatStream } from './fake-wire.ts';
import type { ChatReply } from './fake-wire.ts';
import type { Arrived } from './loopback.ts';
import { apiKey, base64At, token } from './secret-forms.ts';
import { aiFile } from './temporary-folder.ts';
import type { Files } from './temporary-folder.ts';

const serverScript = fileURLToPath(new URL('recording-stdio-server.js', import.meta.url));
const both = `${apiKey} and ${token}`;

export const secretGoal = `Say ${both}, ${encodeURIComponent(apiKey)}, ${base64At(token, 1)}.`;

/** `modelUrl`: where all the models are. */
export const secretFiles = (modelUrl: string): Files => ({
  '.ai-agent.json': {
    providers: Object.fromEntries(
      ['lead', 'child', 'shaped', 'refused', 'stopped'].map((name) => [
        name,
        { type: 'openai-compatible', baseUrl: `${modelUrl}/${name}`, apiKey: '${API_KEY}' },
      ]),
    ),
    mcpServers: {
      kit: { type: 'module', module: './kit.mjs' },
      recorder: {
        command: process.execPath,
        args: [serverScript, './told', '', '--token', '${TOKEN}'],
        env: { TOKEN: '${TOKEN}' },
      },
      // Dies before it sends anything of the protocol.
      still: { command: '/bin/sh', args: ['-c', 'echo "$TOKEN" >&2; exit 3'], env: { TOKEN: '${TOKEN}' } },
    },
  },
  '.ai-agent.env': `API_KEY='${apiKey}'\nTOKEN='${token}'\n`,
  'kit.mjs': kit,
  'lead.ai': aiFile({
    models: ['lead/m'],
    tools: ['kit', 'recorder', 'write_file', 'read_file', 'list_files'],
    agents: ['child', 'shaped', 'refused', 'stopped'],
  }),
  'child.ai': aiFile({ models: ['child/m'], tools: ['write_file'] }),
  'shaped.ai': aiFile({
    models: ['shaped/m'],
    input: { format: 'json', schema: { type: 'object', properties: { question: { type: 'string' } } } },
    output: { format: 'json' },
  }),
  'refused.ai': aiFile({ models: ['refused/m'], limits: { maxRetries: 0 } }),
  'stopped.ai': aiFile({ models: ['stopped/m'], tools: ['still'] }),
});

/** Tools that return a given text, and long ones that repeat it every few bytes. */
const kit = `
const both = ${JSON.stringify(both)};
const tool = (name, execute) => ({ name, description: 'Says it.', inputSchema: { type: 'object' }, repeat: 'free', execute });
export default [
  tool('say', ({ as }) => ({ raw: both, json: { type: 'json', value: { [both]: [both, { both }] } }, ...${JSON.stringify(encoded())} })[as]),
  tool('fail', ({ as }) => {
    if (as === 'text') throw both;
    throw new Error(as === 'json' ? JSON.stringify({ both }) : both);
  }),
  tool('long', ({ step }) => Array.from({ length: 400 }, (_, at) => 'x'.repeat((at * step) % 37) + both).join(' ')),
];
`;

function encoded(): Record<string, string> {
  return Object.fromEntries([
    ...[0, 1, 2].flatMap((at) => [
      [`base64-${at}`, `${base64At(apiKey, at)} ${base64At(token, at)}`],
      [`base64url-${at}`, `${base64At(apiKey, at)} ${base64At(token, at)}`.replaceAll('+', '-').replaceAll('/', '_')],
    ]),
    ['url', `${encodeURIComponent(apiKey)} ${encodeURIComponent(token)}`],
    ['form', new URLSearchParams({ apiKey, token }).toString()],
    ['hex', `${Buffer.from(apiKey).toString('hex')} ${Buffer.from(token).toString('hex')}`],
    ['json-text', JSON.stringify({ both })],
    ['json-twice', JSON.stringify(JSON.stringify({ both }))],
  ]);
}

// ---- the models

type Calls = readonly { readonly name: string; readonly input: string }[];
const call = (name: string, args: object): Calls[number] => ({ name, input: JSON.stringify(args) });

/** A text in pieces of that many characters; over all sizes, every secret in it is cut at every position. */
const cut = (text: string, size: number): readonly string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'gu')) ?? [];

const leadTurns: readonly { readonly pieces: readonly string[]; readonly calls: Calls }[] = [
  {
    pieces: cut(`First ${both}. ${apiKey}${apiKey}${token}`, 1),
    calls: [
      ...['raw', 'json', ...Object.keys(encoded())].map((as) => call('kit__say', { as })),
      ...['text', 'json', 'error'].map((as) => call('kit__fail', { as })),
      ...[1, 7].map((step) => call('kit__long', { step, why: both })),
    ],
  },
  {
    pieces: cut(`Then ${both}.`, 3),
    calls: [
      call('write_file', {
        path: 'notes.md',
        content: `${both}\n${base64At(apiKey, 0)}\n${encodeURIComponent(token)}`,
      }),
      call('write_file', { path: `${both}.md`, content: both }),
      call(both, { both }),
      { name: 'kit__say', input: `{"as": ${both}` },
      call('kit__say', { as: 'raw', [both]: both }),
      call('read_file', { path: both }),
      call('recorder__environment', {}),
      call('recorder__look', { mark: both }),
      call('recorder__die', {}),
    ],
  },
  {
    pieces: cut(`And ${both}.`, 5),
    calls: [
      call('child', { prompt: `Say ${both}.`, reason: `Because of ${both}` }),
      call('shaped', { question: both, reason: both }),
      call('refused', { prompt: both }),
      call('stopped', { prompt: both }),
      call('read_output', { name: 'kit__long_001.txt', from: 11_000 }),
      call('read_file', { path: 'notes.md' }),
      call('list_files', {}),
    ],
  },
  { pieces: cut(`At last ${both}: ${JSON.stringify(both)} ${base64At(token, 2)}`, 7), calls: [] },
];

const replies: Readonly<Record<string, (turn: number) => ChatReply>> = {
  lead: (turn) => {
    const { pieces, calls } = leadTurns[turn]!;
    return {
      pieces,
      thoughts: cut(`I think of ${both}.`, 6),
      calls: calls.map((one, index) => ({ id: `call_${turn}_${index}`, ...one })),
    };
  },
  child: (turn) =>
    turn === 0
      ? { calls: [{ id: 'call_0_0', ...call('write_file', { path: 'plan.md', content: both }) }] }
      : { pieces: cut(`My plan is ${both}.`, 2) },
  shaped: () => ({ pieces: cut(JSON.stringify({ answer: both, [both]: [both] }), 4) }),
  stopped: () => ({ text: both }),
  stray: (turn) => (turn === 0 ? { calls: [{ id: 'call_0_0', ...call('kit__stray', {}) }] } : { text: 'Done.' }),
};

/** Answers as the model of the agent whose name is in the address. */
export const answerSecrets = ({ url, headers, body }: Arrived, to: ServerResponse): void => {
  const agent = url.split('/')[1]!;
  if (agent === 'refused') {
    const words = `Incorrect API key provided: ${String(headers['authorization'])}, ${both}, ${JSON.stringify(both)}`;
    to.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: words } }));
    return;
  }
  const turn = body.split('"role":"assistant"').length - 1;
  to.writeHead(200, { 'content-type': 'text/event-stream' }).end(chatStream(replies[agent]!(turn)));
};
