// What the callers of a crowd have in common: the way to the server, and ids that they know of each other.
import type { Draw } from './drawn.ts';

export type Crowd = {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Runs, calls of clients' tools that wait for their results, and sessions of MCP. None of them is a secret here. */
  readonly runs: Newest;
  readonly calls: Newest;
  readonly sessions: Newest;
  /** A run that nobody could be told of. */
  isForgotten(run: string): Promise<boolean>;
  problem(words: string): void;
  /** Something happened that must have, so many times. */
  happened(what: string): void;
};

const keptMax = 500;

/** The newest ids, with whose they are. */
export class Newest {
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

  /** One that is another's, if there is one. */
  notOf(caller: number, draw: Draw): string | undefined {
    const others = [...this.#owners].filter(([, owner]) => owner !== caller);
    return others.length === 0 ? undefined : draw.of(others)[0];
  }
}

/** Others come in between. */
export const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
};
