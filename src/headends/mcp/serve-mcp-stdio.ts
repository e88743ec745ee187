// MCP on standard input and output: one message per line, one client, until the input ends.
//
//   stdio-messages-only. Only messages are written to the output.
//   stdio-reads-after-refusals. The next line is read only after earlier refusals have been taken, so a client that does not
//       read is not read from either.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { parseStrictJson } from '#base';
import type { Caller, AgentService } from '#contracts';
import { agentServerFactory } from './agent-server.ts';
import type { McpServerConnection } from './connection.ts';
import { jsonDepthMax, lineBytesMax } from './limits.ts';
import { Outbox } from './outbox.ts';
import type { RpcRefusal } from './rpc.ts';
import { connectionServer } from './connection.ts';
import type { McpLibrary, ServerFactory } from './server-factory.ts';

type McpStreams = { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream };

type McpStdio = { readonly ended: Promise<void>; close(): Promise<void> };

export const serveMcpStdio = async (
  service: AgentService,
  caller: Caller,
  streams: McpStreams,
  options: { readonly version?: string } = {},
): Promise<McpStdio> => {
  const library = await import('@modelcontextprotocol/server');
  return serveStreams(library, agentServerFactory(library, service, options.version ?? '0'), caller, streams);
};

/** The same for any server factory. */
export const serveStreams = async (
  library: McpLibrary,
  serverFor: ServerFactory,
  caller: Caller,
  { input, output }: McpStreams,
): Promise<McpStdio> => {
  const serve = await connectionServer(library, serverFor);
  const outbox = new Outbox();
  const connection = serve(caller, {
    outbox,
    close: () => {
      outbox.finish();
      if ('destroy' in input) (input as Readable).destroy();
    },
  });
  const written = writeAll(outbox, output).finally(async () => connection.close());
  const read = readAll(input, connection).finally(async () => connection.close());
  const ended = Promise.all([read, written]).then(() => undefined);
  return {
    ended,
    close: async () => {
      await connection.close();
      await ended;
    },
  };
};

const readAll = async (input: NodeJS.ReadableStream, connection: McpServerConnection): Promise<void> => {
  try {
    for await (const line of readBoundedLines(input as AsyncIterable<Uint8Array | string>, lineBytesMax)) {
      const refused = acceptLine(line, connection);
      if (refused !== null) await connection.refuse(refused);
    }
  } catch {
    // A broken input counts as an ended one.
  }
  await connection.whenIdle();
};

const acceptLine = (line: LineOrProblem, connection: McpServerConnection): RpcRefusal | null => {
  if ('text' in line && line.text.trim() === '') return null;
  return connection.acceptParsed('problem' in line ? line : parseStrictJson(line.text, jsonDepthMax));
};

/** Ends when there is nothing left to write, or the output is closed. */
const writeAll = async (outbox: Outbox, output: NodeJS.WritableStream): Promise<void> => {
  const gone = new AbortController();
  const leave = (): void => {
    gone.abort();
    outbox.end();
  };
  output.on('error', leave);
  output.on('close', leave);
  try {
    for (let text = await outbox.take(); text !== null; text = await outbox.take())
      if (!output.write(`${text}\n`)) await once(output, 'drain', { signal: gone.signal });
  } catch {
    outbox.end();
  } finally {
    output.off('close', leave);
  }
};

// Splits bytes into lines of bounded length. A problem with one line does not affect the others.

type LineOrProblem = { readonly text: string } | { readonly problem: string };

async function* readBoundedLines(
  chunks: AsyncIterable<Uint8Array | string>,
  bytesMax: number,
): AsyncGenerator<LineOrProblem> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  const take = (): LineOrProblem => {
    const line =
      bytes > bytesMax ? { problem: `The line is longer than ${bytesMax} bytes.` } : decodeLine(Buffer.concat(held));
    [held, bytes] = [[], 0];
    return line;
  };
  const hold = (part: Uint8Array): void => {
    bytes += part.length;
    if (bytes > bytesMax) held = [];
    else if (part.length > 0) held.push(part);
  };
  for await (const chunk of chunks) {
    let rest: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(lineEnd); end !== -1; end = rest.indexOf(lineEnd)) {
      hold(rest.subarray(0, end));
      yield take();
      rest = rest.subarray(end + 1);
    }
    hold(rest);
  }
  if (bytes > 0) yield take();
}

const lineEnd = 0x0a;

const decodeLine = (bytes: Uint8Array): LineOrProblem => {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'The line is not valid UTF-8.' };
  }
};
