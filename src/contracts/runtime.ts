// What headends talk to, and what the library exports.
import type { CellId, JsonObject, RunId } from '#base';
import type { Agent, OutputFormat } from './agent.ts';
import type { DialogMessage } from './dialog-message.ts';
import type { Budget, Figures, Spent } from './amounts.ts';
import type { ForkOptions, ReplayReport, RunDiff } from './replay-and-verify.ts';
import type { ConversationRef, HistoryEntry } from './conversation.ts';
import type { CrossingKind, CrossingEnd, Label } from './crossing.ts';
import type { DurableEvent } from './event.ts';
import type { Checkpoints, Conversations } from './conversations.ts';
import type { Mail, MailReport } from './mail.ts';
import type { ProtocolEvent } from './protocol.ts';
import type { RunSession, MessageTarget, TeamSession } from './run-session.ts';
import type { TaskReport, TaskSpec } from './team.ts';
import type { Category, Origin, WindowLimit } from './segment.ts';
import type { Outcome, Status } from './session.ts';
import type { RunSummary } from './store.ts';
import type { ToolDefinition } from './tool.ts';

export type RunOptions = {
  readonly budget?: Budget;
  readonly signal?: AbortSignal;
  /** Ask for the answer as JSON that fits this JSON Schema, whatever the agent gives by itself. */
  readonly schema?: JsonObject;
  /** The form of the answer, whatever the agent gives by itself; `json` needs a schema, here or of the agent's own. */
  readonly format?: OutputFormat['format'];
  /** What the agent should know besides: kept apart from the dialog, and longer. */
  readonly context?: readonly string[];
  /** What was said before, as the caller tells it. A turn in a conversation has its own. */
  readonly history?: readonly DialogMessage[];
  /**
   * Tools for this run alone, which its agent has besides its own; whom it asks does not get them. Without `instructions` and
   * `repeat`: the run is replayed from its log like any other, but cannot be resumed or forked, for nobody has its tools then.
   */
  readonly tools?: readonly ToolDefinition[];
  /** Who asks, where others are served: recorded with the run, which belongs to them. */
  readonly caller?: string;
};

export type TurnOptions = RunOptions & {
  /** A name among the agent's own, or another agent's conversation that it is attached to. */
  readonly conversation?: string | ConversationRef;
};

/** What a session that lives on begins with. */
export type ResidentOptions = Omit<TurnOptions, 'schema' | 'format' | 'tools'> & {
  /** What it should do first; without it, it waits for mail. */
  readonly message?: string | JsonObject;
  /** Topics that it hears from the start, of those that it may. */
  readonly topics?: readonly string[];
};

export type TasksOptions = Pick<RunOptions, 'budget' | 'signal'> & {
  /** What the tasks are for: the coordinator is told. */
  readonly goal?: string;
  /** The coordinator answers from all results. Default: the results of the last tasks are the answer. */
  readonly answer?: boolean;
};

export type TeamRunOptions = Pick<RunOptions, 'budget' | 'signal'> & {
  /** Only the plan is wanted: the answer is its JSON. */
  readonly planOnly?: boolean;
};

export interface Cloister {
  readonly agents: readonly Agent[];
  /** The folder, or null in memory-only mode. */
  readonly workspace: string | null;
  /** Throws a CloisterError for an unknown agent or an unusable goal. */
  /** `input`: text, or an object as the agent's tool takes it. */
  run(agent: string | Agent, input: string | JsonObject, options?: RunOptions): RunSession;
  /** The same as `run`. */
  runAgent(agent: string | Agent, input: string | JsonObject, options?: RunOptions): RunSession;
  /** Lets a team work through tasks that you wrote. Throws `tasks_invalid` before anything runs. */
  runTasks(team: string | Agent, tasks: readonly TaskSpec[], options?: TasksOptions): TeamSession;
  /** Lets a team's coordinator plan, the team work, and the coordinator answer. */
  runTeam(team: string | Agent, goal: string, options?: TeamRunOptions): TeamSession;
  /** One turn of an agent in one of its conversations, or in one that it is attached to; `main` unless it is named. */
  runTurn(agent: string, input: string | JsonObject, options?: TurnOptions): Promise<RunSession>;
  /**
   * Starts an agent that lives until it is asked to finish: it waits for mail, works, answers, and waits again, and so do those
   * that it starts. Its messages and answers are kept in a conversation if one is named.
   */
  spawn(agent: string | Agent, options?: ResidentOptions): Promise<RunSession>;
  /** Writes to an agent of a run that is under way here. Gives the id of the message. */
  send(run: string, text: string, sending?: MessageTarget): string;
  /** What the agents of a run that is under way here publish on a topic, from now on. */
  subscribe(run: string, topic: string): AsyncIterable<Mail>;
  /** Every message of a run, with its states and their times. */
  mail(run: string): Promise<readonly MailReport[]>;
  /** Messages that nobody will read, newest runs first; of one run, or of so many of the newest (100). */
  deadLetters(options?: { readonly run?: string; readonly runs?: number }): Promise<DeadLetters>;
  /** The tasks of a team's run as they stand, each with its result and the cells that worked on it; empty when it is no team's. */
  tasks(run: string): Promise<readonly TaskReport[]>;
  /** What the agents of a run started and how that ended, in the form of the protocol. */
  protocol(run: string): Promise<readonly ProtocolEvent[]>;
  readonly conversations: Conversations;
  readonly checkpoints: Checkpoints;
  /** Adds an agent; replaces one of the same name for runs that begin later. */
  register(agent: Agent): void;
  /** Runs that are under way go on. */
  remove(agent: string): void;
  /**
   * Goes on with an interrupted run from its log. `takeOver`: also with one whose owner is on another machine and cannot be
   * asked whether it lives. Be sure that it does not.
   */
  resume(run: string, options?: { readonly signal?: AbortSignal; readonly takeOver?: boolean }): Promise<RunSession>;
  /** Makes a run again from its log: no model, tool, key or network is needed or touched. */
  replay(run: string): Promise<ReplayReport>;
  /** A new run that keeps another's log up to an operation, and goes on from there with something changed. */
  fork(run: string, options: ForkOptions): Promise<RunSession>;
  diff(one: string, other: string): Promise<RunDiff>;
  /** Newest first; all, those of one caller, or one alone. At most so many, and none that began before `since`. */
  runs(options?: {
    readonly caller?: string;
    readonly run?: string;
    readonly most?: number | undefined;
    readonly since?: number | undefined;
  }): Promise<readonly RunSummary[]>;
  show(run: string): Promise<RunReport>;
  explain(run: string, cell: string, options?: { readonly find?: string }): Promise<Explanation>;
  audit(run: string): Promise<AuditReport>;
  /** What each cell's model is shown, by category, and what gave way. */
  windows(run: string): Promise<readonly CellWindow[]>;
  /** Makes the list of runs, the step files and the outputs again from the log, of one run or of all. Gives the number of files. */
  rebuild(run?: string): Promise<number>;
  /** Takes the secrets of its agents out of a text that did not come from a run. */
  redact(text: string): string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type DeadLetters = {
  readonly letters: readonly (MailReport & { readonly run: RunId })[];
  /** How many runs were read, and how many older ones were not. */
  readonly read: number;
  readonly unread: number;
  /** Their logs cannot be read. */
  readonly damaged: readonly RunId[];
};

export type CellReport = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  readonly depth: number;
  /** Null while it runs, or when it was interrupted. */
  readonly status: Status | null;
  readonly turns: number;
  /** Its children's included, as in the outcome. */
  readonly spent: Spent;
  /** Its own only. */
  readonly own: Spent;
  /** `total` is its own and its children's totals. */
  readonly figures: { readonly own: Figures; readonly total: Figures };
  readonly models: readonly string[];
  readonly outcome: Outcome | null;
};

export type RunReport = {
  readonly run: RunId;
  readonly agent: string;
  readonly goal: string;
  /** Who asked for it, where others are served; else null. */
  readonly caller: string | null;
  /** What was said before, as its caller told it, or as its conversation has it. */
  readonly history: readonly HistoryEntry[];
  readonly status: Status | 'running' | 'interrupted';
  readonly output: string;
  readonly spent: Spent;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly cells: readonly CellReport[];
  readonly events: readonly DurableEvent[];
};

/** Why a cell's model saw what it saw: every segment of every prompt, with the trail of each to its beginnings. */
export type Explanation = {
  readonly run: RunId;
  readonly cell: CellId;
  readonly agent: string;
  readonly find: string | null;
  readonly attempts: readonly {
    readonly op: number;
    readonly turn: number;
    readonly model: string;
    readonly bytes: number;
    readonly segments: readonly number[];
  }[];
  readonly segments: readonly ExplainedSegment[];
};

export type ExplainedSegment = {
  readonly id: number;
  readonly origin: Origin;
  readonly bytes: number;
  /** The attempts (operation numbers) that showed it. */
  readonly shownIn: readonly number[];
  readonly text: string;
  /** Offsets of `find` in `text`, in characters. */
  readonly found: readonly number[];
  readonly trail: readonly TrailStep[];
};

/** One step back towards where the text began; crossings lead into the cell it came from. */
export type TrailStep =
  | {
      readonly type: 'definition';
      readonly cell: CellId;
      readonly agent: string;
      readonly path: string;
      /** It is no part of the agent's file or code: it came with the request, from outside. */
      readonly given?: true;
    }
  | {
      readonly type: 'operation';
      readonly cell: CellId;
      readonly agent: string;
      readonly op: number;
      readonly name: string;
    }
  | {
      readonly type: 'crossing';
      readonly kind: CrossingKind;
      readonly from: CrossingEnd;
      readonly to: CrossingEnd;
      readonly grant: string;
      readonly sha256: string;
      readonly bytes: number;
      readonly labels: readonly Label[];
    }
  /** The task of a team whose result it is, and the cell that worked on it. */
  | {
      readonly type: 'task';
      readonly task: string;
      readonly title: string;
      readonly assignee: string | null;
      readonly cell: CellId | null;
    }
  | { readonly type: 'segment'; readonly id: number; readonly rule: string };

export type AuditReport = {
  readonly run: RunId;
  readonly ok: boolean;
  readonly crossings: number;
  readonly refused: number;
  readonly prompts: number;
  readonly promptBytes: number;
  readonly unattributedBytes: number;
  readonly cells: number;
  readonly problems: readonly AuditProblem[];
};

export type AuditProblem = { readonly code: string; readonly where: string; readonly message: string };

/** What one cell's model was shown with its newest request, and what happened to its window up to then. */
export type CellWindow = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  /** Of the newest request; null when there was none. */
  readonly model: string | null;
  readonly limit: WindowLimit | null;
  readonly total: WindowPart;
  readonly categories: Readonly<Record<Category, WindowPart>>;
  /** In order. */
  readonly happened: readonly WindowChange[];
};

/** `tokens` is an estimate, at the rate that the newest reported usage gives. */
export type WindowPart = { readonly messages: number; readonly bytes: number; readonly tokens: number };

export type WindowChange = {
  readonly at: number;
  readonly op: number;
  readonly turn: number;
} & (
  | {
      readonly what: 'compacted' | 'shortened' | 'dropped';
      readonly messages: number;
      readonly bytesBefore: number;
      readonly bytesAfter: number;
    }
  /** It is smaller than it was, or, with the first request, than the caller's: `was` so many tokens; null: for its group. */
  | { readonly what: 'clamped'; readonly window: WindowLimit; readonly was: number | null }
  /** A tool's output that was too long to show whole. */
  | { readonly what: 'offloaded'; readonly tool: string; readonly output: string; readonly bytes: number }
);
