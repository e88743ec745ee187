import type { CellId, JsonObject, RunId, Semaphore } from '#base';
import type {
  Agent,
  Clock,
  SessionResources,
  Frame,
  Ids,
  LiveEvent,
  Redact,
  RunLog,
  RunStartInfo,
  Store,
  Validate,
  WindowLimit,
  CellFolders,
} from '#contracts';
import type { RunWorldPorts } from '#core/orchestration';
import type { AgentList } from './agent-list.ts';
import type { SchemaProblem } from './check-schemas.ts';
import type { AgentResources } from './agents/agent-resources.ts';
import { ResourcePool } from './resource-pool.ts';
import type { ConversationSettings } from './conversations/conversation-settings.ts';
import type { LiveSession } from './live-session.ts';

/** What all runs of one Cloister share. */
export type Shared = {
  readonly store: Store;
  readonly workspaces: CellFolders;
  readonly validate: Validate;
  readonly schemaProblem: SchemaProblem;
  /** Checking against this one may take only a moment: it came from somebody who is not the operator. */
  readonly boundSchemaTime: (schema: JsonObject) => void;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly lanes: ReadonlyMap<string, Semaphore>;
  readonly equipped: AgentResources;
  /** Undefined when the agents came as objects. */
  readonly started: RunStartInfo | undefined;
  /** How conversations and checkpoints are kept; by default without files. */
  readonly kept?: ConversationSettings;
};

/** What is of one run alone, or of the agents as they are now. */
export type RunScope = {
  readonly shared: Shared;
  readonly agents: AgentList;
  readonly session: LiveSession;
  /** Hears of what is recorded, if the run is to be saved. */
  readonly saving: { touch(run: RunId): void } | undefined;
};

const closingMsMax = 5_000;

/** What one run is given. A class, because ten thousand of them may be in flight. */
export class RunWorld implements RunWorldPorts {
  readonly run: RunId;
  readonly log: RunLog;
  readonly #of: RunScope;
  #pool: ResourcePool | undefined;
  #closing: Promise<void>[] | undefined;
  #drawn: string | undefined;

  constructor(run: RunId, log: RunLog, of: RunScope) {
    this.run = run;
    this.log = log;
    this.#of = of;
  }

  get clock(): Clock {
    return this.#of.shared.clock;
  }
  get ids(): Ids {
    const drawn = this.#drawn;
    if (drawn === undefined) return this.#of.shared.ids;
    const random = (): string => {
      this.#drawn = undefined;
      return drawn;
    };
    return { random };
  }
  /** The next id is this one: it was handed out before the run began. */
  drawNext(id: string): void {
    this.#drawn = id;
  }
  get workspaces(): CellFolders {
    return this.#of.shared.workspaces;
  }
  get validate(): Validate {
    return this.#of.shared.validate;
  }
  get redact(): Redact | null {
    return this.#of.shared.equipped.redact;
  }
  get started(): RunStartInfo | undefined {
    return this.#of.shared.started;
  }
  equip(agent: Agent, model?: string): SessionResources {
    if (model === undefined && this.#pool !== undefined) return this.#pool.take(agent);
    return this.#of.shared.equipped.equip(agent, model);
  }
  warm(agent: Agent, count: number): void {
    this.#pool ??= new ResourcePool((one) => this.#of.shared.equipped.equip(one));
    this.#pool.keep(agent, count);
  }
  windowOf(agent: Agent): WindowLimit | undefined {
    return this.#of.agents.windowOf(agent);
  }
  groupTokens(agent: Agent): number | undefined {
    return this.#of.agents.groupTokens(agent);
  }
  closing(done: Promise<void>): void {
    (this.#closing ??= []).push(done);
  }
  /** When all that its sessions opened is closed; what does not close in time is left behind. */
  async closed(): Promise<void> {
    if (this.#pool !== undefined) this.closing(this.#pool.close());
    if (this.#closing === undefined) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stop = this.clock.timer(closingMsMax, resolve);
    await Promise.race([Promise.all(this.#closing), late]);
    stop();
  }
  keep(bytes: Uint8Array): Promise<string> {
    return this.#of.shared.store.putBlob(bytes);
  }
  blob(ref: string): Promise<Uint8Array> {
    return this.#of.shared.store.getBlob(ref);
  }
  lane(name: string): Semaphore | undefined {
    return this.#of.shared.lanes.get(name);
  }
  cancelled(): boolean {
    return this.#of.session.cancelled;
  }
  heard(): boolean {
    return this.#of.session.heard;
  }
  onFrame(frame: Frame): void {
    this.#of.session.onFrame(frame);
    this.#of.saving?.touch(this.run);
  }
  onLive(cell: CellId, agent: string, event: LiveEvent): void {
    this.#of.session.onLive(cell, agent, event);
  }
}
