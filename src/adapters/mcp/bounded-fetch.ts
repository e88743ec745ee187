// The `fetch` that talks to remote servers.
//
//   mcp-body-bounded. No body is read past the size limit, and no stream event is buffered past it.
//   mcp-failure-shows-origin-only. Failures use our own texts, with the origin of the URL and no more of it.
import type { FetchLike } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import { splitLines } from './split-lines.ts';
import type { TruncatedLine } from './split-lines.ts';
import { unreachableError } from './server-failure.ts';
import { messageBytesMax } from './limits.ts';
import type { RemoteServer } from './server.ts';
import { oversizedMessageError } from './transport.ts';

type FetchEvents = {
  /** A line of an event stream was too large and was dropped. */
  oversized(line: TruncatedLine): void;
  /** An event stream has ended. */
  streamEnd?(): void;
  /** The server could not be reached; the same error is thrown. */
  failed?(error: CloisterError): void;
};

export const boundedFetch =
  (server: RemoteServer, events: FetchEvents): FetchLike =>
  async (url, init) => {
    const response = await fetchManually(server, url, init).catch((error: unknown) => {
      if (error instanceof CloisterError) events.failed?.(error);
      throw error;
    });
    const { body, status, statusText, headers } = response;
    if (body === null) return response;
    const streams = headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
    const bounded = ReadableStream.from(streams ? boundEvents(body, events) : boundBody(body));
    return new Response(bounded, { status, statusText, headers });
  };

/** Redirects are left to the client, which follows them only within the origin, so that headers go nowhere else. */
const fetchManually = async (
  server: RemoteServer,
  url: string | URL,
  init: RequestInit | undefined,
): Promise<Response> => {
  try {
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    throw init?.signal?.aborted === true ? error : unreachableError(error, server);
  }
};

type Chunks = AsyncIterable<Uint8Array>;

const boundBody = async function* (body: Chunks): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > messageBytesMax) throw oversizedMessageError();
    yield chunk;
  }
};

const lineFeed = Buffer.from('\n');

/** Passes on complete lines. An event may have many lines, so their total size is bounded too. */
const boundEvents = async function* (body: Chunks, events: FetchEvents): AsyncGenerator<Uint8Array, void, undefined> {
  let lines: Buffer[] = [];
  let eventBytes = 0;
  const feed = splitLines(messageBytesMax, {
    line: (line) => {
      lines.push(line, lineFeed);
      eventBytes = line.length === 0 || line.equals(carriageReturn) ? 0 : eventBytes + line.length;
    },
    tooLong: ({ head, ...rest }) => events.oversized({ head: head.replace(/^data: ?/u, ''), ...rest }),
  });
  try {
    for await (const chunk of body) {
      feed(chunk);
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
