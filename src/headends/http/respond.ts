// Writes replies as HTTP responses.
import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { ErrorCode, Json } from '#base';
import type { ClientFailure, ErrorFormatter, RouteReply, ServerEvent } from '#contracts';
import { acceptsGzip, compressedCharsMin, compressText, openStreamEncoder } from './compress.ts';
import { pulledStream } from './pulled-stream.ts';
import { fileResponse } from './file-response.ts';
import type { FileRequest } from './file-response.ts';
import type { PulledOptions } from './pulled-stream.ts';

/** Unless it is a file, a response is no page: none may be cached, framed or content-sniffed. */
const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

export type HeaderMap = Readonly<Record<string, string>>;

/** The headers of every response to one request. */
export const commonHeaders = (request: string, more: HeaderMap): HeaderMap => ({
  ...securityHeaders,
  'x-request-id': request,
  // The same id, under the name that Anthropic's clients look for.
  'request-id': request,
  ...more,
});

/** A complete reply that is not a Response yet: Node can write it directly, which takes half as long. */
export type CompleteReply = {
  readonly status: number;
  /** The headers of every response, and those of this one only. No name is in both. */
  readonly common: HeaderMap;
  readonly more: HeaderMap;
  /** JSON, or nothing. */
  readonly text: string;
  /** The text compressed, if the client takes that. */
  readonly compressed?: Uint8Array<ArrayBuffer>;
  /** The reason, if it is an error. For the operator; the client has it in the body. */
  readonly code?: ErrorCode;
};

export const completeReply = (
  status: number,
  body: Json | undefined,
  common: HeaderMap,
  { more = noHeaders, code }: { readonly more?: HeaderMap | undefined; readonly code?: ErrorCode | undefined } = {},
): CompleteReply => {
  const text = body === undefined ? '' : JSON.stringify(body);
  return code === undefined ? { status, common, more, text } : { status, common, more, text, code };
};

const noHeaders: HeaderMap = {};

/** Writes to the socket if there is one; else returns a Response. */
export const sendReply = (reply: CompleteReply | Response, outgoing?: ServerResponse): Response => {
  if (reply instanceof Response) return reply;
  const { status, common, more, text, compressed } = reply;
  const type = text === '' ? noHeaders : compressed === undefined ? jsonHeaders : compressedJsonHeaders;
  const body = compressed ?? text;
  if (outgoing === undefined)
    return new Response(text === '' ? null : body, { status, headers: { ...more, ...common, ...type } });
  if (!outgoing.destroyed) {
    // A flat array: merging objects only for Node to take them apart again would cost time.
    const list: string[] = [];
    for (const headers of [common, more, type]) for (const name in headers) list.push(name, headers[name]!);
    list.push('content-length', String(Buffer.byteLength(body)));
    outgoing.writeHead(status, list);
    outgoing.end(body);
  }
  return RESPONSE_ALREADY_SENT;
};

const jsonHeaders: HeaderMap = { 'content-type': 'application/json' };

const compressedJsonHeaders: HeaderMap = { ...jsonHeaders, 'content-encoding': 'gzip' };

/** Compresses what is worth it. `accepted`: the client's `accept-encoding`. */
export const compressReply = async (
  reply: CompleteReply | Response,
  accepted: string | null,
): Promise<CompleteReply | Response> => {
  if (reply instanceof Response || reply.text.length < compressedCharsMin || !acceptsGzip(accepted)) return reply;
  return { ...reply, compressed: await compressText(reply.text) };
};

export type StreamOptions = Omit<PulledOptions, 'idle' | 'encoder'> & {
  readonly keepAliveMs: number;
  /** The client's `accept-encoding`. */
  readonly accepted: string | null;
};

export const replyResponse = (
  reply: RouteReply,
  common: HeaderMap,
  streaming: StreamOptions,
  request: FileRequest,
): CompleteReply | Response => {
  if ('file' in reply) return fileResponse(reply.file, request, common, streaming);
  if (!('events' in reply)) {
    const { status, body, code, headers: more } = reply;
    return completeReply(status, body, common, { more, code });
  }
  const { keepAliveMs, accepted, ...options } = streaming;
  const compresses = reply.compress === true && acceptsGzip(accepted);
  const stream = pulledStream(encodeEvents(reply.events), {
    ...options,
    idle: { ms: keepAliveMs, text: keepAlive },
    ...(compresses ? { encoder: openStreamEncoder() } : {}),
  });
  const encoding = compresses ? { 'content-encoding': 'gzip' } : {};
  return new Response(stream, { headers: { ...reply.headers, ...common, ...eventHeaders, ...encoding } });
};

/** Tells proxies not to buffer the events. */
const eventHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** Not a generator: a generator cannot be ended while it awaits the next event, and this iterator can if `events` can. */
const encodeEvents = (events: AsyncIterable<ServerEvent>): AsyncIterable<string> => ({
  [Symbol.asyncIterator]: () => {
    const iterator = events[Symbol.asyncIterator]();
    return {
      next: async () => {
        const { done, value } = await iterator.next();
        return done === true ? { done, value: undefined } : { done: false, value: encodeEvent(value) };
      },
      return: async () => {
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    };
  },
});

export const failureResponse = (
  failure: ClientFailure,
  formatError: ErrorFormatter,
  common: HeaderMap,
  more: HeaderMap = {},
): CompleteReply => {
  const { status, code, retryable, retryAfterMs } = failure;
  const headers: HeaderMap = {
    ...more,
    // The clients of OpenAI and Anthropic retry by themselves. This header limits that to failures where a retry helps.
    'x-should-retry': retryable ? 'true' : 'false',
    ...(retryAfterMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  };
  return completeReply(status, formatError(failure, common['x-request-id'] ?? ''), common, { more: headers, code });
};

// Encodes server-sent events.
//
//   sse-text-stays-in-event. No text can break out of its event: each line becomes its own field, and line ends are removed
//       from names and ids.
export const encodeEvent = ({ event, id, data }: ServerEvent): string => {
  let text = '';
  if (event !== undefined) text += `event: ${oneLine(event)}\n`;
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  // JSON contains no line ends; other texts may.
  if (!lineEnd.test(data)) return `${text}data: ${data}\n\n`;
  for (const line of data.split(lineEnd)) text += `data: ${line}\n`;
  return `${text}\n`;
};

/** A comment that shows that the connection is alive; clients ignore it. */
const keepAlive = ': keep-alive\n\n';

const lineEnd = /\r\n|\r|\n/u;

const oneLine = (text: string): string => text.replace(/[\r\n\0]/gu, ' ');
