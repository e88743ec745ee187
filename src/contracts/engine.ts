// What the loop sees of the world. Every touch is an operation; every operation is recorded.
import type { CellId, Failure, Json, JsonObject } from '#base';
import type { Amounts } from './amounts.ts';
import type { Crossed, Grant, SharedMessage } from './crossing.ts';
import type { LiveEvent } from './event.ts';
import type { FrameAttachment } from './frame.ts';
import type { ChildResultRef } from './session.ts';
import type { Agent } from './agent.ts';
import type { ReceiveResult, SpawnIdentity, MailFilter } from './mail.ts';
import type { TeamPart } from './team.ts';
import type { RetrySafety } from './tool.ts';
import type { Cost } from './model.ts';

export interface CellContext {
  /** Opaque; never rendered. */
  readonly cellId: CellId;
  /** Time of the newest settlement that was handed out: the same on replay. */
  readonly now: number;
  /** Never throws or waits; numbered in call order. */
  begin<O extends Operation>(operation: O): PendingOperation<O>;
  /** The earliest settled of these, in recorded order. Rejects only when cancelled. */
  first<P extends PendingOperation>(pending: readonly P[]): Promise<P>;
  /** `begin` and `first` of one. */
  run<O extends Operation>(operation: O): Promise<Settlement<OperationValue<O>>>;
  /** A request; the settlement decides. */
  cancel(pending: PendingOperation, reason?: Failure): void;
  /** Recorded, so the same on replay. Null when an account allows no more children, so many kept for later. */
  newCellId(agent: string, keep?: number): CellId | null;
  /** Rides in the frame of the next `begin`. */
  note(fact: FrameAttachment): void;
  /** Live only; silent on replay. */
  emit(event: LiveEvent): void;
}

export type StepOperation = {
  readonly do: 'step';
  readonly name: string;
  readonly repeat: RetrySafety;
  /** For the work itself; waiting for a hold or a slot is apart. */
  readonly timeoutMs: number;
  /** Epoch milliseconds by which it must have settled, waiting included; 0 or absent when there is none. */
  readonly deadline?: number;
  /** What it is called when the time runs out. */
  readonly timeoutCode: 'model_timeout' | 'tool_timeout';
  readonly lane?: string;
  /** Held in the cell's account and all its ancestors' before the work starts. */
  readonly hold?: Amounts;
  /** Recorded with the beginning, for people: which tool, which step, which arguments. */
  readonly about?: JsonObject;
  work(world: StepContext): Promise<Json>;
};

export type ChildOperation = {
  readonly do: 'child';
  readonly cell: CellId;
  readonly agent: Agent;
  /** Null: it waits for its first mail. */
  readonly goal: Crossed<'goal'> | null;
  /** Set when its caller does not wait for it: it lives until it is shut down, and its end comes as mail. */
  readonly spawned?: SpawnIdentity;
  /** What may cross between the child and this cell; made from definitions. */
  readonly grants: readonly Grant[];
  readonly caps: Amounts;
  readonly deadline: number;
  /** What of this cell's window was handed to it, and what there is of it now. */
  readonly share?: { readonly crossed: Crossed<'share'>; now(): readonly SharedMessage[] } | undefined;
  readonly groupTokens?: number | undefined;
  /** Of a team: what is kept free for its last answer. */
  readonly floor?: Amounts | undefined;
  /** Of a cell of a team: what it is for. */
  readonly task?: TeamPart | undefined;
  /** What is wrong with its answer beyond what its output schema says. */
  readonly check?: ((value: Json) => readonly string[]) | undefined;
  /** The agents above it by name, root first, its own last: for refusing cycles, never shown. */
  readonly ancestry: readonly string[];
  readonly about?: JsonObject;
};

export type SleepOperation = { readonly do: 'sleep'; readonly ms: number; readonly why: 'back-off' | 'time-out' };

/** Mail that goes out, or a change of what comes in: decided at once, in one record. */
export type PostOperation = {
  readonly do: 'post';
  readonly name: string;
  readonly about?: JsonObject;
  /** Crosses what it sends, and gives what is known of it. What it throws is the failure. Not called on replay. */
  decide(at: number): Json;
};

/** Waits for mail. */
export type ReceiveOperation = {
  readonly do: 'receive';
  readonly name: string;
  readonly about?: JsonObject;
  /** Asked when it begins, and again after a crash. */
  wanted(): MailFilter | { readonly settle: ReceiveResult };
  /** 0: as long as it takes. */
  readonly timeoutMs: number;
};

export type Operation = StepOperation | ChildOperation | SleepOperation | PostOperation | ReceiveOperation;

export type OperationValue<O extends Operation> = O extends ChildOperation
  ? ChildResultRef
  : O extends SleepOperation
    ? null
    : O extends ReceiveOperation
      ? ReceiveResult
      : Json;

export type PendingOperation<O extends Operation = Operation> = {
  readonly no: number;
  readonly operation: O;
  /** Set once `first` or `run` has handed it out. */
  readonly settled: Settlement<OperationValue<O>> | undefined;
};

export type Settlement<T> = {
  readonly at: number;
  /** For how long a step worked until then; waiting for a hold or a slot is not work. */
  readonly ms?: number;
} & ({ readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure });

/** What the work of a step is given. No CellContext: a step cannot wait for a cell. */
export type StepContext = {
  readonly signal: AbortSignal;
  /** Idempotency key, the same on every re-run. */
  readonly key: string;
  emit(event: LiveEvent): void;
  /** Called once if the step is stopped from outside, for work that takes no signal. */
  onStop(listener: () => void): void;
  /** Reports the true cost. Not called: the whole hold counts as uncertain. */
  used(cost: Cost): void;
  /** Takes secrets out of what is about to be kept or cut; what a step returns is redacted in any case. */
  redact(text: string): string;
  /** Whether anything is secret here at all. */
  readonly redacts: boolean;
  /** Keeps a large value by reference. */
  keep(bytes: Uint8Array): Promise<string>;
};
