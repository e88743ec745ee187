// Equipment that is made ready before there is a session for it: its servers are started and asked for their tools.
//
//   U1. What is ready is handed to one session, and closed with it; what nobody took is closed with the run.
//   U2. A session that is handed it sees what one sees that starts from nothing.
import type { Agent, SessionResources, ListedTools, ToolSource } from '#contracts';

export class ResourcePool {
  readonly #make: (agent: Agent) => SessionResources;
  readonly #kept = new Map<string, Kept>();
  #closed = false;

  constructor(make: (agent: Agent) => SessionResources) {
    this.#make = make;
  }

  /** From now on so many of these are ready. */
  keep(agent: Agent, count: number): void {
    const { ready } = this.#kept.get(agent.digest) ?? { ready: [] };
    this.#kept.set(agent.digest, { agent, count, ready });
    this.#fill(agent.digest);
  }

  /** One that is ready, if there is one; another takes its place. */
  take(agent: Agent): SessionResources {
    const ready = this.#kept.get(agent.digest)?.ready.shift();
    if (ready === undefined) return this.#make(agent);
    this.#fill(agent.digest);
    return ready.equipment;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const left = [...this.#kept.values()].flatMap(({ ready }) => ready);
    await Promise.all(left.flatMap(({ sources }) => sources.map((source) => source.discard())));
  }

  #fill(digest: string): void {
    const kept = this.#kept.get(digest);
    if (kept === undefined || this.#closed) return;
    for (let missing = kept.count - kept.ready.length; missing > 0; missing--)
      kept.ready.push(readied(this.#make(kept.agent)));
  }
}

type Ready = { readonly equipment: SessionResources; readonly sources: readonly ReadySource[] };
type Kept = { readonly agent: Agent; readonly count: number; readonly ready: Ready[] };

const readied = ({ models, sources }: SessionResources): Ready => {
  const uses = sources.map(({ source, only }) => ({ source: new ReadySource(source), only }));
  return { equipment: { models, sources: uses }, sources: uses.map(({ source }) => source) };
};

/** A source that is being asked already. */
class ReadySource implements ToolSource {
  readonly name: string;
  readonly #source: ToolSource;
  readonly #abort = new AbortController();
  #listing: Promise<ListedTools> | null;

  constructor(source: ToolSource) {
    this.name = source.name;
    this.#source = source;
    this.#listing = source.list({ signal: this.#abort.signal });
    this.#listing.catch(() => undefined);
  }

  /** What failed while nobody needed it is tried again. */
  list(context: { readonly signal: AbortSignal }): Promise<ListedTools> {
    const listing = this.#listing;
    this.#listing = null;
    return listing === null ? this.#source.list(context) : listing.catch(() => this.#source.list(context));
  }

  async discard(): Promise<void> {
    this.#abort.abort();
    const listed = await this.#listing?.catch(() => null);
    await listed?.close?.();
  }
}
