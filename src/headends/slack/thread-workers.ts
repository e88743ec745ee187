// The threads that this process works on.
//
//   workers-by-lock. A thread is worked on by whoever has its queue. What other processes have left behind is found again.
import type { Clock, Inbox } from '#contracts';
import { ThreadWorker } from './thread-worker.ts';
import type { ThreadWorkerPorts } from './worker-ports.ts';

type WorkersPorts = ThreadWorkerPorts & { readonly inbox: Inbox; readonly clock: Clock };

type Working = { worker: ThreadWorker | null; isAgain: boolean; readonly done: Promise<void> };

/** How many threads are worked on at a time; the others wait in the inbox. */
const [workersMax, scanMs] = [1_000, 10_000];

export class ThreadWorkers {
  readonly #ports: WorkersPorts;
  readonly #working = new Map<string, Working>();
  #scanning: Promise<void> | null = null;
  #isScanDue = false;
  #stopWatching: () => void = () => undefined;
  #stopTimer: () => void = () => undefined;

  constructor(ports: WorkersPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#stopWatching = this.#ports.inbox.watch(() => this.#scan());
    this.#scanSoon();
    this.#scan();
  }

  /** Something waits in this queue. */
  wake(queue: string): void {
    if (this.#ports.stopping.aborted) return;
    const working = this.#working.get(queue);
    if (working !== undefined) {
      working.isAgain = true;
      working.worker?.look();
      return;
    }
    if (this.#working.size >= workersMax) return;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#working.set(queue, { worker: null, isAgain: false, done });
    void this.#work(queue).finally(() => {
      this.#working.delete(queue);
      resolve();
      // There is room for another one.
      if (this.#working.size === workersMax - 1) this.#scan();
    });
  }

  /** After the signal of its ports was aborted: resolves when nothing is worked on any more. */
  async stop(): Promise<void> {
    this.#stopWatching();
    this.#stopTimer();
    await this.#scanning;
    await Promise.all([...this.#working.values()].map(({ done }) => done));
  }

  async #work(queue: string): Promise<void> {
    const { inbox, stopping, log } = this.#ports;
    const working = this.#working.get(queue)!;
    try {
      const open = await inbox.open(queue);
      if (open === undefined) return;
      try {
        const worker = new ThreadWorker(this.#ports, open);
        working.worker = worker;
        do {
          working.isAgain = false;
          await worker.work();
        } while (working.isAgain && !stopping.aborted);
      } finally {
        await open.close();
      }
    } catch (error) {
      // The next scan tries again.
      log(`Slack: a thread could not be worked on: ${String(error)}`);
    }
  }

  #scanSoon(): void {
    this.#stopTimer = this.#ports.clock.timer(scanMs, () => {
      this.#scan();
      this.#scanSoon();
    });
  }

  #scan(): void {
    if (this.#ports.stopping.aborted) return;
    this.#isScanDue = true;
    this.#scanning ??= this.#scanAll().finally(() => {
      this.#scanning = null;
    });
  }

  async #scanAll(): Promise<void> {
    while (this.#isScanDue) {
      this.#isScanDue = false;
      try {
        for (const queue of await this.#ports.inbox.queues()) this.wake(queue);
      } catch (error) {
        this.#ports.log(`Slack: the inbox could not be read: ${String(error)}`);
      }
    }
  }
}
