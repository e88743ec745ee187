// Inputs of 10 MB, or as much as the runtime accepts, on every way into a cell.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';

export const megabytes = 10;
const size = megabytes * 1_000_000;

/** Words, so that neither a search nor a hash has an easy job; some are not ASCII. */
const words = 'the key of a café was kept under the third stone – nobody looked there until April came with its rain, ';
const longText = words.repeat(Math.ceil(size / Buffer.byteLength(words)));
/** The longest reply that a model may give. */
const longReply = longText.slice(0, 1_990_000);

const wide = (): readonly object[] =>
  Array.from({ length: size / 100 }, (_, at) => ({
    id: at,
    name: `item ${at}`,
    tags: ['one', 'two'],
    ok: at % 2 === 0,
  }));

const deep = (): object => {
  let value: object = {};
  for (let level = 0; level < 3_000; level++)
    value = { level, text: words.repeat(size / 3_000 / words.length), next: value };
  return value;
};

type Reply = { readonly text?: string; readonly calls?: readonly { readonly tool: string; readonly input: string }[] };

/** Replies by turn, in pieces of some kilobytes, as a provider streams them. */
export const modelOf = (
  replies: (agent: string, turn: number) => Reply,
  turns = new Map<string, number>(),
): LanguageModelV4 => ({
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'large',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('Not used.')),
  async doStream({ prompt }) {
    const system = prompt.find((message) => message.role === 'system');
    const agent = /You are the agent "([^"]+)"/u.exec(system?.content ?? '')?.[1] ?? '';
    const turn = (turns.get(agent) ?? 0) + 1;
    turns.set(agent, turn);
    const { text = '', calls = [] } = replies(agent, turn);
    return { stream: ReadableStream.from(partsOf(text, calls, turn)) };
  },
});

const pieceChars = 16_384;

async function* partsOf(
  text: string,
  calls: NonNullable<Reply['calls']>,
  order: number,
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id: '0' };
  for (let at = 0; at < text.length; at += pieceChars) {
    if (at % (pieceChars * 16) === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    yield { type: 'text-delta', id: '0', delta: text.slice(at, at + pieceChars) };
  }
  yield { type: 'text-end', id: '0' };
  // Replies that end in the same turn of the loop would count as one piece.
  for (let turn = 0; turn < order * 50; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  for (const [at, { tool, input }] of calls.entries())
    yield { type: 'tool-call', toolCallId: `c${at}`, toolName: tool, input };
  yield {
    type: 'finish',
    finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: { total: 200, noCache: 200, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 20, text: 20, reasoning: 0 },
    },
  };
}

const wideValue = wide();
const deepValue = deep();
const wideAnswer = JSON.stringify({ items: wideValue.slice(0, 28_000) });
const writeInput = JSON.stringify({ path: 'a.txt', content: longReply });

export type Scenario = {
  readonly what: string;
  readonly agents: (folder: string) => readonly (Agent | string)[];
  readonly replies: (agent: string, turn: number) => Reply;
};

const define = (name: string, more: Partial<Parameters<typeof defineAgent>[0]> = {}): Agent =>
  defineAgent({ name, description: 'Works.', prompt: 'You work.', ...more });

const tool = (execute: () => string | { type: 'json'; value: never }) => ({
  name: 'fetch',
  description: 'Fetches.',
  inputSchema: { type: 'object' },
  execute,
});

const callFetch = (_agent: string, turn: number): Reply =>
  turn === 1 ? { calls: [{ tool: 'fetch', input: '{}' }] } : { text: 'Done.' };

const serverCode = (result: string): string => `import { createInterface } from 'node:readline';
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const big = ${result};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'b', version: '1' } } });
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: 'fetch', description: 'Fetches.', inputSchema: { type: 'object' } }] } });
  else send({ id, result: big });
});`;

/** An agent file with a tool server that has a secret, so that everything is searched for it. */
const withServer =
  (result: string) =>
  (folder: string): readonly string[] => {
    writeFileSync(join(folder, 'server.mjs'), serverCode(result));
    writeFileSync(
      join(folder, '.ai-agent.json'),
      JSON.stringify({
        mcpServers: {
          big: {
            type: 'stdio',
            command: process.execPath,
            args: [join(folder, 'server.mjs')],
            env: { TOKEN: '${BENCH_TOKEN}' },
          },
        },
      }),
    );
    writeFileSync(
      join(folder, 'solo.ai'),
      '---\ndescription: Works.\nusage: Go.\noutput: { format: markdown }\ntools: [big]\n---\nYou work.\n',
    );
    return [join(folder, 'solo.ai')];
  };

const callServer = (_agent: string, turn: number): Reply =>
  turn === 1 ? { calls: [{ tool: 'big__fetch', input: '{}' }] } : { text: 'Done.' };

const findings = (from: number): string =>
  JSON.stringify({
    findings: Array.from({ length: 10_000 }, (_, at) => ({
      text: `Finding ${from + at}: ${words}`,
      source: `https://example.org/${from + at}`,
    })),
  });

const findingsText = findings(0);

export const scenarios: readonly Scenario[] = [
  { what: 'tool result: text', agents: () => [define('solo', { tools: [tool(() => longText)] })], replies: callFetch },
  {
    what: 'tool result: wide JSON',
    agents: () => [define('solo', { tools: [tool(() => ({ type: 'json', value: wideValue as never }))] })],
    replies: callFetch,
  },
  {
    what: 'tool result: deep JSON',
    agents: () => [define('solo', { tools: [tool(() => ({ type: 'json', value: deepValue as never }))] })],
    replies: callFetch,
  },
  {
    what: 'MCP result with a secret searched: text',
    agents: withServer(
      `{ content: [{ type: 'text', text: ${JSON.stringify(words)}.repeat(${Math.ceil(size / words.length)}) }] }`,
    ),
    replies: callServer,
  },
  {
    what: 'MCP result with a secret searched: structured',
    agents: withServer(
      `{ content: [], structuredContent: { items: Array.from({ length: ${size / 100} }, (_, at) => ({ id: at, name: 'item ' + at, tags: ['one', 'two'] })) } }`,
    ),
    replies: callServer,
  },
  { what: 'model reply', agents: () => [define('solo')], replies: () => ({ text: longReply }) },
  {
    what: 'model reply with a secret searched',
    agents: withServer('{ content: [] }'),
    replies: () => ({ text: longReply }),
  },
  {
    what: 'tool arguments',
    agents: () => [define('solo', { tools: [tool(() => 'ok')] })],
    replies: (_agent, turn) => (turn === 1 ? { calls: [{ tool: 'fetch', input: wideAnswer }] } : { text: 'Done.' }),
  },
  {
    what: 'write_file',
    agents: () => [define('solo', { tools: ['write_file', 'read_file'] })],
    replies: (_agent, turn) =>
      turn === 1
        ? { calls: [{ tool: 'write_file', input: writeInput }] }
        : turn === 2
          ? { calls: [{ tool: 'read_file', input: '{"path":"a.txt"}' }] }
          : { text: 'Done.' },
  },
  {
    what: 'read_output',
    agents: () => [define('solo', { tools: [tool(() => longText)] })],
    replies: (_agent, turn) =>
      turn === 1
        ? { calls: [{ tool: 'fetch', input: '{}' }] }
        : turn < 5
          ? { calls: [{ tool: 'read_output', input: `{"name":"fetch_001.txt","from":${turn * 1_000_000}}` }] }
          : { text: 'Done.' },
  },
  {
    what: 'child result',
    agents: () => [define('lead', { agents: [define('child')] })],
    replies: (agent, turn) =>
      agent === 'child'
        ? { text: longReply }
        : turn === 1
          ? { calls: [{ tool: 'child', input: '{"prompt":"Go."}' }] }
          : { text: 'Done.' },
  },
  {
    what: 'read_output of a child result',
    agents: () => [define('lead', { agents: [define('child')] })],
    replies: (agent, turn) =>
      agent === 'child'
        ? { text: longReply }
        : turn === 1
          ? { calls: [{ tool: 'child', input: '{"prompt":"Go."}' }] }
          : turn < 4
            ? { calls: [{ tool: 'read_output', input: `{"name":"child_001.txt","from":${turn * 1_000_000}}` }] }
            : { text: 'Done.' },
  },
  {
    what: 'gather of 4 × 10,000 findings',
    agents: () => [define('lead', { agents: [define('child')], gather: { timeoutMs: 600_000 } })],
    replies: (agent, turn) =>
      agent === 'child'
        ? { text: findingsText }
        : turn === 1
          ? {
              calls: [
                {
                  tool: 'gather',
                  input: JSON.stringify({
                    tasks: Array.from({ length: 4 }, () => ({ agent: 'child', prompt: 'Go.' })),
                  }),
                },
              ],
            }
          : { text: 'Done.' },
  },
  {
    what: 'JSON answer checked against a schema',
    agents: () => [
      define('solo', {
        output: {
          format: 'json',
          schema: { type: 'object', properties: { items: { type: 'array', items: { type: 'object' } } } },
        },
      } as never),
    ],
    replies: () => ({ text: wideAnswer }),
  },
];
