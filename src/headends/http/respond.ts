// Replies as bytes.
import type { ClientFailure } from '#contracts';
import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { ErrorCode, Json } from '#base';
import type { ErrorFormatter, RouteReply, ServerEvent } from '#contracts';
import { pulledStream } from './pulled-stream.ts';
import type { PulledOptions } from './pulled-stream.ts';
import { encodeEvent, keepAlive } from './server-events.ts';

/** Nothing that is answered is a page, belongs in a cache, or may be framed or guessed at. */
const safely = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

export type HeadersOf = Readonly<Record<string, string>>;

/** What every response of one request carries. */
export const commonHeaders = (request: string, more: HeadersOf): HeadersOf => ({
  ...safely,
  'x-request-id': request,
  // The same, by the name that Anthropic's clients look for.
  'request-id': request,
  ...more,
});

/** An answer that is there whole, not yet a response: Node can write it as it is, which takes half as long. */
export type CompleteReply = {
  readonly status: number;
  /** What every response has, and what this one has besides: no name is in both. */
  readonly common: HeadersOf;
  readonly more: HeadersOf;
  /** JSON, or nothing. */
  readonly text: string;
  /** Why it is no answer; not sent by itself. */
  readonly code?: ErrorCode;
};

export const completeReply = (
  status: number,
  body: Json | undefined,
  common: HeadersOf,
  { more = none, code }: { readonly more?: HeadersOf | undefined; readonly code?: ErrorCode | undefined } = {},
): CompleteReply => {
  const text = body === undefined ? '' : JSON.stringify(body);
  return code === undefined ? { status, common, more, text } : { status, common, more, text, code };
};

const none: HeadersOf = {};

/** To the socket if there is one; else as a response. */
export const sendReply = (answer: CompleteReply | Response, outgoing?: ServerResponse): Response => {
  if (answer instanceof Response) return answer;
  const { status, common, more, text } = answer;
  const type = text === '' ? none : jsonType;
  if (outgoing === undefined)
    return new Response(text === '' ? null : text, { status, headers: { ...more, ...common, ...type } });
  if (!outgoing.destroyed) {
    // A list, for objects would be put together and taken apart again.
    const list: string[] = [];
    for (const headers of [common, more, type]) for (const name in headers) list.push(name, headers[name]!);
    list.push('content-length', String(Buffer.byteLength(text)));
    outgoing.writeHead(status, list);
    outgoing.end(text);
  }
  return RESPONSE_ALREADY_SENT;
};

const jsonType: HeadersOf = { 'content-type': 'application/json' };

export type StreamOptions = Omit<PulledOptions, 'idle'> & { readonly keepAliveMs: number };

export const replyResponse = (
  reply: RouteReply,
  common: HeadersOf,
  streaming: StreamOptions,
): CompleteReply | Response => {
  if (!('events' in reply)) {
    const { status, body, code, headers: more } = reply;
    return completeReply(status, body, common, { more, code });
  }
  const { keepAliveMs, ...options } = streaming;
  const stream = pulledStream(encoded(reply.events), { ...options, idle: { ms: keepAliveMs, text: keepAlive } });
  return new Response(stream, { headers: { ...reply.headers, ...common, ...eventHeaders } });
};

/** Proxies hand events on as they come. */
const eventHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** Can be left while it waits for the next one, where events can: no generator can. */
const encoded = (events: AsyncIterable<ServerEvent>): AsyncIterable<string> => ({
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
  form: ErrorFormatter,
  common: HeadersOf,
  more: HeadersOf = {},
): CompleteReply => {
  const { status, code, retryable, retryAfterMs } = failure;
  const headers: HeadersOf = {
    ...more,
    // Clients of OpenAI and Anthropic try again by themselves: only where that helps.
    'x-should-retry': retryable ? 'true' : 'false',
    ...(retryAfterMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  };
  return completeReply(status, form(failure, common['x-request-id'] ?? ''), common, { more: headers, code });
};
