// One process in which commands that only read are carried out one after the other: to start one for each takes ten times as
// long. That each of them is also a process of its own is shown where the command itself is what a test is about.
import type { ChildProcess } from 'node:child_process';
import type { Ended } from './driver.ts';

/** They leave a workspace and the process as they were. */
const reading = new Set(['runs', 'show', 'explain', 'audit', 'deadletters', 'diff', 'replay']);
const readingOf = new Map([
  ['conversations', ['list', 'show']],
  ['checkpoints', ['list']],
]);

export const onlyReads = ([command = '', second = '']: readonly string[]): boolean =>
  reading.has(command) || (readingOf.get(command)?.includes(second) ?? false);

type Answer = Ended & { readonly id: number };

export class Standing {
  readonly #start: () => ChildProcess;
  #child: ChildProcess | null = null;
  readonly #waiting = new Map<number, PromiseWithResolvers<Ended>>();
  #asked = 0;

  /** `start`: begins `modules/standing.ts`, with a channel. It begins with the first command, and ends with its parent. */
  constructor(start: () => ChildProcess) {
    this.#start = start;
  }

  carryOut(args: readonly string[], cwd: string): Promise<Ended> {
    const child = (this.#child ??= this.#begin());
    const id = ++this.#asked;
    const answer = Promise.withResolvers<Ended>();
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
      for (const { reject } of this.#waiting.values()) reject(new Error(`The standing process ended with ${code}.`));
      this.#waiting.clear();
    });
    return child;
  }
}
