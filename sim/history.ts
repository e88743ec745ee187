// Everything observed in one seed, as plain data. Judges read nothing else.
import type { CellId, RunId } from '#base';
import type {
  WorkspaceEntry,
  WorkspaceRecord,
  Budget,
  ConversationRef,
  DurableEvent,
  Frame,
  Outcome,
  RetrySafety,
  RunCommand,
  RunSummary,
  Task,
} from '#contracts';
import type { OwnershipEvent } from './leases.ts';
import type { AgentPlan, StorageActionPlan } from './plan.ts';

/** The number of frames of each run on the disk at some moment, by the run's index in the list. */
export type DiskLengths = readonly number[];

/** A request that reached a model provider. */
export type ModelCall = {
  readonly at: number;
  /** Its place among all calls, and what happened to runs on the disk. */
  readonly nth: number;
  readonly process: number;
  readonly model: string;
  /** The agent, and the number of the session that the model was created for. Numbers are unique across processes. */
  readonly agent: string;
  readonly session: number;
  /** The goal in the request, which is unique to a cell; empty if there is none. */
  readonly goal: string;
  /** JSON of the messages, and of the tools. */
  readonly prompt: string;
  readonly tools: string;
  readonly onDisk: DiskLengths;
  /** The provider refused it and did no work. */
  refused: boolean;
  /** The provider counts more input tokens than the runtime estimates. */
  readonly dense: boolean;
  /** The true cost, whatever usage the provider reported. */
  tokens: number;
  nanoUsd: number;
};

/** A call that reached a tool. */
export type ToolCall = {
  readonly at: number;
  readonly nth: number;
  readonly process: number;
  readonly tool: string;
  readonly repeat: RetrySafety;
  readonly key: string;
  readonly args: string;
  readonly onDisk: DiskLengths;
  /** How many effects it had. */
  effects: number;
};

/** What one process wrote to the log of one run, and how much of it was acknowledged. */
export type Writing = {
  readonly process: number;
  readonly run: RunId;
  readonly ownedAt: number;
  releasedAt: number | null;
  /** When it wrote its first frame, and the end of the run. */
  begunAt: number | null;
  closedAt: number | null;
  /** The frames as they were appended, in order. */
  readonly frames: Frame[];
  /** How many of them were acknowledged as durable. */
  acknowledged: number;
  /** How many of those were not on the disk at that moment. */
  early: number;
  /** When its process learned that frames could not be written. */
  failedAt: number | null;
};

/** A session that was started or resumed for a caller. */
export type FollowedSession = {
  readonly process: number;
  readonly run: RunId;
  readonly resumed: boolean;
  readonly startedAt: number;
  endedAt: number | null;
  outcome: Outcome | null;
  /** The error code, if there was no outcome. */
  error: string | null;
  cancelledAt: number | null;
  /** The log its process was writing at that time, and its length; null if there was none. */
  cancelledIn: { readonly writing: Writing; readonly after: number } | null;
  /** Whether its process still owned the run when it reported the end. */
  ownedAtEnd: boolean;
  /** The events that a reader got, and the number of live pieces in between. */
  events: DurableEvent[] | null;
  /** Whether the reader got to the end. */
  readAll: boolean;
  /** Whether the reader read nothing before the run had ended. */
  readonly stalled: boolean;
  pieces: number;
  /** For a team: the tasks of its session at the end. */
  tasks: readonly Task[] | null;
  /** For a resident: the messages to the person that a listener took, in order; null: nobody listened. */
  taken: TakenMessage[] | null;
  /** Whether the listener stayed to the end of the run. */
  heardAll: boolean;
  /** For a resumed resident: its agents when it was back, and the number of the newest frame then. */
  agentsWhenBack: { readonly cells: readonly CellId[]; readonly after: number } | null;
  /** Whether somebody asked the whole run to finish. */
  askedToFinish: boolean;
  /** Whether its caller was told that the run is on disk. */
  hasReceipt: boolean;
};

/**
 * A message to the person that somebody took. `after`: how many frames its process had written by then; `onDisk`: how many frames of the
 * run were on disk.
 */
export type TakenMessage = {
  readonly id: string;
  readonly text: string;
  readonly after: number;
  readonly onDisk: number;
};

/** Why a process could not resume a run. */
export type ResumeRefusal = {
  readonly process: number;
  readonly run: RunId;
  readonly code: string;
  readonly message: string;
};

export type ProcessLife = {
  readonly process: number;
  readonly startedAt: number;
  diedAt: number | null;
  /** When it was closed properly. */
  exitedAt: number | null;
  /** What was left after it was closed: timers, and slots that were not released. */
  timersLeft: number;
  slotsMissing: number;
  /** Tool servers that were opened and not closed. */
  serversOpen: number;
};

export type RunRequest = {
  readonly run: RunId;
  readonly goal: string;
  readonly budget: Budget | undefined;
  readonly agent: AgentPlan;
  /** The conversation in which it takes a turn. */
  readonly conversation: ConversationRef | null;
  /** For a fork: the other run, and how many of its frames were kept. */
  readonly forkedFrom: { readonly run: RunId; readonly frames: number } | null;
};

/** A record that a process appended to the workspace log. */
export type RecordWrite = {
  readonly process: number;
  readonly record: WorkspaceRecord;
  readonly after: number | undefined;
  /** What was on the disk when it was appended. */
  readonly onDisk: DiskLengths;
  /** The acknowledged number; null if it was never acknowledged. */
  no: number | null;
  /** Whether it was on the disk when it was acknowledged. */
  wasOnDisk: boolean;
};

/** A request for something other than a run, and why it was refused. */
export type OtherRequest = {
  readonly process: number;
  readonly what: string;
  readonly code: string | null;
  message: string;
};

/** Something that somebody does with recorded runs. Its number is the reason in the tombstones that it leaves. */
export type StorageAction = {
  readonly no: number;
  readonly process: number;
  readonly what: StorageActionPlan['what'];
  readonly at: number;
  /** The run that it was about; null: a conversation, or whatever had expired. */
  readonly run: RunId | null;
  /** Whether it may leave other tombstones or imports than those that it tells of. */
  endedAt: number | null;
  /** Why it was refused or failed; null: it did not, or nobody was told. */
  code: string | null;
  message: string;
  /** The runs that it told were deleted, or were brought back. */
  deleted: readonly RunId[];
  broughtBack: readonly RunId[];
};

/** What is left of a run on the disk at the end. */
export type RunRemains = {
  readonly run: RunId;
  readonly frames: number;
  readonly isListed: boolean;
  readonly isOwned: boolean;
  readonly signals: number;
  readonly hasFolder: boolean;
  /** Its deletion is not finished. */
  readonly isPending: boolean;
  /** What its log was when it was deleted last; null: it never was. */
  readonly former: readonly string[] | null;
  /** What is in its archive; null: it has none, or that cannot be read. */
  readonly archived: { readonly bodies: readonly string[]; readonly sha256: string } | null;
};

/** A blob on the disk at the end, and the runs whose records name it: now, and before they were deleted. */
export type StoredBlob = {
  readonly ref: string;
  readonly usedBy: readonly RunId[];
  readonly formerlyBy: readonly RunId[];
};

/** A message from outside to an agent of a run. */
export type OutsideMail = {
  readonly process: number;
  readonly run: RunId;
  readonly bytes: number;
  /** The last frame before it; null if the log was empty. */
  readonly after: Frame | null;
  readonly to: CellId | null;
  /** Why it was refused. */
  readonly code: string | null;
  readonly result: string;
  /** Whether its sender was told that it is on disk. */
  hasReceipt: boolean;
};

/** An answer of a person to a question of a run. */
export type SentAnswer = {
  readonly process: number;
  readonly run: RunId;
  readonly at: number;
  readonly answer: Omit<RunCommand<'answer'>, 'do'>;
  /** Somebody who may not answer. */
  readonly isStranger: boolean;
  /** Through a process that need not own the run. What its sender was told is on disk. */
  readonly elsewhere: boolean;
  /** What the sender was told; null: nothing, because the process crashed. */
  told: { readonly state: string } | { readonly code: string } | null;
};

/** A command for a run that a process stored for whoever owns it. */
export type PutSignal = {
  readonly process: number;
  readonly run: RunId;
  readonly id: string;
  readonly command: RunCommand;
  readonly at: number;
  /** When the sender knew that it is stored; null: never. */
  acknowledgedAt: number | null;
};

/** A process asks the store to remove a signal. `onDisk`: how many frames of the run were stored then. */
export type SignalRemoval = {
  readonly process: number;
  readonly run: RunId;
  readonly id: string;
  readonly at: number;
  readonly wallClock: number;
  readonly onDisk: number;
};

/**
 * A frame that may end a run's wait for people. `lateMs`: how long it had waited for the run's slot; null: it did not wait, and the run
 * had none.
 */
export type WaitEnd = {
  readonly process: number;
  readonly run: RunId;
  readonly frame: number;
  readonly lateMs: number | null;
};

export type RunHistory = RunRequest & {
  /** It was deleted. Everything else is as it was then. */
  readonly isDeleted: boolean;
  /** Read back at the end by the store's own code; empty if nothing was ever stored. */
  readonly frames: readonly Frame[];
  readonly bodies: readonly string[];
  readonly problems: readonly string[];
  readonly audit: { readonly ok: boolean; readonly problems: readonly string[] };
  readonly replay: {
    readonly ok: boolean;
    readonly recorded: string;
    readonly replayed: string;
    readonly detail: string;
  };
  readonly listed: RunSummary | undefined;
};

export type History = {
  readonly seed: number;
  readonly runs: readonly RunHistory[];
  readonly modelCalls: readonly ModelCall[];
  readonly toolCalls: readonly ToolCall[];
  readonly writings: readonly Writing[];
  readonly ownership: readonly OwnershipEvent[];
  /** Whether runs are owned by lease, so that a live process may lose one. */
  readonly hasLeases: boolean;
  readonly sessions: readonly FollowedSession[];
  readonly resumeRefusals: readonly ResumeRefusal[];
  readonly recordWrites: readonly RecordWrite[];
  readonly otherRequests: readonly OtherRequest[];
  readonly outsideMail: readonly OutsideMail[];
  readonly answers: readonly SentAnswer[];
  readonly waitEnds: readonly WaitEnd[];
  readonly signals: readonly PutSignal[];
  readonly signalRemovals: readonly SignalRemoval[];
  /** Signals that are still stored at the end. */
  readonly signalsLeft: readonly { readonly run: RunId; readonly id: string }[];
  /** Whether the disk could fail. */
  readonly diskFails: boolean;
  /** The workspace log at the end, and the problem that its own reader reports. */
  readonly workspaceLog: { readonly entries: readonly WorkspaceEntry[]; readonly problem: string | null };
  readonly processes: readonly ProcessLife[];
  /** Blobs that were acknowledged, and whether they are stored. */
  readonly blobs: readonly { readonly ref: string; readonly there: boolean }[];
  readonly storageActions: readonly StorageAction[];
  readonly remains: readonly RunRemains[];
  readonly storedBlobs: readonly StoredBlob[];
  /** Runs that a live process still owns at the end. */
  readonly stillOwned: readonly RunId[];
  readonly ended: {
    /** How the last phase ended, in which no faults occurred. */
    readonly by: 'done' | 'idle' | 'endless';
    readonly events: number;
    readonly unfinished: readonly RunId[];
  };
  /** Whether the wall clock was changed. */
  readonly clockWasSet: boolean;
  readonly queues: { readonly batchPeak: number; readonly eventsPeak: number; readonly cellsPeak: number };
  /** Unhandled rejections and uncaught errors. */
  readonly uncaught: readonly string[];
  /** The damage done to the disk after the end, and the problems that the store reported. */
  readonly damage: { readonly what: string; readonly no: number; readonly named: readonly string[] } | null;
};

export type CellOf = { readonly run: RunHistory; readonly cell: CellId };
