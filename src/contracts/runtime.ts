// The interface that headends use and the library exports.
import type { Inbox } from './inbox.ts';
import type { AuditReport } from './audit.ts';
import type { CellId, CloisterError, JsonObject, RecordedBy, RunId } from '#base';
import type { Agent, AgentData, AgentInput, OutputFormat } from './agent.ts';
import type { Attachment, StoredAttachment } from './attachment.ts';
import type { DialogMessage } from './dialog-message.ts';
import type { Cause } from './cause.ts';
import type { Budget, Figures, Spent, Stalls } from './amounts.ts';
import type { ForkOptions, ReplayReport, RunDiff } from './replay-and-verify.ts';
import type { ConversationRef, HistoryEntry } from './conversation.ts';
import type { CellLedger, CrossingKind, CrossingEnd, Label } from './crossing.ts';
import type { DurableEvent } from './event.ts';
import type { Checkpoints, Conversations } from './conversations.ts';
import type { Mail, MailReport } from './mail.ts';
import type { ProtocolEvent } from './protocol.ts';
import type { AnswerOptions, AnswerReceipt } from './answer.ts';
import type { QuestionAnswer, QuestionQuery, QuestionReport } from './question.ts';
import type { MessageTarget, RunCommand } from './run-command.ts';
import type { DriveOptions, UndrivenRun } from './run-driver.ts';
import type { DriveEnd, RunCall } from './run-engine.ts';
import type { FollowedRun, RunSession, TeamSession } from './run-session.ts';
import type { TaskReport, TaskSpec } from './team.ts';
import type { CellWindow } from './cell-window.ts';
import type { Origin } from './segment.ts';
import type { Schema } from './schema.ts';
import type { Outcome, Status } from './session.ts';
import type { RunStorage } from './run-storage.ts';
import type { RebuildOptions, RebuildReport } from './store-life-cycle.ts';
import type { RunSummary, SharedState } from './store.ts';
import type { Sees } from './token.ts';
import type { AgentTool, ToolDefinition } from './tool.ts';
import type { Transcript, TranscriptOptions } from './transcript.ts';

/** What may be set for one run. Everything is optional. */
export type RunOptions<S extends Schema = Schema> = {
  /** The most that the run may spend; it replaces the agent's own budget, unit by unit. */
  readonly budget?: Budget;
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal;
  /** Requests JSON that matches this schema, overriding the agent's own output format. */
  readonly schema?: S;
  /** Answer format, overriding the agent's own; `json` needs a schema, here or in the agent. */
  readonly format?: OutputFormat['format'];
  /** Additional context. It is separate from the dialog and stays in the window longer. */
  readonly context?: readonly string[];
  /**
   * The caller's own instructions: system text of the root, after the agent's own, which prevails. Sub-agents do not get it, not even
   * with `share: [system]`. In a conversation, it holds for this turn only.
   */
  readonly system?: readonly string[];
  /**
   * Files that come with the request: images, PDFs, texts. Each crosses into the root cell as part of the request; sub-agents do
   * not get them. Throws `attachment_refused` for a file that none of the agent's models takes.
   */
  readonly attachments?: readonly Attachment[];
  /** Earlier messages, as reported by the caller. Cannot be combined with a conversation, which has its own history. */
  readonly history?: readonly DialogMessage[];
  /**
   * Additional tools for this run only; sub-agents do not get them. They cannot have `instructions` or `repeat`. The run can be
   * replayed like any other, but not resumed or forked, because its tools are not stored.
   */
  readonly tools?: readonly ToolDefinition[];
  /**
   * Values of environment variables for this run only: `${VAR}` in the config is filled from here first. Sub-agents get them too,
   * each only what its own providers and servers name. They are secrets: they are not recorded, not written to `process.env`, and
   * no other run sees them. Whoever continues the run must pass them again.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The caller on a server: recorded with the run, which belongs to it. */
  readonly caller?: string;
  /**
   * For a request that may come twice: the id of its run, and a hash of what was requested, which is recorded. If there is such a run
   * already, `outcome` rejects with `run_exists` or `run_owned`, and nothing is run.
   */
  readonly only?: { readonly run: string; readonly requestHash?: string | undefined };
};

/** What may be set for one turn of a conversation. */
export type TurnOptions<S extends Schema = Schema> = RunOptions<S> & {
  /** The name of one of the agent's own conversations, or another agent's conversation to which it is attached. */
  readonly conversation?: string | ConversationRef;
};

/** Options for starting a long-lived agent. */
export type ResidentOptions = Omit<TurnOptions, 'schema' | 'format' | 'tools'> & {
  /** Its first message; without one, it waits for mail. */
  readonly message?: string | JsonObject;
  /** Topics it is subscribed to from the start; it must be allowed to subscribe to them. */
  readonly topics?: readonly string[];
};

/** What a run may be requested with, if another process begins it: all that is data. */
export type RequestedRunOptions = Omit<TurnOptions, 'signal' | 'env' | 'only' | 'schema'> &
  Pick<ResidentOptions, 'topics'> & {
    /** The id of the run, and a hash of the request, which is recorded. Default: a new id. */
    readonly only?: NonNullable<TurnOptions['only']>;
    /** A long-lived agent. */
    readonly resident?: boolean;
    readonly schema?: JsonObject;
  };

/** Begins and continues runs for others: what an engine calls. */
export interface RunDriver {
  /**
   * Stores a request on disk, for whichever worker is called to drive it. Returns the id of its run and its agent. The same id twice is
   * one request. Throws and rejects like `run`, `runTurn` or `spawn`, and with `options_invalid` for tools with code of this process.
   */
  request(agent: string, input: string | JsonObject | null, options?: RequestedRunOptions): Promise<RunCall>;
  /**
   * Drives a run here until it ends, rests or is lost: begins it if it has only been requested, and continues it if nobody owns it. If this
   * process drives it already, this is the same drive. Never rejects.
   */
  drive(call: RunCall, options?: DriveOptions): Promise<DriveEnd>;
  /** The runs that nobody drives, from the store alone. `asked`: only those of which something was asked. */
  undriven(options?: { readonly asked?: boolean }): Promise<readonly UndrivenRun[]>;
  /** Why nobody begins a run that was requested; null: somebody may, or has. */
  refusal(run: RunId): Promise<CloisterError | null>;
  /** Calls the listener soon after a run may have been requested, or something may have been asked of one, until the returned function is called. */
  watch(listener: () => void): () => void;
}

/** How to observe all runs of a Cloister. */
export type ObserveOptions = {
  /** How much the reader of the events may see. Default: `contents`. */
  readonly sees?: Sees;
  /** Events carry contents, if they may be seen: what was shown, said, called with, returned and crossed. */
  readonly details?: boolean;
  /** Aborting it ends the observation. */
  readonly signal?: AbortSignal;
};

/** What may be set when a team works through tasks that you give it. */
export type TasksOptions = Pick<RunOptions, 'budget' | 'signal' | 'env'> & {
  /** The purpose of the tasks, shown to the coordinator. */
  readonly goal?: string;
  /** Whether the coordinator writes the answer from all results. Default: the results of the last tasks are the answer. */
  readonly answer?: boolean;
};

/** What may be set when a team plans its own tasks. */
export type TeamRunOptions = Pick<RunOptions, 'budget' | 'signal' | 'env'> & {
  /** Only plan: the answer is the plan as JSON. */
  readonly planOnly?: boolean;
};

/** Starts runs and continues them. */
export interface RunStarter {
  /** `input`: text, or an object with the arguments of the agent's tool. Throws a CloisterError for an unknown agent or an unusable goal. */
  run<A extends Agent = Agent, const S extends Schema = never>(
    agent: string | A,
    input: AgentInput<A>,
    options?: RunOptions<S>,
  ): RunSession<AgentData<A, S>>;
  /** One of its agents as a tool for a loop of your own: for the AI SDK, or as a `ToolDefinition`. Each call is a run of its own. */
  agentTool(agent: string | Agent, options?: Pick<RunOptions, 'env'>): AgentTool;
  /** Runs your tasks with a team. Throws `tasks_invalid` before anything runs. */
  runTasks(team: string | Agent, tasks: readonly TaskSpec[], options?: TasksOptions): TeamSession;
  /** Lets the team's coordinator plan the tasks, runs them, and lets the coordinator answer. */
  runTeam(team: string | Agent, goal: string, options?: TeamRunOptions): TeamSession;
  /** Runs one turn of an agent in one of its conversations, or in one it is attached to. Default conversation: `main`. */
  runTurn<const S extends Schema = never>(
    agent: string,
    input: string | JsonObject,
    options?: TurnOptions<S>,
  ): Promise<RunSession<AgentData<Agent, S>>>;
  /**
   * Starts a long-lived agent: until it is asked to finish, it waits for mail, works, answers, and waits again. So do the agents
   * it starts. If you name a conversation, its messages and answers are stored there.
   */
  spawn(agent: string | Agent, options?: ResidentOptions): Promise<RunSession>;
  /**
   * Continues an interrupted run from its log. `takeOver`: also continues a run whose owner is on another machine and cannot be
   * checked. Make sure that the owner is no longer alive. `env`: as in the options of the run, which are not recorded; rejects
   * with `env_missing` if the run had values of its own that are not passed again. `files: 'restore'`: if this machine has none of the
   * files that its agents wrote, or earlier versions of them, they are written again from the log; otherwise it rejects with `files_changed`.
   */
  resume(
    run: string,
    options?: Pick<RunOptions, 'signal' | 'env'> & { readonly takeOver?: boolean; readonly files?: 'restore' },
  ): Promise<RunSession>;
  /**
   * Continues the long-lived session that an agent's newest turn in a conversation has left behind, after a crash or a kill: with
   * the agents it had started, their windows, files and unread mail. Default conversation: `main`. Null if there is none, or if
   * another process runs it.
   */
  resumeConversation(
    agent: string,
    options?: Pick<TurnOptions, 'conversation' | 'signal' | 'env'>,
  ): Promise<RunSession | null>;
  /** Starts a new run that keeps another run's log up to an operation and continues with something changed. */
  fork(run: string, options: ForkOptions): Promise<RunSession>;
}

/** Reads what was recorded of runs, and checks it. Nothing runs but a replay, which touches nothing outside. */
export interface RunArchive {
  /** Newest first, in the order in which they began: all runs, or some. To read page by page, use `most` and `before`. */
  runs(options?: {
    /** A single run. */
    readonly run?: string | undefined;
    /** Only these. */
    readonly runs?: readonly string[] | undefined;
    /** Only those whose ids begin with this. */
    readonly prefix?: string | undefined;
    /** Only those of one caller of a server. */
    readonly caller?: string | undefined;
    /** Only those that have not ended. */
    readonly open?: boolean | undefined;
    /** Only those that began before this run; none if it is unknown. */
    readonly before?: string | undefined;
    /** None that began before this moment, in epoch milliseconds. */
    readonly since?: number | undefined;
    /** At most so many. */
    readonly most?: number | undefined;
    /** Looks into the logs of those that have not ended, and says which of them wait for people (`state` is then `waiting`). */
    readonly waiting?: boolean | undefined;
  }): Promise<readonly RunSummary[]>;
  /**
   * `sees`: for a reader who may not see everything; default: `contents`. `details`: its events carry contents, if they may be seen.
   * `answer`: the id of an answer; the causes are then those of the work that it ended. `events: 'refusals'`: of its events, only those
   * that tell of refusals, of a fork, and of the root's start; a report of a very long run then fits into memory.
   */
  show(
    run: string,
    options?: {
      readonly sees?: Sees;
      readonly details?: boolean;
      readonly answer?: string;
      readonly events?: 'all' | 'refusals';
    },
  ): Promise<RunReport>;
  /** When a run was resumed, in epoch milliseconds, oldest first. */
  resumeTimes(run: string): Promise<readonly number[]>;
  /** The bytes of a file that came with the request of a run or with an earlier message. Rejects with `file_missing`. */
  attachment(run: string, sha256: string): Promise<Uint8Array>;
  /** What each model was shown, said and called. */
  transcript(run: string, options?: TranscriptOptions): Promise<Transcript>;
  /** Why a cell's model saw what it saw. `find`: a text to look for in every segment. */
  explain(run: string, cell: string, options?: { readonly find?: string }): Promise<Explanation>;
  /** Checks the whole record of a run: hashes, grants, budgets, and that every byte of every prompt has an origin. */
  audit(run: string): Promise<AuditReport>;
  /** What each cell's model is shown, by category, and how its window was reduced. */
  windows(run: string): Promise<readonly CellWindow[]>;
  /** Every crossing decision of a run, cell by cell, with the hash chain over them. */
  ledger(run: string): Promise<readonly CellLedger[]>;
  /** The current tasks of a team's run, each with its result and the cells that worked on it. Empty if the run is not a team's. */
  tasks(run: string): Promise<readonly TaskReport[]>;
  /** What the agents of a run started, and how it ended, as protocol events. */
  protocol(run: string): Promise<readonly ProtocolEvent[]>;
  /** Every message of a run, with its states and their times. */
  mail(run: string): Promise<readonly MailReport[]>;
  /** Messages that will not be read, newest runs first: of one run, or of the newest `runs` runs (default: 100). */
  deadLetters(options?: { readonly run?: string; readonly runs?: number }): Promise<DeadLetters>;
  /** Questions to people that wait for an answer, oldest first. */
  questions(query?: QuestionQuery): Promise<readonly QuestionReport[]>;
  /** Replays a run from its log, without any model, tool, key or network. */
  replay(run: string): Promise<ReplayReport>;
  /** Compares two runs cell by cell, such as a run and its fork. */
  diff(one: string, other: string): Promise<RunDiff>;
}

/**
 * The runtime with its agents: starts runs, reads what was recorded, and keeps conversations. `openCloister` returns one; close
 * it when you are done.
 */
export interface Cloister extends RunStarter, RunArchive {
  /** Its agents, also those that were registered later. */
  readonly agents: readonly Agent[];
  /** The folder, or null in memory-only mode. */
  readonly workspace: string | null;
  /** Sends a message to an agent of a run in this process. Returns the id of the message. */
  send(run: string, text: string, target?: MessageTarget): string;
  /**
   * Answers a question of a run, whichever process owns it. Resolves when the answer is on disk. If nobody owns the run, it is resumed
   * here, and the receipt has its session. Rejects with `question_unknown`, `question_answered`, `question_changed`,
   * `question_stale` or `answer_invalid`.
   */
  answer(question: string, answer: QuestionAnswer, options?: AnswerOptions): Promise<AnswerReceipt>;
  /**
   * Asks something of a run, whichever process owns it: `cancel`, `send`, `finish`, or `add-tools` of its client. Resolves when that is on disk. The owner carries
   * it out soon, and whoever resumes the run if nobody owns it now; whether it is refused then, the log of the run shows. `id`: while a
   * signal of the run with this id waits, another one is ignored; default: the message's id, or one for commands that ask the same.
   * `by`: who asks; default: `operator`. Rejects with `run_unknown`, `run_ended`, `mailbox_full`, or if the command is invalid.
   */
  signal(
    run: string,
    command: RunCommand,
    options?: { readonly id?: string; readonly by?: string },
  ): Promise<SignalReceipt>;
  /**
   * Reads a run while it works, whichever process works on it, also if another one takes it over: what was recorded, then what comes. Close
   * it when you do not need it any more. Live text comes where the store passes it on; on SQLite, words come when they are recorded.
   * `onInterrupted` is called, again and again, while nobody works on the run.
   */
  follow(run: string, options?: { readonly onInterrupted?: () => void }): FollowedRun;
  /** What the processes of the workspace share besides its runs: servers count here what callers use at the same time. */
  readonly shared: SharedState;
  /**
   * Where a headend with this name stores what it has accepted and works on later, such as messages of a chat. Throws `name_invalid`
   * unless the name has at most 16 lower-case letters and digits.
   */
  inbox(headend: string): Inbox;
  /** Everything that the agents of a run in this process publish on a topic from now on. */
  subscribe(run: string, topic: string): AsyncIterable<Mail>;
  /**
   * The durable events of all its runs in this process, each with its `run`: of those that are running, and of those that are
   * started, resumed or forked from now on. Each run comes whole, from its first event on, once and in order, however slow you read;
   * events of different runs are interleaved. Leave the loop or abort the signal to end it; it ends by itself when the Cloister is
   * closed. Rejects if a log cannot be read, and with `observer_behind` if thousands of runs end unread.
   */
  observe(options?: ObserveOptions): AsyncIterable<DurableEvent>;
  /** Conversations: messages that are kept from one run to the next. */
  readonly conversations: Conversations;
  /** Checkpoints: moments of a run to which you can return. */
  readonly checkpoints: Checkpoints;
  /** The life of recorded runs: deleting, archiving, exporting and importing them, and how long they are kept. */
  readonly storage: RunStorage;
  /** Begins and continues runs that other processes request, and hands runs to others. */
  readonly driver: RunDriver;
  /** Adds an agent. For later runs, it replaces an agent of the same name. */
  register(agent: Agent): void;
  /** Removes an agent: it can no longer be run by name. Runs in progress continue. */
  remove(agent: string): void;
  /**
   * The frontmatter of an agent's file: every key with its effective value, and where that comes from; null if it was not read from
   * an agent file. Throws `agent_unknown`.
   */
  template(agent: string): string | null;
  /** Throws `env_missing` if one of these agents needs values that neither the config nor the environment has. */
  checkVariables(agents: readonly string[]): void;
  /**
   * Derives again what is derived from the logs of runs: the list of runs, and of a run that is named, files for people below `runs/`:
   * one for each step, and its long outputs. Says what it changed. Rejects if the log of that run is damaged.
   */
  rebuild(run?: string, options?: RebuildOptions): Promise<RebuildReport>;
  /** Stalls of the event loop since this Cloister was opened. */
  readonly stalls: StallReport;
  /** Resolves once something was written to the workspace and removed again. Rejects if it cannot be written to now. */
  checkWritable(): Promise<void>;
  /** Removes the secrets that nobody can guess from a text that belongs to no cell. */
  redact(text: string): string;
  /** Cancels its runs in progress, makes everything durable, and closes tool servers and the store. */
  close(): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A signal that is on disk. */
export type SignalReceipt = {
  /** Its id; that of the message, if one was sent. */
  readonly id: string;
  /** False: it waits already, or the message is in the log. */
  readonly isNew: boolean;
  /** Whether the run is live in this process. */
  readonly live: boolean;
};

/** Stalls of the event loop while runs of one Cloister were at work. */
export type StallReport = Stalls & {
  /** The newest ones, newest last. `cell` is null if it is not known whose work it was. */
  readonly latest: readonly {
    /** Epoch milliseconds. */
    readonly at: number;
    readonly ms: number;
    readonly run: RunId | null;
    readonly cell: CellId | null;
  }[];
};

/** Messages that will not be read, and how many runs were searched for them. */
export type DeadLetters = {
  /** Each message with its run. */
  readonly letters: readonly (MailReport & { readonly run: RunId })[];
  /** How many runs were read, and whether there are older ones. */
  readonly read: number;
  readonly more: boolean;
  /** Runs whose logs cannot be read. */
  readonly damaged: readonly RunId[];
};

/** One cell of a run: which agent worked there, how it ended, and what it used. */
export type CellReport = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  /** The root is at level 0. */
  readonly depth: number;
  /** Null while it runs, or if it was interrupted. */
  readonly status: Status | null;
  readonly turns: number;
  /** Includes its children, as in the outcome. Its time is working time. */
  readonly spent: Spent;
  /** Without its children. */
  readonly own: Spent;
  /** How long it waited for people while nothing in it or below it worked; not a part of `spent.ms`. */
  readonly waitedMs: number;
  /** `total` includes its children. */
  readonly figures: { readonly own: Figures; readonly total: Figures };
  /** Its own work, without its children. */
  readonly stalls: Stalls;
  /** The models that it used. */
  readonly models: readonly string[];
  /** Null until it has ended. */
  readonly outcome: Outcome | null;
};

/** What `show` tells about a run: its cells, their outcomes, and everything that happened, in order. */
export type RunReport = {
  /** Its id. */
  readonly run: RunId;
  /** The agent of its root cell. */
  readonly agent: string;
  /** What was asked, as text. */
  readonly goal: string;
  /** The caller that requested it on a server; otherwise null. */
  readonly caller: string | null;
  /** Of a request with a key: a hash of what was requested; otherwise null. */
  readonly requestHash: string | null;
  /** Files that came with its goal. */
  readonly attachments: readonly StoredAttachment[];
  /** Earlier messages, from its caller or its conversation. */
  readonly history: readonly HistoryEntry[];
  /** Set for a chat (a long-lived agent in a conversation): its conversation. */
  readonly chat?: ConversationRef;
  /** The most that it may spend; null: nothing is capped. */
  readonly budget: Budget | null;
  /** Set for a fork, and for a run that continues from a checkpoint: the newest run whose log it keeps, and up to where. */
  readonly fork: { readonly run: RunId; readonly at: string } | null;
  /** The format of its records, and the build that started it. */
  readonly recordedBy: RecordedBy | null;
  /** Other builds that continued it. */
  readonly continuedBy: readonly string[];
  /**
   * How it ended. `running`: it has not. `waiting`: it has not, and does nothing but wait for people or for its client; an answer continues
   * it. `interrupted`: it has not, and nobody runs it; it can be resumed.
   */
  readonly status: Status | 'running' | 'waiting' | 'interrupted';
  /** Its answer; empty while there is none. */
  readonly output: string;
  /** What all of its cells used. */
  readonly spent: Spent;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds; null until it has ended. */
  readonly endedAt: number | null;
  /** Every cell, parents before their children. */
  readonly cells: readonly CellReport[];
  /** Everything that happened, as the log has it. */
  readonly events: readonly DurableEvent[];
  /** Every failure at every depth, in order; empty for a reader who does not see causes. */
  readonly causes: readonly Cause[];
};

/** Why a cell's model saw what it saw: every segment of every prompt, with its trail. */
export type Explanation = {
  readonly run: RunId;
  readonly cell: CellId;
  readonly agent: string;
  /** The text that was searched for. */
  readonly find: string | null;
  /** Its requests to models: the number of the operation, and the turn. */
  readonly attempts: readonly {
    readonly op: number;
    readonly turn: number;
    readonly model: string;
    readonly bytes: number;
  }[];
  /**
   * Each segment once, with its text and where it came from, in the order of the prompts: a request showed those whose `shownIn` it is
   * part of, in this order.
   */
  readonly segments: readonly ExplainedSegment[];
};

/** One part of a cell's prompts, and the way it took to get there. */
export type ExplainedSegment = {
  readonly id: number;
  readonly origin: Origin;
  readonly bytes: number;
  /** The first and the last request (operation numbers) that showed it, and so did all between them; null: none did. */
  readonly shownIn: { readonly first: number; readonly last: number } | null;
  readonly text: string;
  /** Offsets of `find` in `text`, in characters. */
  readonly found: readonly number[];
  /** The way back. A segment that was made from several others leads to these, which have their own trails. */
  readonly trail: readonly TrailStep[];
};

/** One step back towards the origin of a text; a crossing leads into the cell it came from. */
export type TrailStep =
  | {
      readonly type: 'definition';
      readonly cell: CellId;
      readonly agent: string;
      readonly path: string;
      /** It is not in the agent's file or code: it came with the request. */
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
      /** If it came from outside, over a server: whose request brought it. */
      readonly caller?: string;
      readonly to: CrossingEnd;
      readonly grant: string;
      readonly sha256: string;
      readonly bytes: number;
      readonly labels: readonly Label[];
    }
  /** The task of a team that produced the text, and the cell that worked on it. */
  | {
      readonly type: 'task';
      readonly task: string;
      readonly title: string;
      readonly assignee: string | null;
      readonly cell: CellId | null;
    }
  /** A skill of the agent's definition. `file`: null for its instructions; `sha256`: of the whole skill. */
  | {
      readonly type: 'skill';
      readonly agent: string;
      readonly skill: string;
      readonly file: string | null;
      readonly sha256: string;
    }
  | { readonly type: 'segment'; readonly id: number; readonly rule: string };
