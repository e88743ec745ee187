// What the turns of one session share, and what a tool call is made of.
import type { Failure, Json, JsonObject } from '#base';
import type {
  Agent,
  ChildOperation,
  CrossingEnd,
  Model,
  Operation,
  Origin,
  PendingOperation,
  ReplyPart,
  Settlement,
  SourceUse,
  SpawnIdentity,
  ToolSchema,
  Validate,
  WindowLimit,
} from '#contracts';
import type { Cell } from '#core/cells';
import type { ContextWindow } from '#core/memory';
import type { WorkClock } from './limits.ts';
import type { SourceSession } from './source-session.ts';

export type SessionPorts = {
  readonly models: readonly Model[];
  /** Those that have taken their place by now, if any. */
  modelsNow?(): readonly Model[] | undefined;
  /** Why there is nothing to work with. */
  readonly unready?: Failure;
  readonly tools: ReadonlyMap<string, ToolRunner>;
  /** Tools that are known only once it asks. */
  readonly sources: readonly SourceUse[];
  /** What is wrong with an answer beyond what the output schema says. */
  check?(value: Json): readonly string[];
  /** Begins the cell that puts this text into a few words; null when that is not possible here. */
  compact?(session: Session, text: string): Operation | null;
  readonly world: {
    readonly validate: Validate;
    /** The window of an agent, as far as definitions and config tell. */
    windowOf?(agent: Agent): WindowLimit | undefined;
    /** The smallest window of the agents in its budget group. */
    groupTokens?(agent: Agent): number | undefined;
    /** Told of what is being closed; the run waits for it at its end. */
    closing?(done: Promise<void>): void;
    /** Reads kept bytes back. */
    blob(ref: string): Promise<Uint8Array>;
  };
};

/** What the turns of one session share. All of it is rebuilt by replay. */
export type Session = {
  readonly cell: Cell;
  readonly window: ContextWindow;
  readonly ports: SessionPorts;
  /** What each tool name stands for: those of the definition, and those that its sources listed. */
  readonly tools: Map<string, ToolRunner>;
  readonly opened: readonly SourceSession[];
  work: WorkClock;
  /** Agents whose answers are not in, or not whole, by name. */
  missing: readonly string[];
  /** The newest text that the model wrote: the partial result if it is stopped. */
  text: string;
  /** The model whose usage was reported last, and what it said. */
  reported: {
    readonly model: Model;
    readonly tokens: number;
    /** Tokens of the prompt for each of its bytes. */
    readonly perByte: number;
    readonly atBytes: number;
    readonly cuts: number;
  } | null;
  /** What the tokenizer of a model said last. */
  counted: { readonly model: Model; readonly perByte: number } | null;
  /** How much of what it was given is in view. */
  givenShown: number;
  noted: readonly string[];
  /** Turns of all its work so far. */
  turn: number;
  /** Steps that it had taken when it was woken. */
  stepsBefore: number;
  /** What it has spawned and not seen the end of. */
  spawned: readonly SpawnedChild[];
  /** Who waits for its answer: those whose messages woke it. */
  askers: readonly PendingSender[];
  /** To whom it wrote since it was woken. */
  writtenTo: readonly CrossingEnd[];
  /** The most messages that led to anything it has read since it was woken. */
  hops: number;
  /** When it answered others lately. */
  answeredAt: readonly { readonly to: string; readonly at: number }[];
  /** How many messages it has sent. */
  mails: number;
  /** When it spawned lately. */
  spawnedAt: readonly number[];
  /** The model of the newest reply. */
  answeredBy: Model | null;
  repaired: boolean;
};

/** An agent that it spawned: the operation, and what it is known by. */
export type SpawnedChild = {
  readonly pending: PendingOperation<ChildOperation>;
  readonly as: SpawnIdentity;
  readonly at: number;
};

export type PendingSender = {
  readonly from: CrossingEnd;
  readonly id: string | null;
  readonly hops: number;
  /** Nobody asked: it has something to say. */
  readonly unasked?: true;
};

export type ToolCall = Extract<ReplyPart, { type: 'call' }>;

/** How the call's result is shown: the rule and its sources after the call itself. */
export type CallEnd = {
  readonly show: Pick<Origin, 'rule' | 'of' | 'with'>;
  /** Agents whose answer did not come, and those whose did. */
  readonly missing?: readonly string[];
  readonly present?: readonly string[];
};

/** An operation, or how to make it at the moment it begins: what it crosses then rides in its own frame. */
export type LazyOperation = Operation | (() => Operation | null);

export type ChainStep = {
  readonly begin?: readonly LazyOperation[];
  /** Stops those of its operations that are still under way. */
  readonly cancel?: Failure;
  /** Waits for something that began earlier too. */
  readonly join?: readonly PendingOperation[];
  readonly end?: CallEnd;
};

export type ToolCallChain = {
  readonly begin: readonly LazyOperation[];
  /** What began earlier and is waited for too. */
  readonly join?: readonly PendingOperation[];
  /** Told of each of its operations as it settles, by its place in the order begun; `no` is its number in the journal. */
  after(place: number, settled: Settlement<Json>, no: number): ChainStep;
};

/** What a tool name stands for in one agent. */
export type ToolRunner = {
  readonly schema: ToolSchema;
  /** Returns a failure to end the whole cell. */
  chain(call: ToolCall, args: JsonObject, session: Session): ToolCallChain | { readonly stop: Failure };
};
