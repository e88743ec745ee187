// Transport for a server in a child process: messages are lines on its stdin and stdout.
import { CloisterError } from '#base';
import { splitLines } from './split-lines.ts';
import { startProcess } from './guarded-process.ts';
import type { ProcessExit } from './guarded-process.ts';
import { messageBytesMax } from './limits.ts';
import { parseMessages, McpTransport } from './transport.ts';
import { serverTitle } from './server.ts';
import type { StdioServer } from './server.ts';

/** The client recognises pipes by these two fields: over a pipe, a server that does not answer a request of a newer protocol is an old one. */
class PipeTransport extends McpTransport {
  readonly stderr = null;
  readonly pid = null;
}

export const openStdioTransport = async (server: StdioServer): Promise<McpTransport> => {
  const started = await startProcess(server);
  const { stdin, stdout, ended } = started;
  const stop = async (): Promise<void> => started.stop();
  const transport = new PipeTransport(() => ({
    send: async (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    close: stop,
  }));
  stdout.on(
    'data',
    splitLines(messageBytesMax, {
      line: (bytes) => parseMessages(bytes.toString()).forEach((message) => transport.deliver(message)),
      tooLong: (ends) => transport.oversized(ends),
    }),
  );
  // A server that no longer reads or writes is useless.
  stdin.on('error', () => void stop());
  stdout.on('end', () => void stop());
  void ended.then((ending) => transport.connectionLost(exitError(server, ending)));
  return transport;
};

const exitError = (server: StdioServer, { code, signal, stderr }: ProcessExit): CloisterError => {
  const words = stderr === '' ? 'It wrote nothing to stderr.' : `Its last output on stderr: ${stderr}`;
  // Exit codes of shells when a program does not exist or cannot be executed.
  if (code === 126 || code === 127)
    return new CloisterError('server_missing', `${serverTitle(server)} exited with code ${code}. ${words}`);
  const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
  return new CloisterError('server_failed', `${serverTitle(server)} ${how}. ${words}`);
};
