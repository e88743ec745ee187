// The ports through which one run reaches the outside.
import type { CellId, RecordedBy, RunId, Semaphore } from '#base';
import type { Agent } from './agent.ts';
import type { LiveEvent } from './event.ts';
import type { RunStartInfo } from './fork.ts';
import type { Frame, PassedOverModel } from './frame.ts';
import type { WindowLimit } from './segment.ts';
import type { IndeterminatePolicy } from './tool.ts';
import type { CellFolders, RunLog } from './store.ts';
import type { Clock, Ids, Redact, SessionResources, StallMeter, Validate } from './world.ts';

export type RunPorts = SharedRunPorts & {
  readonly run: RunId;
  readonly log: RunLog;
  readonly resources: RunResources;
  /** The names of the variables that the run was given values for, as far as its agents use them; undefined: none. */
  readonly ownVariables?: readonly string[] | undefined;
  /**
   * Removes what the cells of an agent may not record; without an agent, what no cell may. `models`: those that forks gave the
   * agent. Null when there is nothing to remove.
   */
  redactFor?(agent: Agent | null, models?: readonly string[]): Redact | null;
  /** Whether the run, which continues, was at rest: all of its cells only waited, so that time counts like any other. */
  readonly wasAtRest?: boolean | undefined;
  /** Absent where there is no real time. */
  readonly stalls?: StallMeter | undefined;
  readonly listener?: RunListener | undefined;
};

/** The same for all runs of one Cloister. */
export type SharedRunPorts = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly workspaces: CellFolders;
  readonly validate: Validate;
  /** The build that records, and the format of the runs it starts. Default: the newest format, and a build without a name. */
  readonly recordedBy?: RecordedBy | undefined;
  /** What becomes of calls that were in flight when a run that it resumes was interrupted. Default: `continue`. */
  readonly indeterminate?: IndeterminatePolicy | undefined;
  /** How its runs are started, so that they can be resumed with the same agents. */
  readonly started?: RunStartInfo | undefined;
  /** The context window of an agent, if its definition or the config sets it. */
  windowLimitFor?(agent: Agent): WindowLimit | undefined;
  /** The smallest window among the agents currently in this agent's budget group. */
  groupTokens?(agent: Agent): number | undefined;
  storeBlob(bytes: Uint8Array): Promise<string>;
  readBlob(ref: string): Promise<Uint8Array>;
  lane(name: string): Semaphore | undefined;
  /** Calls back at that time, with one timer for all runs. Absent: each question has a timer of its own. */
  readonly expiries?: { at(time: number, expire: () => void): () => void } | undefined;
};

/** What a session is given of all this: nothing that leads to the run, its log or its listener. */
export type SessionWorld = Pick<SharedRunPorts, 'validate' | 'windowLimitFor' | 'groupTokens' | 'readBlob'> &
  Pick<RunResources, 'onClosing'>;

/** The models and tools of one run's sessions. */
export type RunResources = {
  /**
   * Models and tool sources for a new session of this agent; sessions share none of them. `model` replaces the agent's own.
   * `without`: its models that are left out; by default those that cannot be used now.
   */
  resourcesFor(agent: Agent, model?: string, without?: readonly string[]): SessionResources;
  /** The agent's models that cannot be used now; undefined: none. */
  passedOver?(agent: Agent): readonly PassedOverModel[] | undefined;
  /** Pre-warms this many instances of an agent. */
  warm?(agent: Agent, count: number): void;
  /** Called with each tool source of a session, which can be closed while its cell waits, and opens again by itself. */
  onSource?(cell: CellId, source: RestingSource): void;
  /** The cell waits for a person and nothing in it or below it works, or no longer so. */
  onPause?(cell: CellId, paused: boolean): void;
  /** Called with the promise of a resource that is being closed; the run waits for it before it ends. */
  onClosing?(done: Promise<void>): void;
};

/** A tool source that may be closed until it is needed again. */
export type RestingSource = { rest(): Promise<void> };

/** Whoever follows a run. */
export type RunListener = {
  onFrame?(frame: Frame): void;
  onLive?(cell: CellId, agent: string, event: LiveEvent): void;
  /** All that the run waits for now is people, or no longer so. */
  onPause?(paused: boolean): void;
  /** Whether anyone reads live events. If not, none are made. */
  readonly hasLiveListeners?: boolean;
  /** Whether the run was cancelled before it started. */
  readonly cancelled?: boolean;
};
