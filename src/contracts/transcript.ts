// The transcript of a run, for people: what each model was shown, what it said, and what its calls returned.
import type { CellId, RunId } from '#base';
import type { EventError, LongOutput, SaidPart, ShownPart } from './event.ts';
import type { Status } from './session.ts';

/** What each model of a run was shown, what it said, and what its calls returned. */
export type Transcript = {
  readonly run: RunId;
  /** In order of creation. */
  readonly cells: readonly TranscriptCell[];
};

/** The same for one cell. */
export type TranscriptCell = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  readonly goal: string;
  readonly startedAt: number;
  /** Null while it runs, or if it was interrupted. */
  readonly endedAt: number | null;
  /** Its working time, as in `spent.ms`; null until it has ended. */
  readonly ms: number | null;
  readonly status: Status | null;
  readonly error: EventError | null;
  /** Its answer. */
  readonly output: string;
  /** In order. A request that was retried is an entry of its own. */
  readonly entries: readonly TranscriptEntry[];
};

/** One request to a model, its reply, and what the calls in the reply returned. */
export type TranscriptEntry = {
  readonly at: number;
  readonly turn: number;
  /** Counts the requests of the turn, from 1. Above 1, it is a retry. */
  readonly attempt: number;
  readonly op: number;
  readonly model: string;
  /** Only what is new since the request before; with `full`, the whole prompt. */
  readonly shown: readonly ShownPart[];
  /** How many parts of the request before are gone. */
  readonly removed: number;
  readonly said: readonly SaidPart[];
  /** Null while it works, or if it was interrupted. */
  readonly ms: number | null;
  /** Why there is no reply. */
  readonly error: EventError | null;
  /** In the order in which the calls were started. */
  readonly results: readonly TranscriptResult[];
};

/** What one call returned. */
export type TranscriptResult = {
  readonly op: number;
  readonly tool: string;
  /** For a call of an agent: its cell. */
  readonly child?: CellId;
  readonly args: string;
  /** Null while it works, if it failed, or if the call did not wait for it. */
  readonly result: string | null;
  readonly output?: LongOutput;
  readonly error: EventError | null;
  readonly ms: number | null;
};

/** Which part of a transcript to read. */
export type TranscriptOptions = {
  /** Only this cell. */
  readonly cell?: string;
  /** The whole prompt of each request, and long outputs whole. */
  readonly full?: boolean;
};
