// Shared by the callers of a crowd: access to the server, and the ids that they know of each other.
import type { SeededRng } from './seeded-rng.ts';

export type Crowd = {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Runs, client tool calls that wait for their results, and MCP sessions. None of these ids is a secret here. */
  readonly runs: RecentIds;
  readonly calls: RecentIds;
  readonly sessions: RecentIds;
  /** Whether a run is no longer stored. */
  isForgotten(run: string): Promise<boolean>;
  reportProblem(words: string): void;
  /** Counts things that must happen in the test. */
  count(what: string): void;
};

const keptMax = 500;

/** The newest ids, with their owners. */
export class RecentIds {
  readonly #owners = new Map<string, number>();

  add(id: string, owner: number): void {
    this.#owners.set(id, owner);
    if (this.#owners.size <= keptMax) return;
    for (const [oldest] of this.#owners) {
      this.#owners.delete(oldest);
      return;
    }
  }

  drop(id: string): void {
    this.#owners.delete(id);
  }

  /** An id of another caller, if there is one. */
  ofAnotherCaller(caller: number, rng: SeededRng): string | undefined {
    const others = [...this.#owners].filter(([, owner]) => owner !== caller);
    return others.length === 0 ? undefined : rng.of(others)[0];
  }
}

/** Waits some turns of the event loop, so that other callers interleave. */
export const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
};
