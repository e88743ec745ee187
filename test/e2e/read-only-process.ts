// One process that runs read-only commands one after the other: starting a process for each takes ten times as long. Tests about
// the command itself run it as its own process.
import type { ChildProcess } from 'node:child_process';
import type { ProcessResult } from './driver.ts';

/** These leave the workspace and the process unchanged. */
const readOnlyCommands = new Set(['runs', 'show', 'explain', 'audit', 'dead-letters', 'diff', 'replay']);
const readOnlySubcommands = new Map([
  ['conversations', ['list', 'show']],
  ['checkpoints', ['list']],
]);

export const isReadOnly = ([command = '', second = '']: readonly string[]): boolean =>
  readOnlyCommands.has(command) || (readOnlySubcommands.get(command)?.includes(second) ?? false);

type Answer = ProcessResult & { readonly id: number };

export class ReadOnlyProcess {
  readonly #start: () => ChildProcess;
  #child: ChildProcess | null = null;
  readonly #waiting = new Map<number, PromiseWithResolvers<ProcessResult>>();
  #asked = 0;

  /** `start` runs `modules/read-only-commands.ts` with an IPC channel. The process starts with the first command, and ends with its parent. */
  constructor(start: () => ChildProcess) {
    this.#start = start;
  }

  run(args: readonly string[], cwd: string): Promise<ProcessResult> {
    const child = (this.#child ??= this.#begin());
    const id = ++this.#asked;
    const answer = Promise.withResolvers<ProcessResult>();
    this.#waiting.set(id, answer);
    child.send({ id, cwd, args });
    return answer.promise;
  }

  #begin(): ChildProcess {
    const child = this.#start();
    child.unref();
    child.channel?.unref();
    child.on('message', ({ id, ...ended }: Answer) => {
      this.#waiting.get(id)?.resolve(ended);
      this.#waiting.delete(id);
    });
    child.on('exit', (code) => {
      this.#child = null;
      for (const { reject } of this.#waiting.values())
        reject(new Error(`The process for read-only commands ended with ${code}.`));
      this.#waiting.clear();
    });
    return child;
  }
}
