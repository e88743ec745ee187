// All that a session, its memory and a team see of their cell. No member leads to another cell, or to the run.
//
//   port-operations-are-data. What a cell does is an operation, and an operation is data; only a step carries work, because it
//       is the outside world. Whatever needs the whole run (who is there, who may, whose mailbox is full, what is left) is
//       decided by the run.
//   port-as-of-settlements. Everything here is as of the settlements that the session has received, so it is the same on
//       replay.
import type { CellId, Failure } from '#base';
import type { Agent } from './agent.ts';
import type { Amounts, Spent } from './amounts.ts';
import type { Crossed } from './crossing.ts';
import type { ChildOperation, ChildRequest, OwnOperation, PendingOperation } from './engine.ts';
import type { LiveEvent } from './event.ts';
import type { SpawnIdentity } from './mail.ts';
import type { Attempt, Segment } from './segment.ts';
import type { TeamPart } from './team.ts';
import type { IndeterminatePolicy } from './tool.ts';

/** What was fixed when the cell was created. */
interface CellBirth {
  /** Opaque; never rendered. */
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly depth: number;
  /** Null at the root. */
  readonly parent: CellId | null;
  /** Null if its caller waits for it. */
  readonly spawned: SpawnIdentity | null;
  /** In a team: the cell's part in the team's work. */
  readonly task: TeamPart | null;
  /** Names of its ancestors' agents, root first, its own last. Used to refuse cycles; never shown. */
  readonly ancestry: readonly string[];
  /** The smallest window of its budget group. */
  readonly groupTokens: number | undefined;
  /** When the run began: the only time that prompts may contain. */
  readonly runStartedAt: number;
  /** The format of the run's records: it decides which versions of rules, estimates and texts the run uses. */
  readonly format: number;
  /** Its caps, then those of each account above it. */
  readonly capsUpwards: readonly Amounts[];
  /** Whether it must measure what it holds in memory. */
  readonly tracksMemory: boolean;
}

export interface CellPort extends CellBirth {
  /** The time of the newest settlement that the session received. */
  readonly now: number;
  /** How long the cell has existed by `now`, without the time in which the run was down, and without waiting for people. */
  readonly ageMs: number;
  /** Epoch milliseconds, as seen from its next operation; 0 when there is none. Idle time does not count against it. */
  readonly deadline: number;
  /** The deadline as seen from `now`, which may be before a fork. */
  readonly deadlineNow: number;
  /** What its account has spent by now. */
  readonly spent: Spent;
  /** The size of its unread mail. */
  readonly mailBytes: number;

  /** Never throws or waits; numbered in call order. */
  begin<O extends OwnOperation>(operation: O): PendingOperation<O>;
  /** Like `begin`. Gives the reason, and records nothing, if an account or a grant allows no such child. */
  beginChild(request: ChildRequest): PendingOperation<ChildOperation> | Failure;
  /** The first of these to settle, in recorded order. Rejects only when cancelled. */
  first<P extends PendingOperation>(pending: readonly P[]): Promise<P>;
  /** Only requests cancellation; the settlement shows what happened. */
  cancel(pending: PendingOperation, reason?: Failure): void;
  /** Those of the given operations that have not settled when the next operation begins (on replay: began). */
  unsettled<P extends PendingOperation>(pending: readonly P[]): readonly P[];
  /** For how long by `now` a child had waited for a person while nothing in it or below it worked. */
  askedMs(child: ChildOperation): number;
  /** Whether the run was forked after this operation settled, and before the next one begins (on replay: began). */
  isForkedSince(no: number): boolean;
  /** What the operator wants for this operation, whose outcome a crash has left unknown. */
  indeterminatePolicy(no: number): IndeterminatePolicy;
  /** Whether the cell is stopped when the next operation begins (on replay: began). */
  readonly isStopped: boolean;
  /** Recorded with the frame of the next `begin`. `shown`: the window, for those who are allowed to see it. */
  attach(attempt: Attempt, shown: WindowView): void;

  readonly received: ReceivedContent;
  /** The goal for the child that the next operation creates: the requested one, unless a fork replaced it. */
  amendedGoal(requested: string): string;
  /** The agents that it spawned before the next operation begins (on replay: began). */
  readonly spawnedChildren: readonly SpawnedChild[];
  /** How many of them were started from outside. */
  readonly outsideSpawns: number;
  /** From here on, nobody outside can start an agent under it, or, until its next operation begins, add context to it. */
  refuseOutside(what: 'agents' | 'context'): void;

  /** Live only; nothing is emitted on replay. */
  emit(event: LiveEvent): void;
  /** Whether anyone reads live events. If not, none are made. */
  readonly hasLiveListeners: boolean;
}

/** What has crossed into the cell, by the numbers of its own ledger. */
export interface ReceivedContent {
  at(seq: number): Crossed | undefined;
  /** Context added to the cell, in order, without its goal and its children's results: at creation only, or up to its next operation. */
  addedContext(when: 'at creation' | 'by now'): readonly Crossed[];
  /** Releases a crossing that the cell has stored elsewhere. */
  forget(seq: number): void;
  /** Releases mail that has been shown: the window and the log hold it from then on. */
  forgetMail(seq: number): void;
}

/** `context`: all context that it was ever shown, whether the window still has room for it or not. */
export type WindowView = { readonly view: readonly Segment[]; readonly context: readonly Segment[] };

/** A spawned agent: its operation and its identity. */
export type SpawnedChild = {
  readonly pending: PendingOperation<ChildOperation>;
  readonly identity: SpawnIdentity;
  readonly spawnedAt: number;
};
