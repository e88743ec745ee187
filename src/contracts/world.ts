// The world, handed in. Core has no other clock, randomness or timers.

import type { Json, JsonObject } from '#base';
/** Cancels what it was given for. */
export type Stop = () => void;

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls back once, `ms` from now. */
  timer(ms: number, due: () => void): Stop;
}

export interface Ids {
  /** 12 random lower-case hex characters. */
  random(): string;
}

/** Says what is wrong with a value, each as `<path>: <what>`; an empty list means it fits. */
export type Validate = (schema: JsonObject, value: Json) => readonly string[];
