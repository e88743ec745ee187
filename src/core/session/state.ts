// The state that the turns of one session share, and the parts of a tool call.
import type { Failure, Hash, Json, JsonObject } from '#base';
import type {
  ApprovalRule,
  ChainRead,
  ChildOperation,
  ChildRequest,
  CrossingEnd,
  Model,
  Origin,
  OwnOperation,
  PendingOperation,
  ReplyPart,
  RestingSource,
  Settlement,
  Source,
  SourceUse,
  ToolSchema,
  CheckSteps,
  SessionWorld,
} from '#contracts';
import type { Cell } from '#core/memory';
import type { ContextWindow } from '#core/memory';
import type { WorkClock } from './limits.ts';
import type { ProviderCircuits } from './provider-circuits.ts';
import type { SourceSession } from './source-session.ts';

export type SessionPorts = {
  readonly models: readonly Model[];
  /** The models that replaced them since, if any. */
  currentModels?(): readonly Model[] | undefined;
  /** Why the session has no resources to work with. */
  readonly setupFailure?: Failure;
  readonly tools: ReadonlyMap<string, ToolRunner>;
  /** Sources whose tools are known only after asking them. */
  readonly sources: readonly SourceUse[];
  /** Called with each source, which may be closed while the cell waits for people. */
  onSource?(source: RestingSource): void;
  /** Checks a JSON answer instead of the output schema, which then only tells the model what to write. Returns the problems. */
  checkAnswer?(value: Json): readonly string[];
  /** Begins a child that summarises this text; null if that is not possible. */
  compact?(session: Session, text: string): PendingOperation<ChildOperation> | null;
  readonly world: SessionWorld;
};

/** The state that the turns of one session share. A replay rebuilds all of it. */
export type Session = {
  readonly cell: Cell;
  readonly window: ContextWindow;
  readonly ports: SessionPorts;
  /** Tools by name: those of the definition, and those that its sources listed. */
  readonly tools: Map<string, ToolRunner>;
  readonly sources: readonly SourceSession[];
  workClock: WorkClock;
  /** Names of agents whose answers are missing or incomplete. */
  missing: readonly string[];
  /** The latest text the model wrote, or the latest JSON value that fits: the partial result if the session is stopped. */
  latestText: string;
  /** The latest text it wrote for the caller that started it. What it wrote for others is no result for that caller. */
  resultText: string;
  /** The latest reported usage, and the model that reported it. */
  latestUsage: {
    /** `<provider>/<model>`. */
    readonly model: string;
    readonly tokens: number;
    /** Prompt tokens per byte. */
    readonly perByte: number;
    /** The estimate for the prompt then. */
    readonly atTokens: number;
    readonly cuts: number;
  } | null;
  /** The latest count by a model's tokenizer. */
  latestCount: { readonly model: string; readonly perByte: number } | null;
  /** How many pieces of added context are in the window. */
  shownContextCount: number;
  shownNotes: readonly string[];
  /** Turns so far, over all of its work. */
  turn: number;
  /** How many steps it had taken when it was woken. */
  stepsAtWake: number;
  /** Whom its current work is for; null if the mail that woke it asks nothing. */
  asker: Asker | null;
  /** A person's messages that it read while it worked for another: its next work answers them. */
  deferred: readonly DeferredMessage[];
  /** Whom it has written to since it was woken. */
  recipients: readonly CrossingEnd[];
  /** The newest message of each sender that it has read since it was woken, in the order of reading. */
  reads: readonly MailRead[];
  /** By chain and sender: how often it wrote after it had read a message of that sender in that chain. */
  rounds: Map<string, number> | null;
  /** Its answers of the last minute. */
  recentAnswers: readonly { readonly to: string; readonly at: number }[];
  /** How many messages it has sent, by recipient. */
  sentCounts: Map<string, number> | null;
  /** The providers that do not answer this cell. */
  circuits: ProviderCircuits;
  /** The model that gave the latest reply. */
  latestModel: Model | null;
  hasRepaired: boolean;
  /** Models that refused a request with the schema of the answer: they get it by the prompt alone. */
  refusedSchema: readonly Model[];
  /** For checking the arguments of the current turn's calls. They are checked again on a replay, so it is not recorded. */
  checkSteps: CheckSteps;
};

/** Whom a piece of work is for, and the newest message that it answers; null: the goal. */
type Asker = { readonly from: CrossingEnd; readonly id: string | null };

export type DeferredMessage = { readonly seq: number; readonly id: string; readonly chain: string };

/** `isFollowed`: whether the session has written anything since. */
export type MailRead = ChainRead & { readonly isFollowed: boolean };

/** `ask`: the question that allowed it, and the hash of the arguments that were allowed. */
export type ToolCall = Extract<ReplyPart, { type: 'call' }> & {
  readonly ask?: { readonly no: number; readonly argsHash: Hash };
};

/** How the call's result is shown: the rule, and its sources besides the call itself. */
export type CallEnd = {
  readonly show: Pick<Origin, 'rule' | 'of' | 'with'>;
  /** Agents whose answers are missing, and those whose answers came. */
  readonly missing?: readonly string[];
  readonly present?: readonly string[];
  /** The answer of a person who changed the arguments. */
  readonly edited?: Source;
};

/** A child that the chain asks for, and what it does if the run starts none. */
export type ChildStart = {
  readonly child: ChildRequest;
  begun?(child: ChildOperation): void;
  refused(failure: Failure): OwnOperation | null;
};

/** An operation, or a function that builds it when it begins: it may depend on what the chain began just before. */
export type LazyOperation = OwnOperation | ChildStart | (() => OwnOperation | ChildStart | null);

export type ChainStep = {
  readonly begin?: readonly LazyOperation[];
  /** Stops the chain's operations that are still in flight: all, or those at these places. */
  readonly cancel?: { readonly reason: Failure; readonly places?: readonly number[] };
  /** Ends the whole session. */
  readonly stop?: Failure;
  /** Continues the call with another chain. */
  readonly instead?: ToolCallChain;
  /** Also waits for operations that began earlier. */
  readonly join?: readonly PendingOperation[];
  readonly end?: CallEnd;
};

export type ToolCallChain = {
  readonly begin: readonly LazyOperation[];
  /** Operations that began earlier and are also waited for. */
  readonly join?: readonly PendingOperation[];
  /** Called as each operation settles, with its index in the order begun; `no` is its number in the journal. */
  onSettled(index: number, settled: Settlement<Json>, no: number): ChainStep;
};

/** A tool as one agent runs it. */
export type ToolRunner = {
  readonly schema: ToolSchema;
  /** Set if it asks first: the tool itself, and the rule about who may answer. */
  readonly marked?: { readonly tool: ToolRunner; readonly rule: ApprovalRule };
  /** Returns `stop` to end the whole session. */
  createChain(call: ToolCall, args: JsonObject, session: Session): ToolCallChain | { readonly stop: Failure };
};
