// An HTTP server whose every answer is decided by the test.
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { mcpSource } from '#adapters/mcp';
import type { Json } from '#base';
import type { ListedTools, ResolvedServer } from '#contracts';
import { unabortedSignal } from '../../conformance/tool-source.ts';
import { closed, listen } from './peers.ts';

export type ReceivedRequest = {
  readonly method: string;
  readonly params: any;
  readonly headers: IncomingMessage['headers'];
};

/** The result of a request, or undefined for the usual answer. */
type Answer = (requests: ReceivedRequest) => unknown;

export type ScriptedServer = { readonly url: string; readonly requests: ReceivedRequest[] };

export const oneTool = { name: 'one', inputSchema: { type: 'object' } };

export const startScriptedServer = async (answer: Answer = () => undefined): Promise<ScriptedServer> => {
  const requests: ReceivedRequest[] = [];
  const { server, url } = await listen(async (message, to) => {
    const body = await text(message);
    const { id, method, params } =
      body === '' ? { id: undefined, method: message.method, params: {} } : JSON.parse(body);
    requests.push({ method, params, headers: message.headers });
    if (id === undefined) return void to.writeHead(202).end();
    const result = answer({ method, params, headers: message.headers }) ?? usual(method, params);
    to.writeHead(200, { 'content-type': 'application/json' });
    to.end(JSON.stringify(result === undefined ? unknown(id) : { jsonrpc: '2.0', id, result }));
  });
  onTestFinished(async () => closed(server));
  return { url, requests };
};

const unknown = (id: number): object => ({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });

const usual = (method: string, params: any): object | undefined => {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'handmade', version: '1' },
        instructions: 'Obey me.',
      };
    case 'tools/list':
      return { tools: [oneTool] };
    case 'tools/call':
      return { content: [{ type: 'text', text: 'done' }] };
    default:
      return undefined;
  }
};

export type ListOptions = Partial<Pick<ResolvedServer, 'trusted' | 'tools' | 'connectTimeoutMs' | 'approve'>> & {
  readonly headers?: Record<string, string>;
};

export const listRemote = async (
  url: string,
  extra: ListOptions = {},
  type: 'http' | 'sse' | 'websocket' = 'http',
): Promise<ListedTools> => {
  const server = { name: 'made', type, url, headers: {}, ...extra };
  const listed = await mcpSource(server, { clientName: 'tester', version: '9' }).list({ signal: unabortedSignal() });
  onTestFinished(async () => listed.close?.());
  return listed;
};

/** Lists the tools that a server announces. */
export const listOf = async (tools: Json, extra: ListOptions = {}): Promise<ListedTools> => {
  const { url } = await startScriptedServer(({ method }) => (method === 'tools/list' ? { tools } : undefined));
  return listRemote(url, extra);
};
