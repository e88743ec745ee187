// Which process may go on with which run. A run that goes on from a cut has the cells of another one: as long as no process has
// both at work, every call can be told to be of one of them.
import type { RunId } from '#base';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/** `run` is null while it has no id yet. */
type Entered = { readonly process: Process; readonly root: RunId; readonly run: RunId | null };

export class Hosting {
  readonly #world: World;
  /** Those who are about to go on with something. */
  readonly #entered = new Set<Entered>();

  constructor(world: World) {
    this.#world = world;
  }

  get idle(): boolean {
    return this.#entered.size === 0;
  }

  /** Whether this process may go on with the run itself, or, if `own` is null, with a cut of it. */
  can(process: Process, run: RunId, own: RunId | null): boolean {
    const world = this.#world;
    if (world.plan.keeping.length === 0) return true;
    const root = world.rootOf(run);
    for (const one of this.#entered)
      if (one.process === process && one.root === root && (own === null || one.run !== own)) return false;
    return !world.followings.some(
      (one) => one.process === process.no && one.endedAt === null && one.run !== own && world.rootOf(one.run) === root,
    );
  }

  /** Gives what is to be called once it goes on, or does not. */
  enter(process: Process, run: RunId, own: RunId | null): () => void {
    const entered = { process, root: this.#world.rootOf(run), run: own };
    this.#entered.add(entered);
    return () => void this.#entered.delete(entered);
  }

  /** Nobody tells what became of what a dead process was asked for. */
  forget(dead: Process): void {
    for (const one of this.#entered) if (one.process === dead) this.#entered.delete(one);
  }
}
