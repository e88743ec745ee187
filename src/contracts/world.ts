// The world, handed in. Core has no other clock, randomness or timers.

import type { Json, JsonObject } from '#base';
import type { Model } from './model.ts';
import type { ToolSource } from './tool.ts';

/** Cancels what it was given for. */
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

/** Says what is wrong with a value, each as `<path>: <what>`; an empty list means it fits. */
export type Validate = (schema: JsonObject, value: Json) => readonly string[];

/** What one session works with besides its definition: made for it, shared with no other. */
export type SessionResources = {
  readonly models: readonly Model[];
  readonly sources: readonly SourceUse[];
};

/** A source, and which of its tools the agent names; null: all of them. */
export type SourceUse = { readonly source: ToolSource; readonly only: readonly string[] | null };

/** Takes secrets out by their values, in every form they are known to take, before anything is recorded or shown. */
export type Redact = {
  text(text: string): string;
  /** Every string of it, keys too. */
  json<T extends Json>(value: T): T;
  bytes(bytes: Uint8Array): Uint8Array;
  /** For text that comes in pieces: what may be the beginning of a secret is held back until it is known. */
  stream(): { push(piece: string): string; end(): string };
};
