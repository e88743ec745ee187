// No engine: workers find in the store what nobody drives.
//
//   found-without-being-told. Nobody tells a worker that another one has died, so it looks again and again; at what is asked of runs, at once.
//   looking-costs-little. It looks for as small a part of its time as it works otherwise: the longer a look took, the later the next one.
//   refused-once. A run that was refused is not tried again here: the agents of a worker stay what they are.
import type { RunId } from '#base';
import type { Clock, EngineWorker, RunCall, RunDriver, RunEngine, StopWork } from '#contracts';

type StoreEnginePorts = {
  readonly driver: Pick<RunDriver, 'undriven' | 'watch'>;
  readonly clock: Clock;
};

export class StoreEngine implements RunEngine {
  readonly name = 'none';
  readonly #ports: StoreEnginePorts;

  constructor(ports: StoreEnginePorts) {
    this.#ports = ports;
  }

  /** The request is in the store, and whoever watches it is told. */
  async start(): Promise<void> {}

  /** So is what was asked of it. */
  async wake(): Promise<void> {}

  async work(worker: EngineWorker): Promise<StopWork> {
    const search = new RunSearch(worker, this.#ports);
    search.start();
    return () => search.stop();
  }

  async close(): Promise<void> {}
}

class RunSearch {
  readonly #worker: EngineWorker;
  readonly #ports: StoreEnginePorts;
  readonly #waiting = new Map<RunId, RunCall>();
  readonly #driving = new Map<RunId, Promise<void>>();
  readonly #refused = new Set<RunId>();
  /** When somebody else had the run: it is not called again before that. */
  readonly #later = new Map<RunId, number>();
  #stopWatching: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;
  #timerAt = Infinity;
  /** What to look for next, while it is looking. */
  #wanted: 'nothing' | 'asked' | 'all' = 'nothing';
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(worker: EngineWorker, ports: StoreEnginePorts) {
    this.#worker = worker;
    this.#ports = ports;
  }

  start(): void {
    this.#stopWatching = this.#ports.driver.watch(() => this.#look('asked'));
    this.#look('all');
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopWatching?.();
    this.#stopTimer?.();
    await this.#looking;
    await Promise.all(this.#driving.values());
  }

  #look(what: 'asked' | 'all'): void {
    if (this.#wanted !== 'all') this.#wanted = what;
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = undefined;
      if (this.#wanted !== 'nothing' && !this.#isStopped) this.#look(this.#wanted);
    });
  }

  async #lookAll(): Promise<void> {
    const { clock, driver } = this.#ports;
    while (this.#wanted !== 'nothing' && !this.#isStopped) {
      const asked = this.#wanted === 'asked';
      this.#wanted = 'nothing';
      const since = clock.now();
      try {
        for (const { at, run, agent } of await driver.undriven({ asked })) this.#take({ run, agent }, at);
      } catch {
        // The store cannot be read now.
      }
      if (!asked) this.#lookAt(clock.now() + Math.max(lookMs, (clock.now() - since) * restOfTime));
    }
    this.#fill();
  }

  #take(call: RunCall, at: number | null): void {
    const { run, agent } = call;
    if (!this.#worker.agents.includes(agent) || this.#refused.has(run) || this.#driving.has(run) || at === null) return;
    const due = Math.max(at, this.#later.get(run) ?? 0);
    if (due <= this.#ports.clock.now()) this.#waiting.set(run, call);
    else this.#lookAt(due);
  }

  /** Looks at everything then, or earlier. One timer, however many runs rest. */
  #lookAt(time: number): void {
    if (time >= this.#timerAt || this.#isStopped) return;
    this.#stopTimer?.();
    this.#timerAt = time;
    this.#stopTimer = this.#ports.clock.timer(Math.max(0, time - this.#ports.clock.now()), () => {
      this.#timerAt = Infinity;
      this.#look('all');
    });
  }

  #fill(): void {
    for (const [run, call] of this.#waiting) {
      if (this.#isStopped || this.#driving.size >= this.#worker.slots) return;
      this.#waiting.delete(run);
      const driving = this.#drive(call).finally(() => {
        this.#driving.delete(run);
        this.#fill();
      });
      this.#driving.set(run, driving);
    }
  }

  async #drive(call: RunCall): Promise<void> {
    const { run } = call;
    const end = await this.#worker.drive(call);
    this.#later.delete(run);
    switch (end.end) {
      case 'ended':
        return;
      case 'rests':
        // Something may have been asked of it before it was told here as at rest.
        this.#look('asked');
        if (end.until !== null) this.#lookAt(end.until);
        return;
      case 'lost':
        this.#later.set(run, this.#ports.clock.now() + againMs);
        return this.#lookAt(this.#ports.clock.now() + againMs);
      case 'refused':
        if (end.until === undefined) this.#refused.add(run);
        else this.#later.set(run, end.until);
        return;
      default:
        return end satisfies never;
    }
  }
}

/** A look that takes a millisecond is followed by a second without one, and one that takes a second, by 100. */
const [lookMs, restOfTime, againMs] = [1_000, 100, 500];
