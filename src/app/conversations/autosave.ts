// The one scheduler that saves what has changed, for all agents.
//
//   A1. There is one timer, and only while something has changed since it was saved: what is idle costs nothing.
//   A2. A run that ends is saved at once.
//   A3. A failure to save never reaches a run: its log is the truth, and the next time tries again.
import type { RunId } from '#base';
import type { Clock, CancelTimer } from '#contracts';

export type AutosavePorts = {
  readonly clock: Clock;
  readonly everyMs: number;
  save(run: RunId, ended: boolean): Promise<void>;
};

export class Autosave {
  readonly #ports: AutosavePorts;
  readonly #changed = new Set<RunId>();
  #timer: CancelTimer | undefined;
  #saving: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(ports: AutosavePorts) {
    this.#ports = ports;
  }

  /** Something of this run was recorded. */
  touch(run: RunId): void {
    if (this.#closed) return;
    this.#changed.add(run);
    this.#timer ??= this.#ports.clock.timer(this.#ports.everyMs, () => this.#due());
  }

  /** The run is over. */
  end(run: RunId): void {
    this.#changed.delete(run);
    if (this.#changed.size === 0) this.#stop();
    this.#save([run], true);
  }

  /** When all that was being saved is. */
  async settled(): Promise<void> {
    for (let saving; saving !== this.#saving;) {
      saving = this.#saving;
      await saving;
    }
  }

  /** Nothing more is saved after this but what is on its way. */
  close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    return this.settled();
  }

  #due(): void {
    this.#timer = undefined;
    const changed = [...this.#changed];
    this.#changed.clear();
    this.#save(changed, false);
  }

  #stop(): void {
    this.#timer?.();
    this.#timer = undefined;
  }

  /** One after the other: many runs that change at once do not save at once. */
  #save(runs: readonly RunId[], ended: boolean): void {
    const before = this.#saving;
    this.#saving = (async () => {
      await before;
      for (const run of runs)
        try {
          await this.#ports.save(run, ended);
        } catch {
          // See A3.
        }
    })();
  }
}
