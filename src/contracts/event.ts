// What people and headends see of a run. Durable events are a projection of the log; live ones are not kept.
import type { CellId, PublicFailure, RunId } from '#base';
import type { Spent } from './amounts.ts';
import type { CrossingKind, End, RefusalReason } from './crossing.ts';
import type { Status } from './session.ts';

type Base = {
  /** `<cell>/<number of the frame in the run>`, with a letter when one frame tells several things. */
  readonly id: string;
  readonly run: RunId;
  readonly cell: CellId;
  readonly agent: string;
  readonly at: number;
};

export type DurableEvent = Base &
  (
    | { readonly type: 'session-start'; readonly parent: CellId | null; readonly depth: number; readonly goal: string }
    | {
        readonly type: 'model-start';
        readonly op: number;
        readonly turn: number;
        readonly model: string;
        readonly promptBytes: number;
      }
    | {
        readonly type: 'model-end';
        readonly op: number;
        readonly ok: boolean;
        readonly model: string;
        readonly inputTokens: number;
        readonly outputTokens: number;
        /** Null: the price is not known. */
        readonly usd: number | null;
        /** Tokens whose use is not known. */
        readonly uncertain: number;
        readonly ms: number;
        readonly calls: number;
        readonly error: PublicFailure | null;
      }
    | { readonly type: 'tool-start'; readonly op: number; readonly tool: string; readonly args: string }
    | {
        readonly type: 'tool-end';
        readonly op: number;
        readonly tool: string;
        readonly ok: boolean;
        readonly ms: number;
        readonly bytes: number;
        /** The name of the offloaded output, if it was too long to show whole. */
        readonly output: string | null;
        readonly error: PublicFailure | null;
      }
    | { readonly type: 'child-start'; readonly op: number; readonly child: CellId; readonly childAgent: string }
    | {
        readonly type: 'child-end';
        readonly op: number;
        readonly child: CellId;
        readonly childAgent: string;
        readonly status: Status;
        readonly ms: number;
      }
    | { readonly type: 'wait-start'; readonly op: number; readonly ms: number }
    | {
        readonly type: 'crossing';
        readonly kind: CrossingKind;
        readonly from: End;
        readonly to: End;
        readonly grant: string;
        readonly bytes: number;
        readonly sha256: string;
      }
    | {
        readonly type: 'crossing-refused';
        readonly kind: CrossingKind;
        readonly from: End;
        readonly to: End;
        readonly reason: RefusalReason;
        readonly bytes: number;
      }
    | {
        readonly type: 'session-end';
        readonly status: Status;
        readonly spent: Spent;
        readonly error: PublicFailure | null;
      }
    /** After a crash; for `downMs` nothing happened. */
    | { readonly type: 'run-resume'; readonly downMs: number }
    | { readonly type: 'run-cancel' }
  );

/** What a cell emits while it works; a new attempt resets the text that was streamed. */
export type LiveEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'text-reset' };

export type RunEvent =
  | DurableEvent
  | (LiveEvent & { readonly run: RunId; readonly cell: CellId; readonly agent: string });
