// What fills a cell's window.
import type { CellId } from '#base';
import type { Category, WindowLimit } from './segment.ts';

/** What one cell's model was shown in its newest request, and how its window changed up to then. */
export type CellWindow = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  /** Of the newest request; null if there was none. */
  readonly model: string | null;
  /** How large it may be, and what decides that; null if there was no request. */
  readonly limit: WindowLimit | null;
  /** The whole prompt. */
  readonly total: WindowPart;
  /** The same by category: SYSTEM, CONTEXT, DIALOG, TOOLS. */
  readonly categories: Readonly<Record<Category, WindowPart>>;
  /** In order. */
  readonly happened: readonly WindowChange[];
};

/** `tokens` is an estimate based on the newest reported usage. */
export type WindowPart = { readonly messages: number; readonly bytes: number; readonly tokens: number };

/** One change of a window: what was reduced to make room, and when. */
export type WindowChange = {
  readonly at: number;
  readonly op: number;
  readonly turn: number;
} & (
  | {
      readonly what: 'compacted' | 'shortened' | 'dropped';
      readonly messages: number;
      readonly bytesBefore: number;
      readonly bytesAfter: number;
    }
  /** The window is smaller than before or, in the first request, than the caller's. `was`: that size in tokens; null: limited by its group. */
  | { readonly what: 'clamped'; readonly window: WindowLimit; readonly was: number | null }
  /** A tool output was too long to show whole. */
  | { readonly what: 'offloaded'; readonly tool: string; readonly output: string; readonly bytes: number }
);
