import type { CellId, RunId, Semaphore } from '#base';
import type {
  Agent,
  Clock,
  Equipment,
  Frame,
  Ids,
  LiveEvent,
  Redact,
  RunLog,
  StartedWith,
  Store,
  Validate,
  Workspaces,
} from '#contracts';
import type { World } from '#core/orchestration';
import type { SchemaProblem } from './check-schemas.ts';
import type { Equipped } from './agents/equipped.ts';
import type { LiveSession } from './live-session.ts';

/** What all runs of one Cloister share. */
export type Shared = {
  readonly store: Store;
  readonly workspaces: Workspaces;
  readonly validate: Validate;
  readonly schemaProblem: SchemaProblem;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly lanes: ReadonlyMap<string, Semaphore>;
  readonly equipped: Equipped;
  /** Undefined when the agents came as objects. */
  readonly started: StartedWith | undefined;
};

const closingMsMax = 5_000;

/** What one run is given. A class, because ten thousand of them may be in flight. */
export class RunWorld implements World {
  readonly run: RunId;
  readonly log: RunLog;
  readonly #shared: Shared;
  readonly #session: LiveSession;
  #closing: Promise<void>[] | undefined;

  constructor(run: RunId, log: RunLog, shared: Shared, session: LiveSession) {
    this.run = run;
    this.log = log;
    this.#shared = shared;
    this.#session = session;
  }

  get clock(): Clock {
    return this.#shared.clock;
  }
  get ids(): Ids {
    return this.#shared.ids;
  }
  get workspaces(): Workspaces {
    return this.#shared.workspaces;
  }
  get validate(): Validate {
    return this.#shared.validate;
  }
  get redact(): Redact | null {
    return this.#shared.equipped.redact;
  }
  get started(): StartedWith | undefined {
    return this.#shared.started;
  }
  equip(agent: Agent, model?: string): Equipment {
    return this.#shared.equipped.equip(agent, model);
  }
  closing(done: Promise<void>): void {
    (this.#closing ??= []).push(done);
  }
  /** When all that its sessions opened is closed; what does not close in time is left behind. */
  async closed(): Promise<void> {
    if (this.#closing === undefined) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stop = this.clock.timer(closingMsMax, resolve);
    await Promise.race([Promise.all(this.#closing), late]);
    stop();
  }
  keep(bytes: Uint8Array): Promise<string> {
    return this.#shared.store.keep(bytes);
  }
  blob(ref: string): Promise<Uint8Array> {
    return this.#shared.store.blob(ref);
  }
  lane(name: string): Semaphore | undefined {
    return this.#shared.lanes.get(name);
  }
  cancelled(): boolean {
    return this.#session.cancelled;
  }
  heard(): boolean {
    return this.#session.heard;
  }
  onFrame(frame: Frame): void {
    this.#session.onFrame(frame);
  }
  onLive(cell: CellId, agent: string, event: LiveEvent): void {
    this.#session.onLive(cell, agent, event);
  }
}
