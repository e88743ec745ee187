// A client of chat completions that has tools, without a socket.
import { onTestFinished } from 'vitest';
import { openCloister, openServer, hashToken } from 'cloister';
import type { Agent, Cloister, CloisterOptions, Server, ServerOptions } from 'cloister';
import { weather, time } from '../../headends/client-tools/scripted-agents.ts';
import { postRequest } from './local-requests.ts';

export type Call = { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } };

export type ClientReply = {
  readonly status: number;
  /** What the agent said. */
  readonly text: string | null;
  readonly calls: readonly Call[];
  readonly finish: string | undefined;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | undefined;
};

export type ToolsServed = {
  readonly server: Server;
  readonly cloister: Cloister;
  ask(goal: string, more?: ClientRequestOptions): Promise<ClientReply>;
  /** Results of calls: an id for each, or a call. */
  give(
    results: readonly (readonly [call: Call | string, text: string])[],
    more?: ClientRequestOptions,
  ): Promise<ClientReply>;
  send(path: string, body: unknown, more?: ClientRequestOptions): Promise<Response>;
};

export type ClientRequestOptions = {
  readonly as?: string;
  readonly model?: string;
  readonly tools?: readonly unknown[];
  readonly more?: object;
  readonly signal?: AbortSignal;
};

export const chatTool = ({ name, description, schema }: { name: string; description: string; schema: object }) => ({
  type: 'function',
  function: { name, description, parameters: schema },
});
export const chatTools = [weather, time].map(chatTool);

export type ServeToolsOptions = {
  readonly agents: readonly Agent[];
  readonly of?: Partial<CloisterOptions>;
  readonly options?: ServerOptions;
};

/** The callers are `me` and `you`; the name of each is its token. */
export const serveTools = async ({ agents, of = {}, options = {} }: ServeToolsOptions): Promise<ToolsServed> => {
  const kept = of.workspace === undefined ? ({ store: 'memory' } as const) : {};
  const cloister = await openCloister({ agents, ...kept, ...of });
  const tokens = ['me', 'you'].map((name) => ({ name, sha256: hashToken(name) }));
  const server = await openServer(cloister, { tokens, clients: { tools: true }, ...options });
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  const send: ToolsServed['send'] = (path, body, { as = 'me', signal } = {}) =>
    server.fetch(postRequest(path, as, body, signal));
  const chat = async (messages: readonly unknown[], asking: ClientRequestOptions = {}): Promise<ClientReply> => {
    const { model = 'guide', tools = chatTools, more = {} } = asking;
    const response = await send('/v1/chat/completions', { model, messages, tools, ...more }, asking);
    const { choices: [choice] = [], error, usage } = (await response.json()) as any;
    const { content = null, tool_calls = [] } = choice?.message ?? {};
    return { status: response.status, text: content, calls: tool_calls, finish: choice?.finish_reason, error, usage };
  };
  return {
    server,
    cloister,
    send,
    ask: (goal, asking) => chat([{ role: 'user', content: goal }], asking),
    give: (results, asking) => {
      const sent = results.map(([call, content]) => ({
        role: 'tool',
        tool_call_id: typeof call === 'string' ? call : call.id,
        content,
      }));
      return chat([{ role: 'user', content: 'x' }, { role: 'assistant', tool_calls: [{}] }, ...sent], asking);
    },
  };
};

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
