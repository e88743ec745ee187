// The log of one run in memory.
import type { PromptlyReleasingMap, Hash, RunId } from '#base';
import type { Frame, RunLog } from '#contracts';
import { noTail, recordHash } from './chain.ts';
import { prefixLengthError } from './log-reader.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';

export type MemoryRuns = PromptlyReleasingMap<RunId, MemoryRunLog>;

type MemoryRunHooks = { onAppend(run: RunId): void; onEnd(run: RunId): void };

/** A class to save memory: ten thousand of these can be in flight at once. */
export class MemoryRunLog implements RunLog {
  readonly frames: Frame[];
  /** Its place in the order in which runs began. */
  readonly nth: number;
  readonly #run: RunId;
  readonly #hooks: MemoryRunHooks;
  /** Chain hashes of the first frames, computed as far as requested. */
  #hashes: Hash[] | undefined;
  #facts: { readonly facts: RunFacts; readonly frames: number } | undefined;
  owned = true;
  constructor(run: RunId, { frames, nth }: Pick<MemoryRunLog, 'frames' | 'nth'>, hooks: MemoryRunHooks) {
    this.#run = run;
    this.frames = frames;
    this.nth = nth;
    this.#hooks = hooks;
  }
  append(frame: Frame): void {
    this.frames.push(frame);
    this.#hooks.onAppend(this.#run);
  }
  /** Uses the same hash chain as a store on disk. */
  hashPrefix(frames = this.frames.length): { readonly frames: number; readonly hash: Hash } {
    if (frames > this.frames.length || frames < 1) throw prefixLengthError(this.#run, this.frames.length, frames);
    const hashes = (this.#hashes ??= []);
    while (hashes.length < frames)
      hashes.push(recordHash(hashes.at(-1) ?? noTail.hash, JSON.stringify(this.frames[hashes.length])));
    return { frames, hash: hashes[frames - 1]! };
  }
  /** The frames as a store on disk would hold them. */
  bodies(): readonly string[] {
    return this.frames.map((frame) => JSON.stringify(frame));
  }
  /** Each frame is folded once, however often this is called. */
  facts(): RunFacts {
    const known = this.#facts ?? { facts: noFacts, frames: 0 };
    if (known.frames === this.frames.length) return known.facts;
    const facts = this.frames.slice(known.frames).reduce(foldFacts, known.facts);
    this.#facts = { facts, frames: this.frames.length };
    return facts;
  }
  durable(): undefined {
    return undefined;
  }
  close(): Promise<void> {
    if (!this.owned) return Promise.resolve();
    this.owned = false;
    this.#hooks.onEnd(this.#run);
    return Promise.resolve();
  }
}
