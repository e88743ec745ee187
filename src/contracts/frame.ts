// The log of frames is the truth. A frame is what the beginning or the settlement of one operation changed,
// in one append. All of it is JSON; every other table and folder can be rebuilt from frames.
import type { CellId, Failure, Hash, Json, JsonObject, RunId } from '#base';
import type { Amounts } from './amounts.ts';
import type { ConversationRef } from './conversation.ts';
import type { AgentDefinition } from './agent.ts';
import type { CrossingKind, CrossingEnd, Label, LedgerLink } from './crossing.ts';
import type { Outcome } from './session.ts';
import type { Attempt } from './segment.ts';
import type { DeadLetter, SpawnIdentity } from './mail.ts';
import type { TeamPart } from './team.ts';
import type { RetrySafety } from './tool.ts';
import type { Cost } from './model.ts';
import type { Amendment, ForkOrigin, RunStartInfo } from './fork.ts';

export type Frame = {
  readonly run: RunId;
  /** Position in the run's log, from 0, without gaps. */
  readonly no: number;
  readonly at: number;
  /** The cell whose operation this is. */
  readonly cell: CellId;
  readonly record: FrameRecord;
  /** One link per cell that crossed something in this frame. */
  readonly links?: readonly LedgerLink[];
  /** The contents of the `in` entries (and of what went `outside`) in `links`. */
  readonly contents?: readonly CrossingContent[];
  readonly attempt?: Attempt;
  /** Cell ids drawn since the last frame of this cell. */
  readonly ids?: readonly CellId[];
  /** Definitions that this run's log did not hold before. */
  readonly definitions?: readonly { readonly digest: Hash; readonly definition: AgentDefinition }[];
};

export type CrossingContent = {
  readonly cell: CellId;
  readonly seq: number;
  readonly kind: CrossingKind;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly labels: readonly Label[];
  readonly content: string;
};

export type FrameRecord =
  /** The root cell is born: the run starts. */
  | {
      readonly type: 'open';
      readonly birth: Birth;
      readonly started?: RunStartInfo;
      /** The conversation that it takes a turn in. */
      readonly conversation?: ConversationRef;
      /** Who asked for it, where others are served. */
      readonly caller?: string;
    }
  | {
      readonly type: 'begin';
      readonly op: number;
      readonly do: 'step' | 'child' | 'sleep' | 'receive';
      readonly name: string;
      readonly repeat?: RetrySafety;
      readonly hold?: Amounts;
      readonly about?: JsonObject;
      /** For a sleep or a receive: when it ends. */
      readonly until?: number;
      /** For a child: the cell that is born with this frame. */
      readonly birth?: Birth;
    }
  | {
      readonly type: 'settle';
      readonly op: number;
      readonly ok: boolean;
      /** Set from the moment when its whole cell was stopped: when that was, and why. */
      readonly halted?: { readonly at: number; readonly failure: Failure };
      /** For how long a step worked. */
      readonly ms?: number;
      readonly value?: Json;
      readonly failure?: Failure;
      readonly cost?: Cost;
      /** The part of the hold whose use is not known. */
      readonly uncertain?: Amounts;
      /** For a child: the cell that ended with this frame. */
      readonly ended?: { readonly cell: CellId; readonly outcome: Outcome };
    }
  /** After a crash: the attempt in flight is given up, its hold is uncertain, and it runs again. */
  | { readonly type: 'again'; readonly op: number; readonly uncertain: Amounts }
  /** The run goes on after its process died; for `downMs` nothing happened, and no working time passed. */
  | { readonly type: 'resume'; readonly downMs: number }
  /** What stands before was kept from another run; from here on it is amended. */
  | { readonly type: 'fork'; readonly from: ForkOrigin; readonly amendment: Amendment }
  /** Something crossed into a living cell because somebody asked for it: it sees that with its next request. */
  | { readonly type: 'give'; readonly to: CellId }
  /** Mail went out, or what comes in was changed: an operation that began and settled at once. */
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
  /** Mail from outside came into the box of a living cell, or did not. */
  | { readonly type: 'mail'; readonly to: CellId; readonly dead?: DeadLetter & { readonly id: string } }
  | { readonly type: 'cancel' }
  /** The root cell ends: the run ends. */
  | { readonly type: 'close'; readonly outcome: Outcome };

export type Birth = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  readonly digest: Hash;
  readonly depth: number;
  readonly caps: Amounts;
  /** Epoch milliseconds; 0 when there is none. */
  readonly deadline: number;
  /** The smallest window of the agents that were in its budget group then. */
  readonly groupTokens?: number;
  /** Nobody waits for its answer: it lives until it is shut down. At the root: it takes mail from outside. */
  readonly spawned?: SpawnIdentity;
  /** Of a cell of a team: what it is for. */
  readonly task?: TeamPart;
  /** Of a team: what is kept free for its last answer. */
  readonly floor?: Amounts;
};

/** What rides in the next frame of a cell. */
export type FrameAttachment = { readonly attempt: Attempt };
