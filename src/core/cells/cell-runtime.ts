// What the rest of core sees of a cell's local context.
import type { CellId, Failure } from '#base';
import type {
  Agent,
  CellContext,
  Crossed,
  Frame,
  Ids,
  Outcome,
  PassedOverModel,
  OutsideSpawn,
  PendingOperation,
  Redact,
  Segment,
  SpawnIdentity,
  StartedAgent,
  TeamPart,
  RunPorts,
} from '#contracts';
import type { Door } from '#core/crossings';
import type { Account } from '#core/events';
import type { StartedChild } from './started-child.ts';
import type { Amendments } from './amendments.ts';
import type { ReceivedCrossings } from './received-crossings.ts';
import type { SpawnedChild } from './spawned-children.ts';
import type { MailDelivery } from './mail-delivery.ts';
import type { RecordedRun } from './recorded-run.ts';

/** A CellContext, plus what orchestration needs to open and close the cell. */
export interface CellRuntime extends CellContext {
  readonly agent: Agent;
  readonly depth: number;
  /** Null at the root. */
  readonly parent: CellId | null;
  readonly spawned: SpawnIdentity | null;
  /** In a team: the cell's part in the team's work. */
  readonly task: TeamPart | null;
  /** Names of its ancestors' agents, root first, its own last. Used to refuse cycles; never shown. */
  readonly ancestry: readonly string[];
  /** The smallest window of its budget group when the cell was created. */
  readonly groupTokens: number | undefined;
  /** Epoch milliseconds, as seen from its next operation; 0 when there is none. */
  readonly deadline: number;
  /** The deadline as seen from `now`, which may be before a fork. */
  readonly deadlineNow: number;
  readonly account: Account;
  readonly liveRun: {
    readonly mail: MailDelivery;
    readonly door: Door;
    readonly startedAt: number;
    /** The format of the run's records: it decides which versions of rules, estimates and texts the run uses. */
    readonly format: number;
    readonly amendments: Amendments;
    /** The number of the run's next frame. */
    readonly nextFrame: number;
    /** The run's recorded log, on resume and replay. */
    readonly recorded: Pick<RecordedRun, 'cells'> | null;
    /** The models that a cell of this agent does without; undefined: none. */
    passedOver(cell: CellId, agent: Agent): readonly PassedOverModel[] | undefined;
  };
  readonly createdAt: number;
  /** The number of the frame whose time is `now`. */
  readonly nowFrame: number;
  /** For how long the run was down between the cell's creation and `now`. */
  readonly downMs: number;
  /** Whether anyone reads live events. If not, none are made. */
  readonly hasLiveListeners: boolean;
  /** The number of the frame in which the next operation begins (on replay: began). */
  readonly nextFrame: number;
  /** The goal for the child that the next operation creates: the requested one, unless a fork replaced it. */
  amendedGoal(requested: string): string;
  /** What has crossed into the cell. */
  readonly receivedCrossings: Pick<ReceivedCrossings, 'at' | 'addedContext' | 'forget' | 'forgetMail'>;
  /** Stops this cell and its descendants: operations settle as cancelled, and `first` rejects. */
  halt(failure?: Failure, atFrame?: number, at?: number): void;
  readonly halted: boolean;
  /** Whether this cell is stopped when the next operation begins (on replay: began). */
  readonly isStopped: boolean;
  /** Resolves when every operation that began has settled. */
  whenAllSettled(): Promise<void>;
  /** Those of the given operations that have not settled when the next operation begins (on replay: began). */
  unsettled<P extends PendingOperation>(pending: readonly P[]): readonly P[];
  /** Agents that it spawned before the next operation begins (on replay: began). */
  readonly spawnedChildren: readonly SpawnedChild[];
  /** How many of them were started from outside. */
  readonly outsideSpawns: number;
  /** Starts an agent for somebody outside. The number of the operation is negative: the session's own keep theirs. */
  beginOutside(operation: StartedChild): void;
  /** Set while the cell accepts agents from outside. */
  outsideSpawner: { spawn(request: OutsideSpawn, run: OutsideSpawnPorts): StartedAgent } | null;
  /** What the cell's model is shown, for those who are allowed to see it. */
  view: { readonly view: readonly Segment[]; readonly context: readonly Segment[] } | null;
}

/** What starting an agent from outside needs of the run. */
export type OutsideSpawnPorts = Ids & {
  time(): number;
  redactFor(agent: Agent | null): Redact | null;
};

/** What a local context is created from. `goal`: entry 0 of the cell's ledger. */
export type CellSeed = Pick<
  StartedChild,
  'cell' | 'agent' | 'spawned' | 'task' | 'goal' | 'deadline' | 'ancestry' | 'groupTokens'
> & {
  readonly depth: number;
  readonly parent: CellId | null;
  readonly createdAt: number;
  /** The frame that created the cell, if it was just written. */
  readonly frame?: Frame<Crossed> | undefined;
};

/** Runs the session of a newly created child to its outcome. Never rejects. */
export type RunChild = (operation: StartedChild, runtime: CellRuntime, ports: RunPorts) => Promise<Outcome>;
