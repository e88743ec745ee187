// The single scheduler that saves changed runs, for all agents.
//
//   autosave-idle-costs-nothing. There is one timer, and only while there are unsaved changes.
//   autosave-at-end. A run that ends is saved immediately.
//   autosave-failure-harmless. The log of a run is authoritative, and the next save retries.
import type { RunId } from '#base';
import type { Clock, CancelTimer } from '#contracts';

type AutosavePorts = {
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

  /** The run has recorded something. */
  touch(run: RunId): void {
    if (this.#closed) return;
    this.#changed.add(run);
    this.#timer ??= this.#ports.clock.timer(this.#ports.everyMs, () => this.#due());
  }

  /** The run has ended. */
  end(run: RunId): void {
    this.#changed.delete(run);
    if (this.#changed.size === 0) this.#stop();
    this.#save([run], true);
  }

  /** Resolves when all pending saves are done. */
  async settled(): Promise<void> {
    for (let saving; saving !== this.#saving;) {
      saving = this.#saving;
      await saving;
    }
  }

  /** Finishes pending saves; nothing is saved after that. */
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

  /** Saves one run at a time, even if many change together. */
  #save(runs: readonly RunId[], ended: boolean): void {
    const before = this.#saving;
    this.#saving = (async () => {
      await before;
      for (const run of runs)
        try {
          await this.#ports.save(run, ended);
        } catch {
          // See `autosave-failure-harmless`.
        }
    })();
  }
}
