// What the world saw of one seed, as plain data. Judges read this and nothing else.
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
  RunSummary,
  Task,
} from '#contracts';
import type { AgentPlan } from './plan.ts';

/** How many frames of each run were on the disk at some moment, by the run's place in the list. */
export type DiskLengths = readonly number[];

/** A request as it reached a model's provider. */
export type ModelCall = {
  readonly at: number;
  readonly process: number;
  readonly model: string;
  /** Whose model it is, and the session that it was made for: one number for each, in each process. */
  readonly agent: string;
  readonly session: number;
  /** The words of the task in it: no two cells have the same. Empty when it has none. */
  readonly goal: string;
  /** JSON of the messages, and of the tools. */
  readonly prompt: string;
  readonly tools: string;
  readonly onDisk: DiskLengths;
  /** What the provider knows that it cost, whatever it told. */
  tokens: number;
  nanoUsd: number;
};

/** A call as it reached a tool. */
export type ToolCall = {
  readonly at: number;
  readonly process: number;
  readonly tool: string;
  readonly repeat: RetrySafety;
  readonly key: string;
  readonly args: string;
  readonly onDisk: DiskLengths;
  /** How often it changed the world. */
  effects: number;
};

/** What one process wrote of one run, and how much of it was acknowledged. */
export type Writing = {
  readonly process: number;
  readonly run: RunId;
  readonly ownedAt: number;
  releasedAt: number | null;
  /** When it wrote its first frame, and when the end of the run. */
  begunAt: number | null;
  closedAt: number | null;
  /** As they were handed over, in order. */
  readonly frames: Frame[];
  /** How many of them were said to be durable. */
  acknowledged: number;
  /** Of those, how many were not on the disk when that was said. */
  early: number;
};

/** A session that was begun or resumed for a caller. */
export type Following = {
  readonly process: number;
  readonly run: RunId;
  readonly resumed: boolean;
  readonly startedAt: number;
  endedAt: number | null;
  outcome: Outcome | null;
  /** The code of the error, if there was no outcome. */
  error: string | null;
  cancelledAt: number | null;
  /** What its process was writing then, and how many frames of it were there; null when there was nothing to write to. */
  cancelledIn: { readonly writing: Writing; readonly after: number } | null;
  /** Whether its process still owned the run when it told the end. */
  ownedAtEnd: boolean;
  /** What a reader of its events was told, and how many live pieces came between. */
  events: DurableEvent[] | null;
  /** Whether the reader came to the end. */
  readAll: boolean;
  /** Whether it read nothing before the run had ended. */
  readonly stalled: boolean;
  pieces: number;
  /** Of a team: its tasks as its session had them at the end. */
  tasks: readonly Task[] | null;
};

/** Why a process could not go on with a run. */
export type Refusal = { readonly process: number; readonly run: RunId; readonly code: string; readonly said: string };

export type Life = {
  readonly process: number;
  readonly bornAt: number;
  diedAt: number | null;
  /** When it ended in order. */
  exitedAt: number | null;
  /** What was left when it had been closed: timers of its own, slots that nobody gave back. */
  timersLeft: number;
  slotsMissing: number;
  /** Servers of tools that were opened and not closed. */
  serversOpen: number;
};

export type RunRequest = {
  readonly run: RunId;
  readonly goal: string;
  readonly budget: Budget | undefined;
  readonly agent: AgentPlan;
  /** The conversation that it takes a turn in. */
  readonly conversation: ConversationRef | null;
  /** What it goes on from: so many frames of another run. */
  readonly cut: { readonly run: RunId; readonly frames: number } | null;
};

/** A page that a process wanted in the book. */
export type Noting = {
  readonly process: number;
  readonly record: WorkspaceRecord;
  readonly after: number | undefined;
  /** What was on the disk when it was handed over. */
  readonly onDisk: DiskLengths;
  /** The number that it was said to have; null when that was never said. */
  no: number | null;
  /** Whether it was on the disk when that was said. */
  there: boolean;
};

/** What somebody asked for besides runs, and why that was refused. */
export type Asking = { readonly process: number; readonly what: string; readonly code: string | null; said: string };

/** What somebody outside wrote to an agent of a run. */
export type Mailing = {
  readonly process: number;
  readonly run: RunId;
  readonly bytes: number;
  /** Where the log stood, and its newest record; null when it had not begun. */
  readonly after: Frame | null;
  readonly to: CellId | null;
  /** Why it was refused. */
  readonly code: string | null;
  readonly said: string;
};

export type RunHistory = RunRequest & {
  /** Read back at the end by the store's own code; empty when nothing was ever kept. */
  readonly frames: readonly Frame[];
  readonly bodies: readonly string[];
  readonly problems: readonly string[];
  readonly audit: { readonly ok: boolean; readonly problems: readonly string[] };
  readonly replay: {
    readonly ok: boolean;
    readonly recorded: string;
    readonly replayed: string;
    readonly said: string;
  };
  readonly listed: RunSummary | undefined;
};

export type History = {
  readonly seed: number;
  readonly runs: readonly RunHistory[];
  readonly modelCalls: readonly ModelCall[];
  readonly toolCalls: readonly ToolCall[];
  readonly writings: readonly Writing[];
  readonly followings: readonly Following[];
  readonly refusals: readonly Refusal[];
  readonly notings: readonly Noting[];
  readonly askings: readonly Asking[];
  readonly mailings: readonly Mailing[];
  /** The book at the end, and what its own reader says is wrong with it. */
  readonly book: { readonly pages: readonly WorkspaceEntry[]; readonly problem: string | null };
  readonly lives: readonly Life[];
  /** Blobs that were said to be kept, and whether they are there. */
  readonly blobs: readonly { readonly ref: string; readonly there: boolean }[];
  /** Runs whose owner row is still there though nobody lives. */
  readonly owned: readonly RunId[];
  readonly ended: {
    /** How the last stretch went, in which nothing failed any more. */
    readonly by: 'done' | 'idle' | 'endless';
    readonly events: number;
    readonly unfinished: readonly RunId[];
  };
  /** Whether the clock on the wall was set. */
  readonly clockWasSet: boolean;
  readonly queues: { readonly batchMost: number; readonly eventsMost: number; readonly cellsMost: number };
  /** Promises that were rejected and that nobody looked at; errors thrown where nobody catches. */
  readonly uncaught: readonly string[];
  /** What was tried with the disk after the end: a change, and whether it was named. */
  readonly damage: { readonly what: string; readonly no: number; readonly named: readonly string[] } | null;
};

export type CellOf = { readonly run: RunHistory; readonly cell: CellId };
