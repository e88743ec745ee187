// What people and headends see of a run. Durable events are a projection of the log; live ones are not kept.
import type { CellId, PublicFailure, RunId, TeamGoalInfo } from '#base';
import type { Spent } from './amounts.ts';
import type { CrossingKind, CrossingEnd, RefusalReason } from './crossing.ts';
import type { WindowLimit } from './segment.ts';
import type { DeadReason, MailReport, MailState } from './mail.ts';
import type { Status } from './session.ts';
import type { TaskReason, TaskStatus } from './team.ts';
import type { Amendment, ForkOrigin } from './fork.ts';

type Base = {
  /** `<cell>/<number of the frame in the run>`, with a letter when one frame tells several things. */
  readonly id: string;
  readonly run: RunId;
  readonly cell: CellId;
  readonly agent: string;
  readonly at: number;
  /** Who says it, by the name that it is known by; `person`: whoever asked for the run. */
  readonly agent_id: string;
  /** Of what goes from one to another: to whom. */
  readonly recipient_id: string | null;
  /** The kind of what goes from one to another; else the type of the event. */
  readonly message_type: string;
  /** What belongs together: an operation of the cell, by its number, or a message. */
  readonly correlation_id: string | null;
};

/**
 * What went in and came out, in UTF-8 bytes and in UTF-16 code units. A model: the whole prompt, as its attempt records it;
 * the texts, reasoning and call inputs of its reply. A tool: its arguments; its output, all of it. A sub-agent: what crossed.
 */
type Sizes = {
  readonly bytesIn: number;
  readonly charsIn: number;
  readonly bytesOut: number;
  readonly charsOut: number;
};

/** What was counted in a run is the sum over its `model-end`, `tool-end` and `child-end` events. */
export type DurableEvent = Base &
  (
    | {
        readonly type: 'session-start';
        readonly parent: CellId | null;
        /** The name that its parent's model calls it by; null at the root. */
        readonly tool: string | null;
        readonly depth: number;
        /** Of a team at the root: in words. */
        readonly goal: string;
        /** Of a team at the root: what it is asked for. */
        readonly team?: TeamGoalInfo;
      }
    | {
        readonly type: 'model-start';
        readonly op: number;
        readonly turn: number;
        readonly model: string;
        readonly promptBytes: number;
      }
    | ({
        readonly type: 'model-end';
        readonly op: number;
        readonly ok: boolean;
        /** The part of the model's name before the first `/`. */
        readonly provider: string;
        readonly model: string;
        readonly inputTokens: number;
        /** Of the input, what the provider read from its cache, and what it wrote there. */
        readonly cacheReadTokens: number;
        readonly cacheWriteTokens: number;
        readonly outputTokens: number;
        /** Null: the price is not known. Else whole nano-dollars, so nine decimals say it exactly. */
        readonly usd: number | null;
        /** Tokens whose use is not known. */
        readonly uncertain: number;
        /** For how long it worked; waiting for a slot or for the budget is not work. */
        readonly ms: number;
        readonly calls: number;
        readonly error: PublicFailure | null;
      } & Sizes)
    | { readonly type: 'tool-start'; readonly op: number; readonly tool: string; readonly args: string }
    | ({
        readonly type: 'tool-end';
        readonly op: number;
        readonly tool: string;
        readonly ok: boolean;
        /** For how long it worked. */
        readonly ms: number;
        /** The name of the offloaded output, if it was too long to show whole. */
        readonly output: string | null;
        readonly error: PublicFailure | null;
      } & Sizes)
    | {
        readonly type: 'child-start';
        readonly op: number;
        readonly child: CellId;
        readonly childAgent: string;
        /** The name that it was called by. */
        readonly tool: string;
      }
    | ({
        readonly type: 'child-end';
        readonly op: number;
        readonly child: CellId;
        readonly childAgent: string;
        readonly tool: string;
        /** Whether its caller was given an answer, whole or in part. */
        readonly ok: boolean;
        readonly status: Status;
        readonly ms: number;
      } & Sizes)
    | { readonly type: 'wait-start'; readonly op: number; readonly ms: number }
    | {
        readonly type: 'crossing';
        readonly kind: CrossingKind;
        readonly from: CrossingEnd;
        readonly to: CrossingEnd;
        readonly grant: string;
        readonly bytes: number;
        readonly sha256: string;
      }
    | {
        readonly type: 'crossing-refused';
        readonly kind: CrossingKind;
        readonly from: CrossingEnd;
        readonly to: CrossingEnd;
        readonly reason: RefusalReason;
        readonly bytes: number;
      }
    /** A window that is smaller than its caller's, or was made smaller for another model. */
    | { readonly type: 'window-clamp'; readonly window: WindowLimit; readonly was: number | null }
    /** What gave way to make room, before a request: how many messages of which kind, and how. */
    | {
        readonly type: 'window-trim';
        readonly op: number;
        readonly how: 'compacted' | 'shortened' | 'dropped';
        readonly messages: number;
        readonly bytesBefore: number;
        readonly bytesAfter: number;
      }
    /** A message came to a new state. */
    | {
        readonly type: 'mail';
        readonly message: string;
        readonly kind: MailReport['message_type'];
        readonly from: CrossingEnd;
        /** Null: it was for nobody that is there. */
        readonly to: CrossingEnd | null;
        readonly sender: string | null;
        readonly recipient: string;
        readonly topic: string | null;
        readonly correlation: string | null;
        readonly state: MailState;
        readonly reason: DeadReason | null;
      }
    /** A task of a team came to a new state. */
    | {
        readonly type: 'task';
        readonly task: string;
        readonly title: string;
        readonly assignee: string | null;
        readonly dependsOn: readonly string[];
        readonly status: TaskStatus;
        readonly attempt: number;
        readonly reason: TaskReason | null;
      }
    | {
        readonly type: 'session-end';
        readonly status: Status;
        readonly spent: Spent;
        readonly error: PublicFailure | null;
      }
    /** After a crash; for `downMs` nothing happened. */
    | { readonly type: 'run-resume'; readonly downMs: number }
    /** It keeps the records of another run up to here, and goes on with something changed. */
    | { readonly type: 'run-fork'; readonly from: ForkOrigin; readonly amendment: Amendment }
    | { readonly type: 'run-cancel' }
  );

/** What a cell emits while it works; a new attempt resets the text that was streamed. */
export type LiveEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'text-reset' };

/** To a reader that is slow: pieces were left out here, of this cell and of others, until it had taken what waited for it. */
export type LagEvent = { readonly type: 'text-lag' };

export type RunEvent =
  | DurableEvent
  | ((LiveEvent | LagEvent) & { readonly run: RunId; readonly cell: CellId; readonly agent: string });
