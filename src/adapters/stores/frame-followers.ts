// Those who follow runs of a store.
//
//   followed-frames-once. A follower gets every frame from its first one on, in order, each once, however often it is woken.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, Store } from '#contracts';

/** Reads the frames that nobody has read yet; none if there are no more now. */
type ReadNewer = () => Promise<readonly Frame[]>;

/** Calls back soon after frames of a run may have been stored, or after it may have been deleted; null: any run. */
export type WatchFrames = (notify: (run: RunId | null) => void) => () => void;

/** All of them are woken by one watcher, which works only while there are any. */
export class FrameFollowers {
  readonly #byRun = new Map<RunId, Set<Follower>>();
  readonly #watch: WatchFrames;
  readonly #openRead: (run: RunId, from: number) => ReadNewer;
  #stop: (() => void) | undefined;

  constructor(watch: WatchFrames, openRead: (run: RunId, from: number) => ReadNewer) {
    this.#watch = watch;
    this.#openRead = openRead;
  }

  readonly follow: Store['follow'] = (run, from) => ({
    [Symbol.asyncIterator]: () =>
      new Follower(this.#openRead(run, from), (one, isFollowing) => {
        if (isFollowing) this.#add(run, one);
        else this.#remove(run, one);
      }),
  });

  wake(run: RunId | null): void {
    const woken =
      run === null ? [...this.#byRun.values()].flatMap((ofRun) => [...ofRun]) : (this.#byRun.get(run) ?? []);
    for (const one of woken) one.wake();
  }

  close(): void {
    for (const ofRun of this.#byRun.values()) for (const one of ofRun) one.close();
    this.#byRun.clear();
    this.#stop?.();
    this.#stop = undefined;
  }

  #add(run: RunId, one: Follower): void {
    const ofRun = this.#byRun.get(run);
    if (ofRun === undefined) this.#byRun.set(run, new Set([one]));
    else ofRun.add(one);
    this.#stop ??= this.#watch((changed) => this.wake(changed));
  }

  #remove(run: RunId, one: Follower): void {
    const ofRun = this.#byRun.get(run);
    ofRun?.delete(one);
    if (ofRun?.size === 0) this.#byRun.delete(run);
    if (this.#byRun.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }
}

/** No generator: `return` must end a `next` that waits. */
class Follower implements AsyncIterator<readonly Frame[], undefined> {
  readonly #read: ReadNewer;
  readonly #register: (one: Follower, isFollowing: boolean) => void;
  #state: 'new' | 'following' | 'closed' | 'over' = 'new';
  /** Frames may have come since the last reading. */
  #isStale = true;
  #resume: (() => void) | undefined;

  constructor(read: ReadNewer, register: (one: Follower, isFollowing: boolean) => void) {
    this.#read = read;
    this.#register = register;
  }

  async next(): Promise<IteratorResult<readonly Frame[], undefined>> {
    // Before the first reading, so that nothing is missed in between.
    if (this.#state === 'new') {
      this.#state = 'following';
      this.#register(this, true);
    }
    try {
      return await this.#nextFrames();
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  return(): Promise<IteratorResult<readonly Frame[], undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  wake(): void {
    this.#isStale = true;
    this.#resume?.();
  }

  /** The store is closed. */
  close(): void {
    if (this.#state === 'following') this.#state = 'closed';
    this.wake();
  }

  async #nextFrames(): Promise<IteratorResult<readonly Frame[], undefined>> {
    for (;;) {
      if (this.#state === 'over') return { done: true, value: undefined };
      if (this.#state === 'closed') throw new CloisterError('store_failed', 'The store is closed.');
      if (!this.#isStale) await new Promise<void>((resolve) => void (this.#resume = resolve));
      else {
        this.#isStale = false;
        const value = await this.#read();
        if (value.length === 0 || this.#isOver()) continue;
        // There may be more than one reading gives.
        this.#isStale = true;
        return { done: false, value };
      }
    }
  }

  /** A method, because the state changes while a reading is awaited. */
  #isOver(): boolean {
    return this.#state === 'over';
  }

  #end(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#register(this, false);
    this.wake();
  }
}
