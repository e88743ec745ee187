// The interface of the runtime for headends that serve clients.
import type { CellId, JsonObject, RunId } from '#base';
import type { Agent, OutputFormat } from './agent.ts';
import type { WorstCase } from './agent-file.ts';
import type { Attachment, StoredAttachment } from './attachment.ts';
import type { Budget, SpentTokens } from './amounts.ts';
import type { Cause } from './cause.ts';
import type { CallerTurn } from './caller-conversation.ts';
import type { Checkpoint, CheckpointDiff, CheckpointReport, ConversationRef } from './conversation.ts';
import type { CellLedger, GrantName } from './crossing.ts';
import type { DurableEvent, RunEvent } from './event.ts';
import type { AnswerReceipt } from './answer.ts';
import type { QuestionAnswer, QuestionReport } from './question.ts';
import type { RunCommand, RunCommandName, RunCommandResults } from './run-command.ts';
import type { RunSession } from './run-session.ts';
import type { ReplayReport, RunDiff } from './replay-and-verify.ts';
import type { RequestKey } from './keyed-run.ts';
import type { MailReport } from './mail.ts';
import type { CellWindow } from './cell-window.ts';
import type { DeadLetters, Explanation, RunArchive, RunReport } from './runtime.ts';
import type { DialogMessage, StoredDialogMessage } from './dialog-message.ts';
import type { RunOutcome } from './session.ts';
import type { CallerStorage } from './caller-storage.ts';
import type { RunSummary } from './store.ts';
import type { TaskReport } from './team.ts';
import type { AllowanceSpec, Sees } from './token.ts';
import type { Transcript, TranscriptOptions } from './transcript.ts';

/** The holder of a token. Runs and conversations belong to the caller that created them. */
export type Caller = {
  readonly name: string;
  /** How much of its runs it is shown. */
  readonly sees?: Sees;
  /** Set if it may only watch: runs of this caller, or all runs if it is null. */
  readonly watches?: { readonly caller: string | null };
  /** Set if it runs the server: it reads, steers and answers for all runs of the workspace. What it starts is its own. */
  readonly operator?: true;
};

/** Whether it may read the runs of all callers, and those of the command line. */
export const readsAllRuns = ({ operator, watches }: Pick<Caller, 'operator' | 'watches'>): boolean =>
  operator === true || watches?.caller === null;

/** One request for one run. */
export type AgentRequest = RequestKey & {
  readonly agent: string;
  /** Text, or an object with the arguments of the agent's tool. */
  readonly input: string | JsonObject;
  /** Cannot exceed the token's budget. */
  readonly budget?: Budget;
  /** Answer format; `json` needs a schema, here or in the agent's definition. */
  readonly format?: OutputFormat['format'];
  readonly schema?: JsonObject;
  /** Additional context. */
  readonly context?: readonly string[];
  /** Files that come with the input. */
  readonly attachments?: readonly Attachment[];
  /** The client's system prompts, if the operator allows them; they cross as a `share` from outside. */
  readonly system?: readonly string[];
  /** Earlier messages as the client reports them; they cross as `history`. Cannot be combined with a conversation. */
  readonly history?: readonly DialogMessage[];
  /** A name among the caller's own conversations with that agent. */
  readonly conversation?: string;
  /** Starts a long-lived agent; `input` is its first message. */
  readonly resident?: boolean;
  /** The client's own tools: the agent's model may call them too, and the client sends the results. */
  readonly tools?: readonly ClientTool[];
  /** The client accepts only one call at a time. */
  readonly oneCall?: boolean;
  /** The events or pieces will be read, so they are buffered from the start and none is lost. */
  readonly stream?: boolean;
  /** The events carry contents, if the caller sees them. */
  readonly details?: boolean;
  /** With client tools, whose answers are read as pieces: the events are read as well, so none of them is lost. */
  readonly readsEvents?: boolean;
};

/** What a token allows its holder, and how much of it is used. */
export type CallerAccount = {
  readonly name: string;
  readonly operator: boolean;
  readonly sees: Sees;
  /** It reads runs, and starts, sends and stops nothing. */
  readonly watchOnly: boolean;
  /** The maximum for one request; null: the token sets none. */
  readonly budget: Budget | null;
  readonly allowance: AllowanceUse | null;
};

/** An allowance and what ended runs have used of it in this period. */
export type AllowanceUse = Pick<AllowanceSpec, 'per'> & {
  readonly tokens: AmountUsed | null;
  readonly usd: AmountUsed | null;
  /** Epoch milliseconds: when the next period begins. */
  readonly resetsAt: number;
};

type AmountUsed = { readonly limit: number; readonly used: number };

/** A token of the server, for its operator. */
export type ListedCaller = CallerAccount & {
  /** The agents that it may use; null: all of them. */
  readonly agents: readonly string[] | null;
  readonly requestsPerMinute: number | null;
  /** How many of its runs may run at a time; null: the token sets no limit. */
  readonly running: number | null;
  /** How many of them run on this server now. */
  readonly runningNow: number;
  readonly may: readonly string[] | null;
  /** Agents whose questions it answers in runs of other callers. */
  readonly answers: readonly string[];
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null;
};

/** What the tokens of a server allow. */
export type CallerAccounts = {
  /** That of this caller. */
  own(caller: Caller): Promise<CallerAccount>;
  /** Those of all callers, for the operator; undefined for everybody else. */
  all(caller: Caller): Promise<readonly ListedCaller[] | undefined>;
};

/** An agent of a server, for people. */
export type AgentFacts = {
  readonly name: string;
  readonly description: string;
  readonly models: readonly string[];
  readonly tools: readonly string[];
  /** Names of those that it calls, spawns or gives tasks to. */
  readonly agents: readonly string[];
  readonly team: boolean;
  readonly topics: readonly string[];
  /** Whom it may write to; null: its parent and children. */
  readonly messages: readonly string[] | null;
  /** Tools that a person must allow. */
  readonly approve: readonly string[];
  readonly budget: Budget;
};

/** `kind`: `calls`, `spawns`, `tasks`, `messages` or `topic`. */
export type TopologyEdge = { readonly from: string; readonly to: string; readonly kind: string };

/** What `cloister check` finds; null: it is not known, or the caller is not told. */
export type TopologyCheck = { readonly worstCase: WorstCase | null; readonly warnings: readonly string[] };

export type AgentTopology = TopologyCheck & {
  readonly agents: readonly AgentFacts[];
  readonly edges: readonly TopologyEdge[];
};

/** What a caller may change in a fork of one of its runs. */
export type ForkRequest = {
  /** `<cell>/<operation>`: the first operation that is not kept. `<cell>` alone: the start of the cell. */
  readonly at: string;
  /** Another goal for the run itself: only where its first cell starts. Goals of sub-agents are their callers' words. */
  readonly goal?: string | undefined;
  /** Another budget, up to what the token and the agent allow: only where the run starts. What it does not name stays as it was. */
  readonly budget?: Budget | undefined;
  /** For operators, at any cell too: another model for its agent, and grants that the agent loses. */
  readonly model?: string | undefined;
  readonly withoutGrants?: readonly GrantName[] | undefined;
};

/** Which runs are listed, newest first. */
export type RunListQuery = {
  readonly most: number;
  /** Only runs after this one in the list: older ones. */
  readonly before?: string | undefined;
  readonly agent?: string | undefined;
  /** A state, such as `running`, or how it ended, such as `failed`. */
  readonly state?: string | undefined;
  /** Occurs in its goal, its id or the name of its agent, in small or capital letters. */
  readonly text?: string | undefined;
  /** Whether something was refused in it. */
  readonly refused?: boolean | undefined;
};

/** `next`: the run after which the list goes on; null: there are no more. */
export type RunPage = { readonly runs: readonly ListedRun[]; readonly next: string | null };

export type ListedRun = RunSummary &
  RunLogFacts & {
    /** The conversation that it is or was a turn of. */
    readonly conversation: ConversationRef | null;
  };

/** What the log of a run says about it. */
export type RunLogFacts = {
  /** How many contents crossed between its cells, and how many crossings were refused. */
  readonly crossings: number;
  readonly refused: number;
  /** Set for a fork, and for a run that continues from a checkpoint. */
  readonly fork: RunReport['fork'];
};

/** A conversation in a caller's list, under the name that it gave it; of another caller, with that caller's name before it. */
export type CallerConversation = ConversationRef & {
  readonly turns: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
  /** Other agents that may read and write it. */
  readonly attached: readonly string[];
};

export type CallerConversationReport = CallerConversation & {
  /** The newest turns, oldest first. */
  readonly turnList: readonly CallerTurn[];
  /** Whether it has more turns, before these. */
  readonly more: boolean;
  /** Newest first. */
  readonly checkpoints: readonly CallerCheckpoint[];
  /** Conversations that begin as this one was at a checkpoint. */
  readonly branches: readonly (ConversationRef & { readonly checkpoint: string })[];
};

/** The conversations of a caller. Those of others are unknown to it: `conversation_unknown`. */
export type CallerConversations = {
  /** Newest first. */
  list(caller: Caller, options?: { readonly agent?: string | undefined }): Promise<readonly CallerConversation[]>;
  /** Its newest `most` turns. */
  show(caller: Caller, conversation: ConversationRef, most: number): Promise<CallerConversationReport>;
  /** Rejects with `conversation_shared` if others use it, unless forced. It can be restored by the operator. */
  delete(caller: Caller, conversation: ConversationRef, options: { readonly force?: boolean }): Promise<void>;
};

export type ClientTool = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };

/** A call to one of the client's tools. The id is that of the question that waits for the result. */
export type ClientCall = {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  /** The arguments as text, if they are an agent's answer: its keys have an order. */
  readonly json?: string;
};

export type CallResult = {
  /** The id of the call. */
  readonly call: string;
  readonly text: string;
  /** The call failed; `text` says why. */
  readonly failed: boolean;
};

/** The client's input for a run that is waiting for tool results. */
export type ClientToolResults = Pick<AgentRequest, 'oneCall' | 'tools' | 'details' | 'readsEvents'> & {
  readonly results: readonly CallResult[];
  /** Texts sent along with them. */
  readonly messages: readonly string[];
};

/**
 * A question as a caller sees it. Whoever answers for the runs of others is told what is asked and for whom; where in that run the agent
 * stands is told only to those who see the run.
 */
export type CallerQuestion = Omit<QuestionReport, 'cell' | 'path' | 'caller' | 'answers'> & {
  readonly answers: readonly Omit<QuestionReport['answers'][number], 'signal' | 'reason'>[];
  /** Whether this caller can answer it now. */
  readonly mayAnswer: boolean;
  /** Only for those who see the run. */
  readonly cell?: CellId;
  readonly path?: readonly string[];
  /** Whose run asks, if it is not this caller's. */
  readonly caller?: string | null;
};

/** The questions to people that a caller sees, and may answer. */
export type CallerQuestions = {
  /** Those that wait, of one run or of all, oldest first: of its own runs, and of others that it may answer. */
  list(caller: Caller, run?: string): Promise<readonly CallerQuestion[]>;
  /** One of them, also if it no longer waits. Rejects with `question_unknown`. */
  find(caller: Caller, question: string): Promise<CallerQuestion>;
  /**
   * Answers one; an answer to a run that waits in this process first waits for a slot. Rejects with `question_unknown` (also for one that is
   * not the caller's to answer), `question_answered`, `question_changed`, `question_stale`, `answer_invalid`, `server_busy`, or
   * `key_reused` for another answer with the same key.
   */
  answer(caller: Caller, question: string, answer: QuestionAnswer, sending?: AnswerSending): Promise<CallerReceipt>;
  /**
   * Reads on after an answer: a further reader of a run of this caller, from its start. Rejects with `run_unknown` (also for runs of other callers), and with
   * `run_owned` if it does not run in this process and has not ended.
   */
  followRun(caller: Caller, run: string, options?: FollowOptions): Promise<ServedRun>;
};

/** How a run is followed. */
export type FollowOptions = {
  /** The events are read, from now on: none is lost. They carry contents, if the caller sees them. */
  readonly events?: { readonly details: boolean };
  /** The run ends when this client disconnects, as if the client had started it. Without it, the run does not end with this reader. */
  readonly signal?: AbortSignal;
};

/** `key`: the same answer, sent again by this caller, is taken once. `signal`: removes it from the queue for a slot. */
export type AnswerSending = { readonly key?: string | undefined; readonly signal?: AbortSignal | undefined };

/** What became of a caller's answer. */
export type CallerReceipt = Omit<AnswerReceipt, 'session'>;

export interface AgentService {
  /** What the operator allows clients to send and to see. */
  readonly clients: ClientRules;
  /** The checkpoints of its callers' runs. */
  readonly checkpoints: CallerCheckpoints;
  /** The questions of its callers' runs. */
  readonly questions: CallerQuestions;
  /** What the tokens of its callers allow. */
  readonly accounts: CallerAccounts;
  readonly conversations: CallerConversations;
  /** The life of its callers' runs. */
  readonly storage: CallerStorage<Caller>;
  /** The agents this caller may use, in the configured order: none for one that may only watch, for whom whatever acts throws `watch_only`. */
  agents(caller: Caller): readonly Agent[];
  /** One of them. Throws `agent_unknown`, also for agents that the caller may not use. */
  agent(caller: Caller, name: string): Agent;
  /** The agents this caller may use, and who below them calls, starts and writes to whom. For an operator, with what `check` finds. */
  topology(caller: Caller): Promise<AgentTopology>;
  /** The frontmatter of its file; null if it was not read from an agent file. Throws what `agent` throws. */
  template(caller: Caller, agent: string): string | null;
  /**
   * Waits for a slot, then starts the run. The signal removes it from the queue or cancels the whole run. Rejects with a
   * CloisterError for an invalid request; agents the caller may not use are reported as unknown.
   */
  startRun(caller: Caller, request: AgentRequest, signal?: AbortSignal): Promise<ServedRun>;
  /**
   * Waits for a slot, then continues an interrupted run of this caller: a long-lived one with its agents, their windows, files and
   * unread mail. Rejects with `run_unknown` (also for runs of other callers), `run_ended`, or `run_owned` if it is running.
   */
  resumeRun(caller: Caller, run: string, signal?: AbortSignal): Promise<ServedRun>;
  /**
   * Waits for a slot, then starts a run of this caller that keeps another one's log up to an operation, and its budget, unless it begins anew. Rejects with
   * `run_unknown` (also for runs of other callers), and with `fork_invalid`, also if the run's budget is above what the token allows
   * now. Variables stay as they were, and so do models and grants, unless an operator changes them (`request_unsupported`).
   */
  forkRun(caller: Caller, run: string, fork: ForkRequest, signal?: AbortSignal): Promise<ServedRun>;
  /**
   * Waits for a slot, then tries a run again from its start: a fork of it or, if it is a turn of a conversation, another version of that
   * turn, with which the conversation goes on. The run itself is kept. Rejects with `run_unknown` (also for runs of other callers),
   * `fork_invalid` or `checkpoint_invalid`, and with `conversation_busy` while a turn of the conversation runs.
   */
  retryRun(caller: Caller, run: string, signal?: AbortSignal): Promise<ServedRun>;
  /**
   * Accepts results of calls that one run of this caller waits for, once there is a slot, and continues the run: all results or none.
   * If nobody owns the run, it is resumed first. Results that were taken before, sent again, continue a run that has not used them for
   * another answer yet. Null: no run waits for these results, and nothing was accepted; calls of other callers are unknown here, too.
   * The signal cancels the run until its next request arrives. Rejects with `request_invalid` if a run waits for some of them only,
   * with `run_owned` if another request has the run, and with `server_busy` without accepting anything. Messages sent along
   * are given to the agent as context. If another process owns the run, the results are stored for it and the answer is read from
   * there; it takes no messages (`run_owned`, and nothing was accepted).
   */
  continueRun(caller: Caller, results: ClientToolResults, signal?: AbortSignal): Promise<ServedRun | null>;
  /**
   * Carries out a command on a run in this process, like `RunSession.do`. A message, an agent or tasks for an idle run first wait
   * in the queue for a slot. A message whose id the run has already is not sent again. If another process owns the run, or nobody,
   * `cancel`, `send` and `finish` are on disk when this resolves, for whoever owns or resumes it. Rejects with `run_unknown` (also
   * for runs of other callers), `cell_ended`, `server_busy`, or what the command rejects with.
   */
  do<K extends RunCommandName>(
    caller: Caller,
    run: string,
    command: RunCommand<K>,
    signal?: AbortSignal,
  ): Promise<RunCommandResults[K]>;
  /** The state of the nth request of a run of this caller, counted from 1. Undefined: unknown, or no longer stored. */
  requestState(caller: Caller, run: string, nth: number): RequestState | undefined;
  /** Newest first, at most `most`. Says which of them wait for people. Rejects with `request_invalid` if `before` is not a run of this caller. */
  runs(caller: Caller, query: RunListQuery): Promise<RunPage>;
  /** Messages that will not be read, of the newest `runs` runs of this caller. */
  deadLetters(caller: Caller, options: { readonly runs: number }): Promise<DeadLetters>;
  /** Rejects with `run_unknown`, also for runs of other callers. */
  find(caller: Caller, run: string): Promise<CallerRun>;
}

/** The state of a request: still running, ended with tool calls for the client, or ended with the run. */
export type RequestState =
  | { readonly state: 'running' }
  | {
      readonly state: 'calls';
      /** The text before the calls. */
      readonly text: string;
      readonly calls: readonly ClientCall[];
      /** Since the previous request. */
      readonly spent: SpentTokens;
    }
  | { readonly state: 'ended'; readonly spent: SpentTokens };

export type ClientRules = {
  /** Whether a client's system prompt follows the agent's own. Otherwise it is refused. */
  readonly system: boolean;
  /** Whether a client's tools are offered to the agent in addition to its own. Otherwise they are refused. */
  readonly tools: boolean;
  /** Whether the activity of sub-agents and tools is shown as reasoning, where the protocol has it. */
  readonly activity: boolean;
  /** Whether optional fields and tools that are not supported are ignored, and named in a header, instead of refused. */
  readonly compat: boolean;
};

/** A run for a caller, as seen by one request. With client tools, a run may span several requests. */
export type ServedRun = {
  readonly run: RunId;
  /** The number of this request within the run, counted from 1; only set with client tools. */
  readonly nth?: number;
  readonly agent: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** See `RunSession.outcome`. Its failure is told as far as the caller sees it. */
  readonly outcome: Promise<RunOutcome>;
  /** Durable events from the start, live events from now on. */
  events(): AsyncIterable<RunEvent>;
  /** Every failure so far; undefined for a caller who does not see causes. */
  causes(): Promise<readonly Cause[] | undefined>;
  /**
   * The answer as it is streamed. Ends with the run, or when the run waits for its client. All pieces of text together end with the whole
   * answer, if there is one.
   */
  pieces(): AsyncIterable<AnswerPiece>;
  /**
   * Only with client tools: reads the remaining pieces and returns the calls that the run is waiting for, or null if the run
   * has ended. `outcome` then contains what was spent since the previous request.
   */
  pause?(): Promise<ClientToolPause | null>;
  /**
   * Not with client tools: the questions that this caller may answer, once the run does nothing but wait for people; from then on, a
   * client that disconnects does not end the run. Never resolves if there are none.
   */
  asked?(): Promise<readonly CallerQuestion[]>;
  cancel(): void;
};

export type ClientToolPause = {
  readonly calls: readonly ClientCall[];
  /** The run has ended without finishing, and the call is its partial answer. */
  readonly partial?: boolean;
  /** Since the previous request. */
  readonly spent: SpentTokens;
};

/** `activity`: a description of what agents and tools are doing. `question`: says that a person is asked. */
export type AnswerPiece = { readonly type: 'text' | 'activity' | 'question'; readonly text: string };

/** One message of a run's dialog. `unasked`, `delivered`: for messages of agents to the caller while the run is running. */
export type RunMessage = StoredDialogMessage & {
  /** The id of a message that was sent while the run was running. */
  readonly message?: string;
  readonly agent?: string;
  readonly unasked?: boolean;
  readonly delivered?: boolean;
};

/** `next`: the id after which the next page begins; null if there are no more events so far. */
export type EventPage = { readonly events: readonly DurableEvent[]; readonly next: string | null };

/** An existing run. */
export type CallerRun = {
  readonly summary: RunSummary;
  /** Null if nobody works on the run. Of a run of another process, `agents` throws `cell_ended`. Its failures are told as far as the caller sees them. */
  readonly session: Pick<RunSession, 'outcome' | 'answer' | 'confirm' | 'agents'> | null;
  /** `details`: its events carry contents, if the caller sees them. */
  report(options?: { readonly details?: boolean }): Promise<RunReport>;
  /** Every failure so far or, with the id of an answer, of the work that it ended; undefined for a caller who does not see causes. */
  causes(answer?: string): Promise<readonly Cause[] | undefined>;
  /** Files of its dialog, with their bytes. */
  attachments(stored: readonly StoredAttachment[]): Promise<readonly Attachment[]>;
  /** The conversation that it is or was a turn of, as its caller calls it. */
  conversation(): Promise<ConversationRef | null>;
  /** The dialog of the run: its history, its goal, the messages between its caller and its agents, and its answer. */
  dialog(): Promise<readonly RunMessage[]>;
  /**
   * Events after the one with this id, or all events. Includes live pieces: of a run of another process, as far as the store passes them on. Ends with the
   * run, or when the signal is aborted. `details`: durable events carry contents. Throws `request_unsupported` if the caller may
   * not see them.
   */
  events(
    options?: { readonly after?: string | undefined; readonly details?: boolean | undefined },
    signal?: AbortSignal,
  ): AsyncIterable<RunEvent>;
  /** Recorded events after the one with this id, or from the first on; refuses what `events` refuses. */
  eventPage(options: {
    readonly after?: string | undefined;
    readonly details?: boolean | undefined;
    readonly limit: number;
  }): Promise<EventPage>;
  /** Rejects with `request_unsupported` if the caller may not see contents, and with `cell_unknown`. */
  transcript(options?: TranscriptOptions): Promise<Transcript>;
} & CallerRunReports;

/**
 * What follows from the record of a caller's run. Figures, names and hashes are for every caller, because the events tell them too.
 * Texts of the record are for those who see contents; others are told in their place that they are withheld.
 */
export type CallerRunReports = {
  /** Rejects with `request_unsupported` if the caller may not see contents, and with `cell_unknown`. */
  explain(cell: string, options?: { readonly find?: string }): Promise<Explanation>;
  /** The messages of its problems are texts of the record. */
  audit(): ReturnType<RunArchive['audit']>;
  windows(): Promise<readonly CellWindow[]>;
  ledger(): Promise<readonly CellLedger[]>;
  tasks(): Promise<readonly TaskReport[]>;
  mail(): Promise<readonly MailReport[]>;
  /** Without the events, which are those of the run. */
  replay(): Promise<Omit<ReplayReport, 'events'>>;
  /**
   * Compares it with another run of the same caller; what two cells did differently is text of the record. Rejects with
   * `run_unknown` for any other run.
   */
  diff(other: string): Promise<RunDiff>;
};

/** A checkpoint of one of a caller's runs, as that caller sees it: conversations have the names that it gave them. */
export type CallerCheckpoint = Pick<
  Checkpoint,
  'id' | 'agent' | 'run' | 'conversation' | 'frames' | 'hash' | 'at' | 'why' | 'label'
>;

/** `run`: continues from the checkpoint; null if the run had ended there, or another agent gets the conversation. */
export type CheckpointContinuation = {
  readonly checkpoint: string;
  readonly conversation: ConversationRef | null;
  readonly run: ServedRun | null;
};

/**
 * A checkpoint belongs to the caller of its run. To every other caller it is unknown: whatever takes an id rejects with
 * `checkpoint_unknown` then, as for an id that nobody has. An id is never a path. Whoever may only watch reads what it may watch;
 * the rest rejects with `watch_only`.
 */
export interface CallerCheckpoints {
  /** Newest first, at most `most`. */
  list(
    caller: Caller,
    options: { readonly agent?: string | undefined; readonly run?: string | undefined; readonly most: number },
  ): Promise<readonly CallerCheckpoint[]>;
  show(
    caller: Caller,
    id: string,
  ): Promise<Omit<CheckpointReport, 'checkpoint'> & { readonly checkpoint: CallerCheckpoint }>;
  /** Of a run as it is now. Afterwards the oldest are removed, if the caller has more than the retention allows. Rejects with `run_unknown`. */
  create(caller: Caller, run: string, options?: { readonly label?: string | undefined }): Promise<CallerCheckpoint>;
  diff(
    caller: Caller,
    one: string,
    other: string,
  ): Promise<
    Omit<CheckpointDiff, 'one' | 'other'> & { readonly one: CallerCheckpoint; readonly other: CallerCheckpoint }
  >;
  /**
   * Resets its conversation to the checkpoint. If the run had not ended there, waits for a slot, and continues it as a new run of this
   * caller, with the budget that it had. Rejects with `checkpoint_invalid`, also if that budget is above what the token allows now, and
   * with `agent_unknown` if the caller may not use the agent any more. The signal removes it from the queue.
   */
  restore(caller: Caller, id: string, signal?: AbortSignal): Promise<CheckpointContinuation>;
  /** The same in a new conversation of this caller, or as a new run; the original stays unchanged. */
  branch(caller: Caller, id: string, options: BranchRequest, signal?: AbortSignal): Promise<CheckpointContinuation>;
}

/** `name`: of the new conversation. `agent`: another one that the caller may use. */
export type BranchRequest = { readonly name?: string | undefined; readonly agent?: string | undefined };
