// The log of frames is the source of truth. A frame records what the beginning or the settlement of one operation changed,
// in one append. Frames are JSON; every other table and folder can be rebuilt from them.
import type { CellId, Failure, Hash, Json, JsonObject, RecordedBy, RunId } from '#base';
import type { Amounts, Stalls } from './amounts.ts';
import type { ConversationRef } from './conversation.ts';
import type { AgentDefinition } from './agent.ts';
import type { CrossingContent, LedgerLink } from './crossing.ts';
import type { Outcome } from './session.ts';
import type { Attempt } from './segment.ts';
import type { DeadLetter, SpawnIdentity } from './mail.ts';
import type { Question, Ruling } from './question.ts';
import type { TeamPart } from './team.ts';
import type { IndeterminatePolicy, RetrySafety } from './tool.ts';
import type { Cost } from './model.ts';
import type { Amendment, ForkOrigin, RunStartInfo } from './fork.ts';

/** `Frame<Crossed>`: one that its run has just written, or restored on resume. */
export type Frame<C extends CrossingContent = CrossingContent> = {
  readonly run: RunId;
  /** Position in the run's log, from 0, without gaps. */
  readonly no: number;
  readonly at: number;
  /** The cell that owns the operation. */
  readonly cell: CellId;
  readonly record: FrameRecord;
  /** One link for each cell with a crossing in this frame. */
  readonly links?: readonly LedgerLink[];
  /** The contents of the `in` entries in `links`, and of the entries that go `outside`. */
  readonly contents?: readonly C[];
  readonly attempt?: Attempt;
  /** Measured in real time since the run's last frame. Never compared: a replay takes no time. */
  readonly stalls?: readonly CellStalls[];
  /** Cell ids drawn since the last frame of this cell. */
  readonly ids?: readonly CellId[];
  /** Definitions that are new in this run's log. */
  readonly definitions?: readonly { readonly digest: Hash; readonly definition: AgentDefinition }[];
};

/** Frames of one run in log order, in memory or read one by one. */
export type FrameSource = Iterable<Frame> | AsyncIterable<Frame>;

/** How often a cell kept the event loop to itself for more than 100 ms in one piece, and for how long at most. */
export type CellStalls = { readonly cell: CellId } & Stalls;

/** What a cell can do. A new kind does not compile until everything that handles operations handles it. */
export type OperationKind = 'step' | 'child' | 'sleep' | 'post' | 'receive' | 'ask';

/** The kinds that begin in one frame and settle in another. A post has one record for both. */
export type BeginKind = Exclude<OperationKind, 'post'>;

export type RecordType = FrameRecord['type'];

export type RecordOf<T extends RecordType> = Extract<FrameRecord, { readonly type: T }>;

export type FrameRecord =
  /** The run starts: its root cell is created. */
  | {
      readonly type: 'open';
      /** The format of all records of this run, and the build that started it. */
      readonly recordedBy: RecordedBy;
      readonly birth: Birth;
      readonly started?: RunStartInfo;
      /** The conversation in which the run is a turn. */
      readonly conversation?: ConversationRef;
      /** The caller that requested it, on a server. */
      readonly caller?: string;
      /** A hash of what was requested, if the request may come twice. */
      readonly requestHash?: string;
      /** The names of the variables that the run was given values for, as far as its agents use them. Values are not recorded. */
      readonly env?: readonly string[];
    }
  | {
      readonly type: 'begin';
      readonly op: number;
      readonly do: BeginKind;
      readonly name: string;
      readonly repeat?: RetrySafety;
      /** The budget reservation that it requests. */
      readonly hold?: Amounts;
      /** The hold was not granted when the operation began. If it is granted later, a `held` record says so. */
      readonly waits?: true;
      readonly about?: JsonObject;
      /** For a sleep, a receive or a question: when it ends. */
      readonly until?: number;
      readonly question?: Question;
      /** For a child: the cell that this frame creates. */
      readonly birth?: Birth;
    }
  | {
      readonly type: 'settle';
      readonly op: number;
      readonly ok: boolean;
      /** Set if the whole cell was stopped before: when, and why. */
      readonly halted?: { readonly at: number; readonly failure: Failure };
      /** How long a step worked. */
      readonly ms?: number;
      readonly value?: Json;
      readonly failure?: Failure;
      readonly cost?: Cost;
      /** The part of the hold whose use is unknown. */
      readonly uncertain?: Amounts;
      /** For a child: the cell that this frame ends. */
      readonly ended?: { readonly cell: CellId; readonly outcome: Outcome };
    }
  /** The hold was granted after the operation had begun: it waited, or a crash came in between. */
  | { readonly type: 'held'; readonly op: number }
  /** After a crash: the attempt in flight is abandoned, its hold becomes uncertain, and the operation is retried. */
  | { readonly type: 'again'; readonly op: number; readonly uncertain: Amounts }
  /**
   * `build` continues the run after a crash, in the run's own format. For `downMs` nothing happened, and no working time counts.
   * `env`: as in `open`, the variables that it was given values for now. `indeterminate`: the operator's policy for calls that were in
   * flight, from here to the next resume; absent: `continue`.
   */
  | {
      readonly type: 'resume';
      readonly downMs: number;
      readonly build: string;
      readonly env?: readonly string[];
      readonly indeterminate?: Exclude<IndeterminatePolicy, 'continue'>;
    }
  /**
   * The frames before this one come from another run; from here on, the amendment applies. `caller`: the caller that requested it, on
   * a server.
   */
  | { readonly type: 'fork'; readonly from: ForkOrigin; readonly amendment: Amendment; readonly caller?: string }
  /** Content crossed into a live cell on request; its model sees it with its next request. */
  | { readonly type: 'give'; readonly to: CellId }
  /** Sends mail or changes subscriptions: an operation that begins and settles in one record. */
  | {
      readonly type: 'post';
      readonly op: number;
      readonly name: string;
      readonly about?: JsonObject;
      readonly ok: boolean;
      readonly value?: Json;
      readonly failure?: Failure;
      readonly halted?: { readonly at: number; readonly failure: Failure };
    }
  /** Mail from outside entered the mailbox of a live cell, or was refused. */
  | { readonly type: 'mail'; readonly to: CellId; readonly dead?: DeadLetter & { readonly id: string } }
  /** These messages to the outside were handed out: whoever holds the run has taken them. */
  | { readonly type: 'delivered'; readonly messages: readonly string[] }
  /** A person answered a question of the cell. What the cell hears of it crosses with this frame. */
  | ({ readonly type: 'ruling' } & Ruling)
  | { readonly type: 'cancel' }
  /** The run ends with its root cell. */
  | { readonly type: 'close'; readonly outcome: Outcome };

export type Birth = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  readonly digest: Hash;
  readonly depth: number;
  readonly caps: Amounts;
  /** Epoch milliseconds; 0: none. */
  readonly deadline: number;
  /** The smallest window in its budget group at that time. */
  readonly groupTokens?: number;
  /** Set for a spawned cell: nobody waits for its answer, and it lives until it is shut down. On a root: it accepts mail from outside. */
  readonly spawned?: SpawnIdentity;
  /** For a cell of a team: its part. */
  readonly task?: TeamPart;
  /** For a team: the budget reserved for its final answer. */
  readonly floor?: Amounts;
  /** The agent's models that could not be used. Recorded, so that a resume and a replay choose among the same models. */
  readonly passedOver?: readonly PassedOverModel[];
};

/** `missing`: the variables of its provider that had no value. */
export type PassedOverModel = { readonly model: string; readonly missing: readonly string[] };
