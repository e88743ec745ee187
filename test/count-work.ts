// How much of the code in `src/core` and `src/base` runs: the sum of V8's counts of how often each block ran. Unlike a time, it is the
// same on every machine. What built-in functions do is not in it, only the callbacks that they call.
import { Session } from 'node:inspector/promises';

export class WorkCounter implements AsyncDisposable {
  readonly #session = new Session();

  static async start(): Promise<WorkCounter> {
    const counter = new WorkCounter();
    counter.#session.connect();
    await counter.#session.post('Profiler.enable');
    await counter.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    return counter;
  }

  async count(work: () => unknown): Promise<number> {
    await this.#take();
    await work();
    const blocks = await this.#take();
    if (blocks.length === 0) throw new Error('No code of src/core ran.');
    return blocks.reduce((sum, { count }) => sum + count, 0);
  }

  /** What ran since it was last called. */
  async #take() {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const own = result.filter(({ url }) => url.includes('/src/core/') || url.includes('/src/base/'));
    return own.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}
