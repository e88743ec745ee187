// A server as a process of ours: messages are lines on its stdin and stdout.
import { CloisterError } from '#base';
import { splitLines } from './split-lines.ts';
import { startProcess } from './guarded-process.ts';
import type { ProcessExit } from './guarded-process.ts';
import { messageBytesMax } from './limits.ts';
import { parseMessages } from './parse-messages.ts';
import { serverTitle } from './server.ts';
import type { StdioServer } from './server.ts';
import { McpTransport } from './transport.ts';

/** The client tells pipes from networks by these two: a server that is silent to a question from newer protocols is an old one. */
class PipeWire extends McpTransport {
  readonly stderr = null;
  readonly pid = null;
}

export const openStdioTransport = async (server: StdioServer): Promise<McpTransport> => {
  const started = await startProcess(server);
  const { stdin, stdout, ended } = started;
  const stop = async (): Promise<void> => started.stop();
  const wire = new PipeWire(() => ({
    send: async (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    close: stop,
  }));
  stdout.on(
    'data',
    splitLines(messageBytesMax, {
      line: (bytes) => parseMessages(bytes.toString()).forEach((message) => wire.deliver(message)),
      tooLong: (ends) => wire.oversized(ends),
    }),
  );
  // A server that reads or writes no more is of no use.
  stdin.on('error', () => void stop());
  stdout.on('end', () => void stop());
  void ended.then((ending) => wire.lose(lossOf(server, ending)));
  return wire;
};

const lossOf = (server: StdioServer, { code, signal, said }: ProcessExit): CloisterError => {
  const words = said === '' ? 'It wrote nothing to stderr.' : `Its last words on stderr: ${said}`;
  // What shells say when there is no such program, or none that can be run.
  if (code === 126 || code === 127)
    return new CloisterError('server_missing', `${serverTitle(server)} ended with exit code ${code}. ${words}`);
  const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
  return new CloisterError('server_failed', `${serverTitle(server)} ended ${how}. ${words}`);
};
