// Builds messages by hand, and reads the replies.
import type { Json, JsonObject } from '#base';
import type { RoutedApp } from './driver.ts';

export const request = (id: string | number, method: string, params: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

export const call = (id: string | number, name: string, more: JsonObject = {}): JsonObject =>
  request(id, 'tools/call', { name, arguments: { prompt: 'x' }, ...more });

export const cancel = (requestId: string | number): JsonObject => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});

export const initialize = (id: string | number = 0): JsonObject =>
  request(id, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'hand', version: '1' },
  });

export const postHeaders = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

export type SendOptions = {
  readonly caller?: string;
  readonly tag?: string;
  readonly path?: string;
  readonly method?: string;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
};

export const send = async ({ app }: RoutedApp, body: Json | undefined, sent: SendOptions = {}): Promise<Response> => {
  const { caller = 'me', tag, path = '/mcp', method = 'POST', signal, headers } = sent;
  const asked = new Request(`http://127.0.0.1${path}`, {
    method,
    headers: {
      ...(method === 'POST' ? postHeaders : {}),
      'x-api-key': caller,
      ...(tag === undefined ? {} : { 'mcp-session-id': tag }),
      ...headers,
    },
    ...(signal === undefined ? {} : { signal }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return app.fetch(asked);
};

type StreamEvent = { readonly event?: string; readonly data: string };

/** Reads the events of a stream one by one. */
export const eventReader = (body: ReadableStream<Uint8Array> | null) => {
  const reader = body!.getReader();
  const decoder = new TextDecoder();
  let held = '';
  const nextBlock = async (): Promise<StreamEvent | { readonly comment: string } | null> => {
    for (;;) {
      const end = held.indexOf('\n\n');
      if (end === -1) {
        const { value, done } = await reader.read();
        if (done) return null;
        held += decoder.decode(value, { stream: true });
        continue;
      }
      const lines = held.slice(0, end).split('\n');
      held = held.slice(end + 2);
      if (lines[0]!.startsWith(':')) return { comment: lines[0]!.slice(1).trim() };
      const field = (name: string): string[] =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const [event] = field('event');
      return { ...(event === undefined ? {} : { event }), data: field('data').join('\n') };
    }
  };
  /** Skips comments: on a slow machine, a keep-alive can come before any event. */
  const next = async (): Promise<StreamEvent | null> => {
    for (;;) {
      const block = await nextBlock();
      if (block === null || 'data' in block) return block;
    }
  };
  return {
    nextBlock,
    next,
    message: async (): Promise<any> => {
      const event = await next();
      return event === null ? null : JSON.parse(event.data);
    },
    rest: async (): Promise<any[]> => {
      const all = [];
      for (let event = await next(); event !== null; event = await next()) all.push(JSON.parse(event.data));
      return all;
    },
    cancel: async () => reader.cancel(),
  };
};
