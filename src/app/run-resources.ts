import type { Agent, Clock, PassedOverModel, RunResources, SessionResources } from '#contracts';
import type { AgentResources } from '#app/agents';
import { ResourcePool } from './resource-pool.ts';

const closingMsMax = 5_000;

/** The models and tools of one run's sessions: those that are kept ready, and those that are being closed. */
export class LocalRunResources implements RunResources {
  readonly #resources: AgentResources;
  #pool: ResourcePool | undefined;
  #closing: Promise<void>[] | undefined;

  constructor(resources: AgentResources) {
    this.#resources = resources;
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
    if (this.#pool !== undefined) this.onClosing(this.#pool.close());
    if (this.#closing === undefined) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stop = clock.timer(closingMsMax, resolve);
    await Promise.race([Promise.all(this.#closing), late]);
    stop();
  }
}
