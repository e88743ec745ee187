import type { CellId, RecordedBy, RunId, Semaphore } from '#base';
import type {
  Agent,
  Clock,
  SessionResources,
  Frame,
  Ids,
  LiveEvent,
  PassedOverModel,
  Redact,
  RunLog,
  RunStartInfo,
  StallMeter,
  Store,
  Validate,
  WindowLimit,
  CellFolders,
} from '#contracts';
import type { RunWorldPorts } from '#core/orchestration';
import type { AgentList } from './agent-list.ts';
import type { SchemaProblems } from './check-schemas.ts';
import type { AgentResources } from './agents/agent-resources.ts';
import { ResourcePool } from './resource-pool.ts';
import type { ConversationSettings } from './conversations/conversation-settings.ts';
import type { LiveSession } from './live-session.ts';
import type { OpenPauses } from './run-reader.ts';
import type { StallMonitor } from './stall-monitor.ts';

/** What all runs of one Cloister share. */
export type SharedPorts = SchemaProblems & {
  readonly store: Store;
  readonly workspaces: CellFolders;
  readonly validate: Validate;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly lanes: ReadonlyMap<string, Semaphore>;
  readonly resources: AgentResources;
  /** Undefined when the agents are in code. */
  readonly startInfo: RunStartInfo | undefined;
  /** This build, and the format of the runs it starts. */
  readonly recordedBy: RecordedBy;
  /** How conversations and checkpoints are stored; by default without files. */
  readonly conversationSettings?: ConversationSettings;
  /** Both absent where there is no real time. */
  readonly stalls?: StallMonitor | undefined;
  readonly openPauses?: OpenPauses | undefined;
};

/** What belongs to one run, and the agents as currently registered. */
export type RunScope = {
  readonly shared: SharedPorts;
  readonly agents: AgentList;
  readonly session: LiveSession;
  /** Notified about new records if the run is autosaved. */
  readonly autosave: { touch(run: RunId): void } | undefined;
};

const closingMsMax = 5_000;

/** The world of one run. A class, because ten thousand of them may be in flight. */
export class RunWorld implements RunWorldPorts {
  readonly run: RunId;
  readonly log: RunLog;
  readonly #scope: RunScope;
  #pool: ResourcePool | undefined;
  #closing: Promise<void>[] | undefined;
  readonly stalls: StallMeter | undefined;

  constructor(run: RunId, log: RunLog, scope: RunScope) {
    this.run = run;
    this.log = log;
    this.#scope = scope;
    this.stalls = scope.shared.stalls?.meterFor(run);
  }

  get clock(): Clock {
    return this.#scope.shared.clock;
  }
  get ids(): Ids {
    return this.#scope.shared.ids;
  }
  get workspaces(): CellFolders {
    return this.#scope.shared.workspaces;
  }
  get validate(): Validate {
    return this.#scope.shared.validate;
  }
  redactFor(agent: Agent | null, models?: readonly string[]): Redact | null {
    return this.#scope.shared.resources.redactFor(agent, models);
  }
  get recordedBy(): RecordedBy {
    return this.#scope.shared.recordedBy;
  }
  get started(): RunStartInfo | undefined {
    return this.#scope.shared.startInfo;
  }
  resourcesFor(agent: Agent, model?: string, without: readonly string[] = []): SessionResources {
    const { resources } = this.#scope.shared;
    const isUsual = model === undefined && without.length === (resources.passedOver?.(agent)?.length ?? 0);
    if (isUsual && this.#pool !== undefined) return this.#pool.take(agent);
    return resources.resourcesFor(agent, model, without);
  }
  passedOver(agent: Agent): readonly PassedOverModel[] | undefined {
    return this.#scope.shared.resources.passedOver?.(agent);
  }
  warm(agent: Agent, count: number): void {
    this.#pool ??= new ResourcePool((one) => this.#scope.shared.resources.resourcesFor(one));
    this.#pool.keepReady(agent, count);
  }
  windowLimitFor(agent: Agent): WindowLimit | undefined {
    return this.#scope.agents.windowLimitFor(agent);
  }
  groupTokens(agent: Agent): number | undefined {
    return this.#scope.agents.groupTokens(agent);
  }
  onClosing(done: Promise<void>): void {
    (this.#closing ??= []).push(done);
  }
  /** Resolves when everything that its sessions opened is closed, or after a timeout. */
  async waitUntilClosed(): Promise<void> {
    if (this.#pool !== undefined) this.onClosing(this.#pool.close());
    if (this.#closing === undefined) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stop = this.clock.timer(closingMsMax, resolve);
    await Promise.race([Promise.all(this.#closing), late]);
    stop();
  }
  storeBlob(bytes: Uint8Array): Promise<string> {
    return this.#scope.shared.store.putBlob(bytes);
  }
  readBlob(ref: string): Promise<Uint8Array> {
    return this.#scope.shared.store.getBlob(ref);
  }
  lane(name: string): Semaphore | undefined {
    return this.#scope.shared.lanes.get(name);
  }
  cancelled(): boolean {
    return this.#scope.session.cancelled;
  }
  hasLiveListeners(): boolean {
    return this.#scope.session.hasReaders;
  }
  onFrame(frame: Frame): void {
    this.#scope.session.onFrame(frame);
    this.#scope.autosave?.touch(this.run);
  }
  onLive(cell: CellId, agent: string, event: LiveEvent): void {
    this.#scope.session.onLive(cell, agent, event);
  }
}
