// Access to the outside world, passed in. Core has no other clock, randomness or timers.

import type { Json, JsonObject } from '#base';
import type { Model } from './model.ts';
import type { ToolSource } from './tool.ts';

/** Cancels the timer. */
export type CancelTimer = () => void;

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls back once, `ms` from now. */
  timer(ms: number, due: () => void): CancelTimer;
}

export interface Ids {
  /** 12 random lower-case hex characters. */
  random(): string;
}

/** Lists the problems of a value, each as `<path>: <problem>`. An empty list means that the value is valid. */
export type Validate = (schema: JsonObject, value: Json) => readonly string[];

/** The resources of one session besides its definition. They are created for it and shared with no other session. */
export type SessionResources = {
  readonly models: readonly Model[];
  readonly sources: readonly SourceUse[];
};

/** A tool source, and which of its tools the agent lists. Null: all of them. */
export type SourceUse = { readonly source: ToolSource; readonly only: readonly string[] | null };

/** Removes secrets by value, in every known encoding, before anything is recorded or shown. */
export type Redact = {
  text(text: string): string;
  /** Redacts every string in the value, including keys. */
  json<T extends Json>(value: T): T;
  bytes(bytes: Uint8Array): Uint8Array;
  /** For streamed text: holds back a possible beginning of a secret until it is clear whether it is one. */
  stream(): { push(piece: string): string; end(): string };
};
