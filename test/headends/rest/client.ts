// A REST client over real HTTP, and agents that follow orders in their input.
import { createHash } from 'node:crypto';
import { defineAgent, defineTeam } from 'cloister';
import type { Agent } from 'cloister';
import type { JsonObject } from '#base';
import { rehearse } from '#testkit';
import type { ScriptLine, RequestView } from '#testkit';
import { serveAgents } from '../http/driver.ts';
import type { ServedAgents } from '../http/driver.ts';

/** The text of the newest message in the prompt, which is framed if an agent sent it. */
const newestMessage = ({ lastText }: RequestView): string =>
  lastText
    .split('\n')
    .at(-1)!
    .replace(/^(?:\| |Your task: )/u, '');

/** `<tool> <args as JSON>` calls the tool; `wait` is never answered; anything else is repeated, with the number of earlier answers. */
const followsOrders: ScriptLine = {
  reply: (request) => {
    const order = /^(?<tool>[a-z_]+) (?<args>\{.*\})$/u.exec(newestMessage(request))?.groups;
    if (request.toolResults.length > 0) return `done: ${request.toolResults.map(({ text }) => text).join(' ')}`;
    if (order !== undefined)
      return { calls: [{ tool: order['tool']!, args: JSON.parse(order['args']!) as JsonObject }] };
    if (newestMessage(request) === 'wait') return { fault: 'timeout' };
    const before = request.messages.filter(({ role }) => role === 'assistant').length;
    return `${request.agent} heard ${newestMessage(request)}, ${before} before`;
  },
};

export const obedientAgents = (): readonly Agent[] => {
  const models = [
    rehearse([
      { when: { agent: 'judge' }, reply: () => '{"points":3}' },
      { when: { agent: 'broken' }, reply: () => ({ fault: 401 }) },
      followsOrders,
    ]),
  ];
  const common = { prompt: 'Obey.', models };
  const scout = defineAgent({ ...common, name: 'scout', description: 'Scouts.' });
  const points = { type: 'object', properties: { points: { type: 'integer' } }, required: ['points'] };
  return [
    defineAgent({ ...common, name: 'echo', description: 'Says what it heard.', usage: 'Anything.' }),
    defineAgent({ ...common, name: 'lead', description: 'Asks others.', agents: [scout] }),
    defineAgent({
      ...common,
      name: 'host',
      description: 'Starts others.',
      tools: ['spawn_agent'],
      spawns: { agents: [scout] },
    }),
    defineAgent({ ...common, name: 'judge', description: 'Gives JSON.', output: { format: 'json', schema: points } }),
    defineTeam({ name: 'crew', description: 'Plans badly.', agents: [scout], coordinator: scout }),
    defineAgent({ ...common, name: 'broken', description: 'Its key is wrong.' }),
  ];
};

const sha256 = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Served to two callers, each with its own token. */
export const serveTwoCallers = async (options: { readonly workspace?: string } = {}) => {
  const tokens = ['ana', 'ben'].map((name) => ({ name, sha256: sha256(`clo_${name}`) }));
  const served = await serveAgents({ agents: obedientAgents(), tokens, ...options });
  return { ...served, ana: restClient(served, 'clo_ana'), ben: restClient(served, 'clo_ben') };
};

export type Client = ReturnType<typeof restClient>;
export type JsonResponse = { readonly status: number; readonly body: any; readonly headers: Headers };
type Init = { readonly signal?: AbortSignal; readonly headers?: Record<string, string> };

const restClient = ({ url }: Pick<ServedAgents, 'url'>, token: string) => {
  const send = (method: string, path: string, body: unknown, { headers, ...init }: Init): Promise<Response> =>
    fetch(url + path, {
      ...init,
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    });
  const answered = async (response: Promise<Response>): Promise<JsonResponse> => {
    const { status, headers } = await response;
    return { status, headers, body: await (await response).json() };
  };
  return {
    get: (path: string, init: Init = {}) => answered(send('GET', path, undefined, init)),
    post: (path: string, body: unknown, init: Init = {}) => answered(send('POST', path, body, init)),
    remove: (path: string) => answered(send('DELETE', path, undefined, {})),
    /** Leaving the loop closes the connection. */
    async *events(
      path: string,
      { body, after }: { readonly body?: unknown; readonly after?: string | undefined } = {},
    ): AsyncGenerator<StreamedEvent> {
      const leaving = new AbortController();
      try {
        const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': after };
        const response = await send(body === undefined ? 'GET' : 'POST', path, body, {
          headers,
          signal: leaving.signal,
        });
        if (!response.headers.get('content-type')!.startsWith('text/event-stream'))
          throw new Error(`${response.status}: ${await response.text()}`);
        yield* readEvents(response.body!);
      } finally {
        leaving.abort();
      }
    },
  };
};

export type StreamedEvent = { readonly event: string; readonly id: string | null; readonly data: any };

/** Parses the stream as the standard says. */
const readEvents = async function* (body: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let rest = '';
  let fields: (readonly [string, string])[] = [];
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split(/\r\n|\r|\n/u);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        const of = (name: string) => fields.filter(([key]) => key === name).map(([, value]) => value);
        if (of('data').length > 0)
          yield {
            event: of('event').at(-1) ?? 'message',
            id: of('id').at(-1) ?? null,
            data: JSON.parse(of('data').join('\n')) as unknown,
          };
        fields = [];
      } else {
        const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
        fields.push([name, value]);
      }
    }
  }
};

export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};
