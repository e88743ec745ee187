// Decides which process may continue which run. A forked run has the same cell ids as its origin. As long as no process works on
// both, every call can be attributed to one of them.
import type { RunId } from '#base';
import type { Process } from './process.ts';
import type { RunTask } from './run-tasks.ts';
import { turnKey } from './watched-workspace-log.ts';
import type { World } from './world.ts';

/** `run` is null while the fork has no id yet. */
type Reservation = { readonly process: Process; readonly origin: RunId; readonly run: RunId | null };

export class RunPlacement {
  readonly #world: World;
  /** Runs that a process is about to continue. */
  readonly #reservations = new Set<Reservation>();

  constructor(world: World) {
    this.#world = world;
  }

  get idle(): boolean {
    return this.#reservations.size === 0;
  }

  /** Whether this process may continue the run itself or, if `own` is null, fork it. */
  mayRun(process: Process, run: RunId, own: RunId | null): boolean {
    const world = this.#world;
    if (!world.mayFork) return true;
    const root = world.originOf(run);
    for (const one of this.#reservations)
      if (one.process === process && one.origin === root && (own === null || one.run !== own)) return false;
    return !world.sessions.some(
      (one) =>
        one.process === process.no && one.endedAt === null && one.run !== own && world.originOf(one.run) === root,
    );
  }

  /** Returns a function to call once the run has been continued, or could not be. */
  reserve(process: Process, run: RunId, own: RunId | null): () => void {
    const entered = { process, origin: this.#world.originOf(run), run: own };
    this.#reservations.add(entered);
    return () => void this.#reservations.delete(entered);
  }

  /** Drops the reservations of a dead process, which never reports back. */
  dropProcess(dead: Process): void {
    for (const one of this.#reservations) if (one.process === dead) this.#reservations.delete(one);
  }

  /** Whether a session of the task's run is running. */
  isLive({ run }: RunTask): boolean {
    const { sessions } = this.#world;
    return sessions.some((one) => one.run === run && one.endedAt === null && this.#world.isAlive(one.process));
  }

  /** Rotates the order, so that no task always comes first where tasks block each other. */
  rotate(tasks: readonly RunTask[]): readonly RunTask[] {
    const { plan, random } = this.#world;
    const first = plan.checkpointActions.length === 0 ? 0 : random.int(0, tasks.length - 1);
    return [...tasks.slice(first), ...tasks.slice(0, first)];
  }

  /** Two runs in one conversation would block each other, so the second mostly waits. `busy`: the conversations so far. */
  isConversationBusy({ run, conversation }: RunTask, busy: Set<string>): boolean {
    const { faults, random } = this.#world;
    const ref = (run === null ? undefined : this.#world.request(run)?.conversation) ?? conversation;
    if (ref === null) return false;
    const key = turnKey(0, ref);
    if (busy.has(key)) return !(faults.on && random.chance(0.3));
    busy.add(key);
    return false;
  }
}
