// Peers that speak the vendors' formats over real HTTP: aimock where it can simulate them, a few hand-written frames otherwise.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LLMock } from '@copilotkit/aimock';
import { connectModel } from '#adapters/models';
import type { ResolvedProvider } from '#contracts';
import type { Answer, OpenedModel } from '../../conformance/model.ts';
import { eventsFor } from './wire.ts';
import type { Format } from './wire.ts';

export type Provider = {
  readonly type: ResolvedProvider['type'];
  readonly api?: 'responses' | 'chat';
  readonly modelId: string;
  readonly format: Format;
  /** Path of its API below the host. */
  readonly path: string;
};

export const providers = {
  'OpenAI responses': { type: 'openai', modelId: 'gpt-5', format: 'responses', path: '/v1' },
  'OpenAI chat': { type: 'openai', api: 'chat', modelId: 'gpt-4.1', format: 'chat', path: '/v1' },
  Anthropic: { type: 'anthropic', modelId: 'claude-sonnet-4-5', format: 'messages', path: '/v1' },
  Google: { type: 'google', modelId: 'gemini-2.5-flash', format: 'gemini', path: '/v1beta' },
  OpenRouter: { type: 'openrouter', modelId: 'anthropic/claude-sonnet-4.5', format: 'openrouter', path: '/api/v1' },
  Ollama: { type: 'ollama', modelId: 'qwen3:8b', format: 'chat', path: '/v1' },
  'OpenAI-compatible': { type: 'openai-compatible', modelId: 'some-model', format: 'chat', path: '/v1' },
} as const satisfies Record<string, Provider>;

export const resolved = (
  { type, api = 'responses', path }: Provider,
  host: string,
  more: Partial<ResolvedProvider> = {},
): ResolvedProvider => ({
  name: type,
  type,
  apiKey: type === 'ollama' ? '' : 'key-of-this-session',
  baseUrl: host + path,
  headers: {},
  api,
  ...more,
});

export type Peer = { readonly host: string; readonly left: Promise<void>; close(): Promise<void> };

export const openPeer = ({ format }: Pick<Provider, 'format'>, answers: readonly Answer[]): Promise<Peer> => {
  if (answers.includes('unreachable')) return openUnreachable();
  return answers.every((answer) => aimockPlays(format, answer))
    ? openAimock(format, answers)
    : openWire(format, answers);
};

export const openModel = async (
  provider: Provider,
  answers: readonly Answer[],
  options: Parameters<typeof connectModel>[2] = {},
): Promise<OpenedModel> => {
  const peer = await openPeer(provider, answers);
  const bodies: string[] = [];
  const spy: typeof fetch = (to, init) => {
    bodies.push(init?.body as string);
    return fetch(to, init);
  };
  const model = connectModel(resolved(provider, peer.host), provider.modelId, { ...options, fetch: spy });
  return { model, bodies, left: peer.left, close: () => peer.close() };
};

/** It reports no cached tokens, does not hold a stream open or end it early, and signs for Anthropic and OpenAI only. */
const aimockPlays = (format: Format, answer: Answer): boolean => {
  if (answer === 'unreachable') return false;
  if ('status' in answer) return true;
  if ('end' in answer) return answer.end === 'torn';
  return answer.usage === undefined && !(answer.reasoning !== undefined && ['gemini', 'openrouter'].includes(format));
};

const never = new Promise<void>(() => undefined);

const openAimock = async (format: Format, answers: readonly Answer[]): Promise<Peer> => {
  const mock = new LLMock({ port: 0, chunkSize: 12 });
  answers.forEach((answer, sequenceIndex) => {
    if (answer === 'unreachable') return;
    if ('status' in answer) {
      const { status, retryAfter } = answer;
      const error = { message: `The peer was told to answer ${status}.`, type: 'told_so' };
      mock.on({ sequenceIndex }, { error, status, ...(retryAfter !== undefined && { retryAfter }) });
    } else if ('end' in answer) {
      mock.on({ sequenceIndex }, { content: answer.text }, { truncateAfterChunks: 3 });
    } else {
      const { text, reasoning, calls } = answer;
      const toolCalls = calls?.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) }));
      const thought = reasoning === undefined ? {} : { reasoning, reasoningSignature: 'c2lnbmVkLWJ5LWFpbW9jaw==' };
      // Google says STOP after calls too; aimock would say something else.
      const finish = format === 'gemini' ? { finishReason: 'stop' } : {};
      mock.on(
        { sequenceIndex },
        toolCalls === undefined ? { content: text ?? '', ...thought } : { toolCalls, ...thought, ...finish },
      );
    }
  });
  const host = await mock.start();
  return { host, left: never, close: () => mock.stop() };
};

const openWire = async (format: Format, answers: readonly Answer[]): Promise<Peer> => {
  const { promise: left, resolve: seen } = Promise.withResolvers<void>();
  let next = 0;
  const server = createServer((request, response) => {
    request.resume();
    const answer = answers[next++];
    if (answer === undefined || answer === 'unreachable') {
      response.writeHead(410).end('No answer is left.');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of eventsFor(format, answer)) response.write(frame);
    if ('end' in answer && answer.end === 'never') response.once('close', seen);
    else response.end();
  });
  const host = await listen(server);
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { host, left, close };
};

/** The address of a server that no longer listens. */
const openUnreachable = async (): Promise<Peer> => {
  const server = createServer();
  const host = await listen(server);
  server.close();
  await once(server, 'close');
  return { host, left: never, close: async () => undefined };
};

export const listen = async (server: ReturnType<typeof createServer>): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
