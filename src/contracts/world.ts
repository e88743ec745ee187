// Access to the outside world, passed in. Core has no other clock, randomness or timers.

import type { CellId, Json, JsonObject } from '#base';
import type { CellStalls } from './frame.ts';
import type { Model } from './model.ts';
import type { NamedSource } from './tool.ts';

/** Cancels the timer. */
export type CancelTimer = () => void;

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls back once, `ms` from now. */
  timer(ms: number, due: () => void): CancelTimer;
}

/**
 * Measures how long the cells of a run keep the event loop to themselves. Nothing that is replayed, or that a cell sees, may
 * depend on it.
 */
export interface StallMeter {
  /** The time up to now belongs to no cell of the run. */
  start(): void;
  /** What has run since the last call of `start` or `end`, for any run, was this cell's work. */
  end(cell: CellId): void;
  /** A step of this cell is at work until `stepEnded`. `isTool`: it runs code that the runtime sees only start and end. */
  stepStarted(cell: CellId, isTool: boolean): void;
  stepEnded(isTool: boolean): void;
  /** The stalls since the last call. */
  take(): readonly CellStalls[] | undefined;
}

export interface Ids {
  /** 12 random lower-case hex characters. */
  random(): string;
}

/**
 * Lists the problems of a value, each as `<path>: <problem>`. An empty list means that the value is valid. The work is
 * limited by a number of steps, never by time: a value that is too costly to check is refused, the same way every time.
 */
export type Validate = (schema: JsonObject, value: Json, shared?: CheckSteps) => readonly string[];

/** The steps that several checks share, such as those of one turn. Each check takes what it used. */
export type CheckSteps = { left: number };

/** The resources of one session besides its definition. They are created for it and shared with no other session. */
export type SessionResources = {
  readonly models: readonly Model[];
  readonly sources: readonly SourceUse[];
};

/** A tool source, and which of its tools the agent lists. Null: all of them. */
export type SourceUse = { readonly source: NamedSource; readonly only: readonly string[] | null };

/** Removes secrets by value, in every known encoding, before anything is recorded or shown. */
export type Redact = {
  text(text: string): string;
  /** Redacts every string in the value, including keys. */
  json<T extends Json>(value: T): T;
  bytes(bytes: Uint8Array): Uint8Array;
  /** For streamed text: holds back a possible beginning of a secret until it is clear whether it is one. */
  stream(): { push(piece: string): string; end(): string };
};
