// The inbox of a headend, kept in the store: an item is a signal under the id of its queue, and whoever owns that id works on it.
//
//   queue-is-no-run. Nothing is ever appended under the id of a queue, so lists, audits, archives and the server's recovery do not know
//       it. No run has such an id: those of runs are random digits or hashes.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Clock, Inbox, InboxItem, OpenQueue, Store } from '#contracts';
import type { AgentResources } from '#app/agents';

type InboxPorts = {
  readonly store: Pick<Store, 'acquireRun' | 'putSignal' | 'signals' | 'removeSignal' | 'watchSignals'>;
  readonly clock: Clock;
  /** Bodies are on disk before any run redacts them. */
  readonly resources: Pick<AgentResources, 'redactFor'>;
};

export class StoreInbox implements Inbox {
  readonly #ports: InboxPorts;
  readonly #prefix: string;
  readonly #listeners = new Set<() => void>();
  #stopWatching: (() => void) | undefined;
  /** Set while a queue that was refused may become free: the store does not tell of that. */
  #stopRetry: (() => void) | undefined;

  /** Throws `name_invalid`. */
  constructor(headend: string, ports: InboxPorts) {
    if (!/^[a-z][a-z0-9]{0,15}$/u.test(headend)) throw new CloisterError('name_invalid', headend);
    this.#prefix = `inbox.${headend}.`;
    this.#ports = ports;
  }

  async put(queue: string, { id, by, at, body }: InboxItem): Promise<boolean> {
    const { store, resources } = this.#ports;
    const redact = resources.redactFor(null);
    return store.putSignal({ run: this.#idOf(queue), id, by, at, body: redact?.json(body) ?? body });
  }

  async queues(): Promise<readonly string[]> {
    const ids = (await this.#ports.store.signals()).map(({ run }) => run);
    return [...new Set(ids)].flatMap((id) => (id.startsWith(this.#prefix) ? [id.slice(this.#prefix.length)] : []));
  }

  async open(queue: string): Promise<OpenQueue | undefined> {
    const { store } = this.#ports;
    const run = this.#idOf(queue);
    try {
      const lock = await store.acquireRun(run);
      return {
        items: async () => (await store.signals(run)).map(({ id, by, at, body }) => ({ id, by, at, body })),
        remove: (id) => store.removeSignal(run, id),
        close: async () => {
          await lock.close();
          // An item may have come for others of this process after the last look, and been told when the queue was taken.
          this.#tell();
        },
      };
    } catch (error) {
      if (!(error instanceof CloisterError) || error.code !== 'run_owned') throw error;
      this.#retryLater();
      return undefined;
    }
  }

  watch(listener: () => void): () => void {
    // Wrapped, so that the same function can listen twice.
    const one = (): void => listener();
    this.#listeners.add(one);
    this.#stopWatching ??= this.#ports.store.watchSignals(() => this.#tell());
    return () => {
      this.#listeners.delete(one);
      if (this.#listeners.size > 0) return;
      this.#stopWatching?.();
      this.#stopRetry?.();
      this.#stopWatching = this.#stopRetry = undefined;
    };
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #retryLater(): void {
    if (this.#listeners.size === 0) return;
    this.#stopRetry ??= this.#ports.clock.timer(retryMs, () => {
      this.#stopRetry = undefined;
      this.#tell();
    });
  }

  /** Throws `name_invalid`. */
  #idOf(queue: string): RunId {
    if (!/^[A-Za-z0-9-]{1,40}$/u.test(queue)) throw new CloisterError('name_invalid', queue);
    return `${this.#prefix}${queue}` as RunId;
  }
}

/** Until a queue is tried again that another process has: it may have died. */
const retryMs = 1_000;
