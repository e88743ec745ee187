// What the rest of core sees of a cell's local context, and what a run is given of the world.
import type { CellId, Failure, RunId, Semaphore } from '#base';
import type {
  Agent,
  CellContext,
  ChildOperation,
  Clock,
  Crossed,
  Frame,
  Ids,
  LiveEvent,
  Outcome,
  PendingOperation,
  Redact,
  RunLog,
  Segment,
  SpawnIdentity,
  TeamPart,
} from '#contracts';
import type { Ledger } from '#core/crossings';
import type { Account } from './account.ts';
import type { Amendments } from './amendments.ts';
import type { ReceivedCrossings } from './received-crossings.ts';
import type { MailDelivery } from './mail-delivery.ts';
import type { RecordedRun } from './recorded-run.ts';

/** A CellContext with what orchestration needs to open and close the cell around it. */
export interface CellRuntime extends CellContext {
  readonly agent: Agent;
  readonly depth: number;
  /** Null at the root. */
  readonly parent: CellId | null;
  readonly spawned: SpawnIdentity | null;
  /** Of a cell of a team: what it is for. */
  readonly task: TeamPart | null;
  readonly account: Account;
  readonly liveRun: {
    readonly post: MailDelivery;
    readonly ledger: Ledger;
    readonly startedAt: number;
    readonly amendments: Amendments;
    /** The number that the next frame of the run will have. */
    readonly nextFrame: number;
    /** What the log has of the run, when it goes on or is made again. */
    readonly recorded: Pick<RecordedRun, 'cells'> | null;
  };
  /** The frame whose time is `now`. */
  readonly nowIn: number;
  /** How much of the time from its birth until `now` the run was down. */
  readonly downMs: number;
  /** Whether anybody listens to live events: if not, there is no need to make them. */
  readonly heard: boolean;
  /** The number of the frame in which the next operation begins, or began. */
  readonly nextFrame: number;
  /** What the next operation asks a child for: this, unless a fork has put something else there. */
  goalOr(asked: string): string;
  /** What crossed into it. */
  readonly arrivals: Pick<ReceivedCrossings, 'at' | 'given' | 'forget' | 'forgetMail'>;
  /** Stops this cell and all below it: operations settle as cancelled, and `first` rejects. */
  halt(failure?: Failure, atFrame?: number, at?: number): void;
  readonly halted: boolean;
  /** When every operation that began has settled. */
  drained(): Promise<void>;
  /** Those of these that had not settled when the next operation begins, or began. */
  unended<P extends PendingOperation>(pending: readonly P[]): readonly P[];
  /** The same, without those that were stopped with this cell. */
  living<P extends PendingOperation>(pending: readonly P[]): readonly P[];
  /** Lets those whom it is allowed see what its model is shown. */
  view: { readonly view: readonly Segment[]; readonly lasting: readonly Segment[] } | null;
}

/** What a local context begins with. */
export type CellSeed = {
  readonly cell: CellId;
  readonly agent: Agent;
  readonly depth: number;
  readonly parent: CellId | null;
  readonly spawned: SpawnIdentity | null;
  readonly task?: TeamPart | undefined;
  readonly bornAt: number;
  /** What crossed in as the goal: entry 0 of the cell's ledger. */
  readonly goal: Crossed<'goal'> | null;
  /** The frame of its birth, when that was just written. */
  readonly frame?: Frame;
};

/** Runs the session of a child that has just been born, to its outcome. Never rejects. */
export type RunChild<P extends RunPorts = RunPorts> = (
  operation: ChildOperation,
  runtime: CellRuntime,
  ports: P,
) => Promise<Outcome>;

export type RunPorts = {
  readonly run: RunId;
  readonly log: RunLog;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Absent or null when there are no secrets. */
  readonly redact?: Redact | null;
  keep(bytes: Uint8Array): Promise<string>;
  lane(name: string): Semaphore | undefined;
  onFrame?(frame: Frame): void;
  /** Whether anybody listens to live events: if not, there is no need to make them. */
  heard?(): boolean;
  onLive?(cell: CellId, agent: string, event: LiveEvent): void;
};
