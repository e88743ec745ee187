import type { AgentResources } from '#app/agents';
import type { CellId } from '#base';
import type {
  Agent,
  Clock,
  PassedOverModel,
  RunResources,
  SessionResources,
  ListedTools,
  NamedSource,
  RestingSource,
} from '#contracts';
import type { EarliestTimer } from './earliest-timer.ts';

const closingMsMax = 5_000;

/** When tool servers of cells that wait for people are closed. */
export type IdleSources = { readonly timer: EarliestTimer; readonly clock: Clock; readonly serverIdleMs: number };

/** The models and tools of one run's sessions: those that are kept ready, and those that are being closed. */
export class LocalRunResources implements RunResources {
  readonly #resources: AgentResources;
  #pool: ResourcePool | undefined;
  #closing: Promise<void>[] | undefined;
  #sources: Map<CellId, RestingSource[]> | undefined;
  #restTimers: Map<CellId, () => void> | undefined;
  readonly #idle: IdleSources;

  constructor(resources: AgentResources, idle: IdleSources) {
    this.#resources = resources;
    this.#idle = idle;
  }

  onSource(cell: CellId, source: RestingSource): void {
    const sources = (this.#sources ??= new Map());
    sources.set(cell, [...(sources.get(cell) ?? []), source]);
  }

  /** Tool servers of a cell that waits for people are closed after a while, and opened again when it continues. */
  onPause(cell: CellId, paused: boolean): void {
    const sources = this.#sources?.get(cell);
    if (sources === undefined) return;
    const timers = (this.#restTimers ??= new Map());
    timers.get(cell)?.();
    timers.delete(cell);
    if (!paused) return;
    const { timer, clock, serverIdleMs } = this.#idle;
    timers.set(
      cell,
      timer.at(clock.now() + serverIdleMs, () => void Promise.all(sources.map((source) => source.rest()))),
    );
  }

  resourcesFor(agent: Agent, model?: string, without: readonly string[] = []): SessionResources {
    const isUsual = model === undefined && without.length === (this.passedOver(agent)?.length ?? 0);
    if (isUsual && this.#pool !== undefined) return this.#pool.take(agent);
    return this.#resources.resourcesFor(agent, model, without);
  }

  passedOver(agent: Agent): readonly PassedOverModel[] | undefined {
    return this.#resources.passedOver?.(agent);
  }

  warm(agent: Agent, count: number): void {
    this.#pool ??= new ResourcePool((one) => this.#resources.resourcesFor(one));
    this.#pool.keepReady(agent, count);
  }

  onClosing(done: Promise<void>): void {
    (this.#closing ??= []).push(done);
  }

  /** Resolves when everything that its sessions opened is closed, or after a timeout. */
  async whenClosed(clock: Clock): Promise<void> {
    // A run that was left, or cancelled, still waited for people.
    for (const stop of this.#restTimers?.values() ?? []) stop();
    if (this.#pool !== undefined) this.onClosing(this.#pool.close());
    if (this.#closing === undefined) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stop = clock.timer(closingMsMax, resolve);
    await Promise.race([Promise.all(this.#closing), late]);
    stop();
  }
}

// Prepares resources before a session needs them: starts tool servers and lists their tools.
//
//   pool-one-session. Prepared resources go to one session and are closed with it; unused ones are closed with the run.
//   pool-changes-nothing-seen. A session with prepared resources sees the same as a session that starts without them.
class ResourcePool {
  readonly #make: (agent: Agent) => SessionResources;
  readonly #entries = new Map<string, PoolEntry>();
  #closed = false;

  constructor(make: (agent: Agent) => SessionResources) {
    this.#make = make;
  }

  /** Keeps this many ready from now on. */
  keepReady(agent: Agent, count: number): void {
    const { ready } = this.#entries.get(agent.digest) ?? { ready: [] };
    this.#entries.set(agent.digest, { agent, count, ready });
    this.#fill(agent.digest);
  }

  /** Returns prepared resources if there are any, and prepares a replacement. */
  take(agent: Agent): SessionResources {
    const ready = this.#entries.get(agent.digest)?.ready.shift();
    if (ready === undefined) return this.#make(agent);
    this.#fill(agent.digest);
    return ready.resources;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const left = [...this.#entries.values()].flatMap(({ ready }) => ready);
    await Promise.all(left.flatMap(({ sources }) => sources.map((source) => source.discard())));
  }

  #fill(digest: string): void {
    const entry = this.#entries.get(digest);
    if (entry === undefined || this.#closed) return;
    for (let missing = entry.count - entry.ready.length; missing > 0; missing--)
      entry.ready.push(prepare(this.#make(entry.agent)));
  }
}

type ReadyResources = { readonly resources: SessionResources; readonly sources: readonly ReadySource[] };
type PoolEntry = { readonly agent: Agent; readonly count: number; readonly ready: ReadyResources[] };

const prepare = ({ models, sources }: SessionResources): ReadyResources => {
  const uses = sources.map(({ source, only }) => ({ source: new ReadySource(source), only }));
  return { resources: { models, sources: uses }, sources: uses.map(({ source }) => source) };
};

/** A tool source whose tools are already being listed. */
class ReadySource implements NamedSource {
  readonly name: string;
  readonly #source: NamedSource;
  readonly #abort = new AbortController();
  #listing: Promise<ListedTools> | null;

  constructor(source: NamedSource) {
    this.name = source.name;
    this.#source = source;
    this.#listing = source.list({ signal: this.#abort.signal });
    this.#listing.catch(() => undefined);
  }

  /** Retries if the early listing failed. */
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
