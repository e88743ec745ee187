// MCP on standard input and output: one message a line, one client, until its input ends.
//
//   I1. Nothing but messages is written.
//   I2. A line is read when what was refused before it has been taken, so a client that does not read is not read either.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { parseStrictJson } from '#base';
import type { Caller, AgentService } from '#contracts';
import { agentServerFor } from './agent-server.ts';
import type { McpServerConnection } from './connection.ts';
import { readBoundedLines } from './bounded-lines.ts';
import type { LineOrProblem } from './bounded-lines.ts';
import { jsonDepthMax, lineBytesMax } from './limits.ts';
import { Outbox } from './outbox.ts';
import type { RpcRefusal } from './rpc.ts';
import { serverOfConnections } from './serve-connection.ts';
import type { Library, ServerFor } from './server-for.ts';

export type McpStreams = { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream };

export type McpStdio = { readonly ended: Promise<void>; close(): Promise<void> };

export const serveMcpStdio = async (
  serving: AgentService,
  caller: Caller,
  streams: McpStreams,
  options: { readonly version?: string } = {},
): Promise<McpStdio> => {
  const library = await import('@modelcontextprotocol/server');
  return serveStreams(library, agentServerFor(library, serving, options.version ?? '0'), caller, streams);
};

/** The same for any server objects. */
export const serveStreams = async (
  library: Library,
  serverFor: ServerFor,
  caller: Caller,
  { input, output }: McpStreams,
): Promise<McpStdio> => {
  const serve = await serverOfConnections(library, serverFor);
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
    // An input that breaks is one that ended.
  }
  await connection.quiet();
};

const acceptLine = (line: LineOrProblem, connection: McpServerConnection): RpcRefusal | null => {
  if ('text' in line && line.text.trim() === '') return null;
  return connection.acceptParsed('problem' in line ? line : parseStrictJson(line.text, jsonDepthMax));
};

/** Ends when there is nothing more to write, or nobody to write it for. */
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
