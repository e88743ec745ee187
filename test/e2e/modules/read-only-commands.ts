// Read-only commands, one after the other in one process: each as `bin/cloister.js` would run it, in its own folder, with its own
// output and exit code.
//   read-only-commands.ts <the built main.js>, then messages { id, cwd, args }, each answered by { id, code, stdout, stderr }
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

type CommandRequest = { readonly id: number; readonly cwd: string; readonly args: readonly string[] };
type Main = { readonly main: (args: readonly string[]) => Promise<void> };

const { main } = (await import(pathToFileURL(process.argv[2]!).href)) as Main;

/** A pipe that keeps what is written to it. */
const capturingStream = (fd: number) => {
  const pieces: string[] = [];
  const write = (piece: Buffer, _encoding: string, done: () => void): void => {
    pieces.push(String(piece));
    done();
  };
  return { stream: Object.assign(new Writable({ write }), { fd }), text: () => pieces.join('') };
};

const runCommand = async ({ id, cwd, args }: CommandRequest): Promise<void> => {
  const [stdout, stderr] = [capturingStream(1), capturingStream(2)];
  Object.defineProperty(process, 'stdout', { value: stdout.stream, configurable: true });
  Object.defineProperty(process, 'stderr', { value: stderr.stream, configurable: true });
  process.chdir(cwd);
  let code: unknown = null;
  process.exit = ((given: unknown) => (code = given)) as typeof process.exit;
  await main(args);
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  process.send!({ id, code, stdout: stdout.text(), stderr: stderr.text() });
};

let before = Promise.resolve();
process.on('message', (asked: CommandRequest) => void (before = before.then(() => runCommand(asked))));
const { exit } = process;
process.on('disconnect', () => exit(0));
