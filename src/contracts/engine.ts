// What a session does. Every interaction with the outside world is an operation, and every operation is recorded.
import type { CellId, Failure, Json, JsonObject } from '#base';
import type { Amounts } from './amounts.ts';
import type { LiveEvent } from './event.ts';
import type { BeginKind, OperationKind } from './frame.ts';
import type { ChildResultRef } from './session.ts';
import type { Agent } from './agent.ts';
import type { PostRequest, ReceiveResult, SpawnIdentity, ReceiveRequest } from './mail.ts';
import type { Question, QuestionResult } from './question.ts';
import type { TeamPart, TeamRules } from './team.ts';
import type { RetrySafety } from './tool.ts';
import type { Cost } from './model.ts';

export type StepOperation = {
  readonly do: 'step';
  readonly name: string;
  readonly repeat: RetrySafety;
  /** For the work itself, without waiting for a hold or a slot. */
  readonly timeoutMs: number;
  /** Epoch milliseconds by which it must have settled, including waiting; 0 or absent: none. */
  readonly deadline?: number;
  /** The error code for a timeout. */
  readonly timeoutCode: 'model_timeout' | 'tool_timeout';
  readonly lane?: string;
  /** Held in the accounts of the cell and all its ancestors before the work starts. */
  readonly hold?: Amounts;
  /** What it would hold with the shortest reply: tells what helps if the hold is refused. */
  shortestHold?(): Amounts;
  /** Recorded in the begin record, for people: the tool, the step, the arguments. */
  readonly about?: JsonObject;
  work(world: StepContext): Promise<Json>;
};

/** A child as its caller asks for it. The run draws its id and its name, and sets its grants, caps and deadline. */
export type ChildRequest = {
  readonly agent: Agent;
  /** Null: it waits for its first message. */
  readonly goal: string | null;
  /** What else crosses to it when it is created. */
  readonly gives?: readonly ChildGift[];
  /** What this cell is told about the child, if the child's definition allows notes. */
  readonly note?: string | undefined;
  /** Set if this cell does not wait for it: it lives until it is shut down, and its result arrives as mail. */
  readonly spawn?: Omit<SpawnIdentity, 'name'>;
  /** For a cell of a team: its part. */
  readonly part?: TeamPart;
  /** A check of its JSON answer that replaces its output schema: a plan must fit the team's rules. */
  readonly check?: { readonly plan: TeamRules } | undefined;
  /** The smallest window among the agents currently in its budget group. */
  readonly groupTokens?: number | undefined;
  /** Children that the account must still allow after this one. */
  readonly spawnsReserved?: number;
  readonly about?: JsonObject;
};

/** `share`: a part of this cell's window. `dependency` and `message`: what a team passes on to one of its cells. */
export type ChildGift = { readonly kind: 'share' | 'dependency' | 'message'; readonly content: string };

/** A child that has begun, as its caller knows it. */
export type ChildOperation = {
  readonly do: 'child';
  readonly cell: CellId;
  readonly agent: Agent;
  readonly spawned?: SpawnIdentity | undefined;
  readonly about?: JsonObject | undefined;
};

export type SleepOperation = { readonly do: 'sleep'; readonly ms: number; readonly why: 'back-off' | 'time-out' };

/** Sends mail or changes subscriptions: decided immediately, in one record. */
export type PostOperation = {
  readonly do: 'post';
  readonly name: string;
  readonly about?: JsonObject;
  /** The run decides it, crosses what is sent, and records the result. On replay, the result is in the log. */
  readonly request: PostRequest;
};

/** Waits for mail. */
export type ReceiveOperation = {
  readonly do: 'receive';
  readonly name: string;
  readonly about?: JsonObject;
  /** The run looks up the names when the operation begins, and again after a crash. */
  readonly wanted: ReceiveRequest;
  /** 0: no timeout. */
  readonly timeoutMs: number;
};

/** Asks a person, and waits for the answer. */
export type AskOperation = {
  readonly do: 'ask';
  readonly name: string;
  readonly about?: JsonObject;
  readonly question: Question;
  /** What changed arguments must fit. Not recorded: it is the tool's own. */
  readonly schema: JsonObject;
  /** After that, it counts as denied. */
  readonly timeoutMs: number;
};

type Operations = {
  readonly step: StepOperation;
  readonly child: ChildOperation;
  readonly sleep: SleepOperation;
  readonly post: PostOperation;
  readonly receive: ReceiveOperation;
  readonly ask: AskOperation;
};

/** What each kind of operation returns. */
type OperationValues = {
  readonly step: Json;
  readonly child: ChildResultRef;
  readonly sleep: null;
  readonly post: Json;
  readonly receive: ReceiveResult;
  readonly ask: QuestionResult;
};

export type Operation = Operations[OperationKind];

/** All but children, which a cell can only ask for. */
export type OwnOperation = Exclude<Operation, ChildOperation>;

/** All but posts, which have a record of their own. */
export type BeginOperation = Operations[BeginKind];

export type OperationValue<O extends Operation> = OperationValues[O['do']];

export type PendingOperation<O extends Operation = Operation> = {
  readonly no: number;
  readonly operation: O;
  /** Set once `first` has returned it. */
  readonly settled: Settlement<OperationValue<O>> | undefined;
};

export type Settlement<T> = {
  readonly at: number;
  /** How long a step worked, without waiting for a hold or a slot. */
  readonly ms?: number;
} & ({ readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure });

/** Passed to the work of a step. It is not a CellPort, so a step cannot wait for a cell. */
export type StepContext = {
  readonly signal: AbortSignal;
  /** Idempotency key, the same on every retry. */
  readonly key: string;
  emit(event: LiveEvent): void;
  /** A text that is complete: it is emitted in one piece, even if secrets are removed from it. */
  emitWhole(text: string): void;
  /** The listener is called once if the step is stopped from outside, for work that does not accept a signal. */
  onStop(listener: () => void): void;
  /** Reports the true cost. If it is never called, the whole hold counts as uncertain. */
  reportCost(cost: Cost): void;
  /** Removes secrets from text that is about to be stored or truncated. A step's return value is always redacted. */
  redact(text: string): string;
  /** The same for text of any length: a long one is searched in pieces, and other cells have their turn in between. */
  redactInPieces(text: string): Promise<string>;
  /** Lets other cells have their turn. Rejects if the step was stopped meanwhile. */
  yieldToOthers(): Promise<void>;
  /** Whether there are any secrets to redact. */
  readonly redacts: boolean;
  /** Stores a large value and returns a reference to it. */
  storeBlob(bytes: Uint8Array): Promise<string>;
};
