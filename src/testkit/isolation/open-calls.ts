// Calls of real models and tools in flight, and the real timers that they have set. Other timers of the process, such as those of
// a test runner or of HTTP clients, do not count: waiting for them made every call in the fake world take 250 ms.
import { AsyncLocalStorage, createHook } from 'node:async_hooks';

/** The timers that a call has set and that have neither fired nor been cleared, by their async ids. */
type CallTimers = Set<number>;

const callTimers = new AsyncLocalStorage<CallTimers>();
const settingCalls = new Map<number, CallTimers>();

// Not tracking promises keeps it cheap; an older Node ignores the option.
const options = { trackPromises: false };
const hook = createHook({
  ...options,
  init(id, type) {
    const timers = type === 'Timeout' ? callTimers.getStore() : undefined;
    if (timers === undefined) return;
    timers.add(id);
    settingCalls.set(id, timers);
  },
  destroy(id) {
    settingCalls.get(id)?.delete(id);
    settingCalls.delete(id);
  },
});

export class OpenCalls {
  readonly #calls = new Set<CallTimers>();

  get count(): number {
    return this.#calls.size;
  }

  /** Whether a call waits for a timer of its own, as far as one can tell. */
  waitForTimers(): boolean {
    return [...this.#calls].some((timers) => timers.size > 0);
  }

  /** Counts a call as in flight until it settles. */
  async track<T>(call: () => PromiseLike<T> | T): Promise<T> {
    const timers: CallTimers = new Set();
    this.#calls.add(timers);
    hook.enable();
    try {
      return await callTimers.run(timers, call);
    } finally {
      this.#calls.delete(timers);
    }
  }
}
