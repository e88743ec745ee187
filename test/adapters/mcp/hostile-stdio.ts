// A server process that misbehaves on request. It implements the protocol by hand, and does not exit when its input ends.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

type Message = { id?: number | string; method?: string; params?: any; result?: unknown; error?: unknown };

const [mode = ''] = process.argv.slice(2);
setInterval(() => undefined, 100_000);

const write = (text: string): void => void process.stdout.write(`${text}\n`);
const send = (message: object): void => write(JSON.stringify({ jsonrpc: '2.0', ...message }));
const large = (bytes: number): string => JSON.stringify('x'.repeat(bytes));
const pendingRequests = new Map<number, (answer: Message) => void>();

const tools: Record<string, (id: number | string, args: any) => void> = {
  echo: (id, { text }) => say(id, String(text)),
  hang: () => undefined,
  largeIdFirst: (id, { bytes }) =>
    write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":${large(bytes)}}]}}`),
  largeIdLast: (id, { bytes }) =>
    write(`{"result":{"content":[{"type":"text","text":${large(bytes)},"id":0}]},"id":${id},"jsonrpc":"2.0"}`),
  largeIdHidden: (id, { bytes }) =>
    write(
      `{"a":${large(1_000)},"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":${large(bytes)}}]}}`,
    ),
  largeNotification: (id, { bytes }) => {
    send({ method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(bytes) } });
    say(id, 'after the notification');
  },
  floodStderr: (id, { bytes }) => {
    const block = Buffer.alloc(1_000_000, 'flood ');
    for (let written = 0; written < bytes; written += block.length) process.stderr.write(block);
    process.stderr.write('the end of the flood', () => say(id, 'written'));
  },
  garbage: (id) => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const lines = ['', ' ', 'Listening on port 3000', '{', 'null', '7', '"text"', '[]', '[null]', '{}', '{"id":null}'];
    const odd = [
      '{"jsonrpc":"2.0","id":99999,"result":{}}',
      '{"jsonrpc":"2.0","method":"x","params":7}',
      deep,
      `{"jsonrpc":"2.0","id":77777,"result":{"a":${deep}}}`,
    ];
    for (const line of [...lines, ...odd, '\u0000\u0001', '{"__proto__":{"polluted":true}}']) write(line);
    process.stdout.write(Buffer.from([0xff, 0xfe, 0xc3, 10]));
    say(id, 'after the garbage');
  },
  deep: (id) =>
    write(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}}`,
    ),
  dieLoud: () => process.stderr.write('\u001b[31mthe reason is here\u001b[0m\n', () => process.exit(3)),
  dieBySignal: () => process.kill(process.pid, 'SIGKILL'),
  // Returns three pids: the server, a shell, and a child of that shell.
  family: (id) => {
    const child = spawn('/bin/sh', ['-c', 'sleep 1000 & echo $!; wait'], { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: child.stdout }).once('line', (pid) =>
      say(id, JSON.stringify([process.pid, child.pid, Number(pid)])),
    );
  },
  askForModel: (id) => {
    pendingRequests.set(1, (answer) => say(id, JSON.stringify(answer.error)));
    send({ id: 1, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
  },
  environment: (id) => say(id, JSON.stringify(process.env)),
};

const say = (id: number | string, text: string): void => send({ id, result: { content: [{ type: 'text', text }] } });

const answer = (message: Message): void => {
  const { id, method, params } = message;
  if (id === undefined) return;
  if (method === undefined) return pendingRequests.get(Number(id))?.(message);
  switch (method) {
    case 'initialize':
      return send({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'hostile', version: '1' },
        },
      });
    case 'tools/list':
      return send({
        id,
        result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) },
      });
    case 'tools/call':
      return tools[params.name]?.(id, params.arguments);
    default:
      if (mode === 'end-at-the-unknown') process.exit(0);
      if (mode !== 'silent-at-the-unknown') send({ id, error: { code: -32_601, message: 'Method not found' } });
  }
};

if (mode === 'crash') process.stderr.write('API_KEY is not set\n', () => process.exit(3));
else if (mode !== 'hang') createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)));
