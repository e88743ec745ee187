// A cell on its run's side.
import type { CellId, Failure } from '#base';
import type {
  Agent,
  CellPort,
  Crossed,
  Frame,
  Ids,
  IndeterminatePolicy,
  Outcome,
  PassedOverModel,
  OutsideSpawn,
  Redact,
  RunPorts,
  SessionWorld,
  WindowView,
  StartedAgent,
  Amounts,
  ChildOperation,
  ChildRequest,
  TeamPart,
} from '#contracts';
import type { Door } from '#core/crossings';
import type { Account } from '#core/events';
import type { InFlight } from './in-flight.ts';
import type { Amendments } from './amendments.ts';
import type { ReceivedCrossings } from './received-crossings.ts';
import type { MailDelivery } from './mail-delivery.ts';
import type { RecordedRun } from './recorded-run.ts';

type RunOwnMembers =
  | 'received'
  | 'spent'
  | 'mailBytes'
  | 'ageMs'
  | 'askedMs'
  | 'runStartedAt'
  | 'format'
  | 'capsUpwards'
  | 'tracksMemory'
  | 'refuseOutside'
  | 'indeterminatePolicy';

/** A live cell, as its run sees it. Its session sees only `port`. */
export interface LiveCell extends Omit<CellPort, RunOwnMembers> {
  readonly port: CellPort;
  readonly account: Account;
  readonly run: {
    readonly mail: MailDelivery;
    readonly usesMail: boolean;
    readonly door: Door;
    readonly startedAt: number;
    readonly format: number;
    readonly amendments: Amendments;
    /** For its sessions. */
    readonly world: SessionWorld;
    /** For how long the run was down between two frames. */
    downBetween(first: number, last: number): number;
    /** When a cell worked, and when it waited for people. */
    activityOf(cell: CellId): Account['activity'] | undefined;
    /** The number of the run's next frame. */
    readonly nextFrame: number;
    /** The run's recorded log, on resume and replay. */
    readonly recorded: Pick<RecordedRun, 'cells'> | null;
    /** What the operator wants for this operation, whose outcome a crash has left unknown. */
    indeterminatePolicy(cell: CellId, op: number): IndeterminatePolicy;
    /** The models that a cell of this agent does without; undefined: none. */
    passedOver(cell: CellId, agent: Agent): readonly PassedOverModel[] | undefined;
  };
  readonly createdAt: number;
  /** Its deadline with all the time in which it has waited for people so far; 0: none. */
  readonly latestDeadline: number;
  /** The number of the frame whose time is `now`. */
  readonly nowFrame: number;
  /** The number of the frame that created it. */
  readonly createdInFrame: number;
  /** The number of the frame in which the next operation begins (on replay: began). */
  readonly nextFrame: number;
  readonly receivedCrossings: ReceivedCrossings;
  /** Stops this cell and its descendants: operations settle as cancelled, and `first` rejects. */
  halt(failure?: Failure, atFrame?: number, at?: number): void;
  readonly halted: boolean;
  /** What its session does now. */
  readonly inFlight: Pick<InFlight, 'hasSteps' | 'onlyWaits'>;
  /** Resolves when every operation that began has settled. */
  whenAllSettled(): Promise<void>;
  /** Starts an agent for somebody outside. The number of the operation is negative: the session's own keep theirs. */
  beginOutside(operation: StartedChild): void;
  /** Set while the cell accepts agents from outside. */
  outsideSpawner: { spawn(request: OutsideSpawn, run: OutsideSpawnPorts): StartedAgent } | null;
  /** What its model was last shown, for those who are allowed to see it. */
  readonly shown: WindowView | null;
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
export type RunChild = (operation: StartedChild, cell: LiveCell, ports: RunPorts) => Promise<Outcome>;

/** A child that is about to begin, with everything that its run knows about it. */
export type StartedChild = ChildOperation & {
  readonly goal: Crossed<'goal'> | null;
  readonly caps: Amounts;
  readonly deadline: number;
  /** Names of the agents above it, root first, its own last. Used to refuse cycles, never shown. */
  readonly ancestry: readonly string[];
  /** Whether it was given a part of its caller's window. */
  readonly shares?: boolean;
  readonly groupTokens?: number | undefined;
  /** For a team: the budget reserved for its final answer. */
  readonly floor?: Amounts | undefined;
  readonly task?: TeamPart | undefined;
  readonly check?: ChildRequest['check'];
};
