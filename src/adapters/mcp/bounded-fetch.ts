// The `fetch` that talks to remote servers.
//
//   F1. No body is read past the bound, and no event of a stream is held past it.
//   F2. What fails here fails in our words, with the origin of the address and no more of it.
import type { FetchLike } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import { splitLines } from './split-lines.ts';
import type { TruncatedLine } from './split-lines.ts';
import { unreachable } from './server-failure.ts';
import { messageBytesMax } from './limits.ts';
import type { RemoteServer } from './server.ts';
import { oversizedMessageError } from './transport.ts';

export type FetchEvents = {
  /** A line of an event stream was too large; it was left out. */
  oversized(ends: TruncatedLine): void;
  /** An event stream is over. */
  streamEnd?(): void;
  /** The server could not be reached; the same error is thrown. */
  failed?(error: CloisterError): void;
};

export const boundedFetch =
  (server: RemoteServer, events: FetchEvents): FetchLike =>
  async (url, init) => {
    const response = await reach(server, url, init).catch((error: unknown) => {
      if (error instanceof CloisterError) events.failed?.(error);
      throw error;
    });
    const { body, status, statusText, headers } = response;
    if (body === null) return response;
    const streams = headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
    const bounded = ReadableStream.from(streams ? eventsOf(body, events) : bytesOf(body));
    return new Response(bounded, { status, statusText, headers });
  };

/** Redirects are left to the client, which follows them within the origin only: headers go nowhere else. */
const reach = async (server: RemoteServer, url: string | URL, init: RequestInit | undefined): Promise<Response> => {
  try {
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    throw init?.signal?.aborted === true ? error : unreachable(error, server);
  }
};

type Chunks = AsyncIterable<Uint8Array>;

const bytesOf = async function* (body: Chunks): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > messageBytesMax) throw oversizedMessageError();
    yield chunk;
  }
};

const lineFeed = Buffer.from('\n');

/** Whole lines as they came. An event may have many of them: together they are bound too. */
const eventsOf = async function* (body: Chunks, events: FetchEvents): AsyncGenerator<Uint8Array, void, undefined> {
  let lines: Buffer[] = [];
  let eventBytes = 0;
  const cut = splitLines(messageBytesMax, {
    line: (line) => {
      lines.push(line, lineFeed);
      eventBytes = line.length === 0 || line.equals(carriageReturn) ? 0 : eventBytes + line.length;
    },
    tooLong: ({ head, ...rest }) => events.oversized({ head: head.replace(/^data: ?/u, ''), ...rest }),
  });
  try {
    for await (const chunk of body) {
      cut(chunk);
      if (eventBytes > 2 * messageBytesMax) throw oversizedMessageError();
      const ready = Buffer.concat(lines);
      lines = [];
      if (ready.length > 0) yield ready;
    }
  } finally {
    events.streamEnd?.();
  }
};

const carriageReturn = Buffer.from('\r');
