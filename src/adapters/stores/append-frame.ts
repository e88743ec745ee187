// Appends one frame to its run's chain, inside a transaction.
import type { RunId } from '#base';
import { recordHash } from './chain.ts';
import type { Tail } from './chain.ts';
import { foldFactsInText, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';

export type FrameTable = { insertFrame(run: RunId, no: number, body: string, hash: string): void };

/** What a transaction has appended: the new ends of logs, and what their new frames say about runs. */
export type AppendedFrames = { readonly tails: Map<RunId, Tail>; readonly facts: Map<RunId, RunFacts> };

/** `json`: the body as `JSON.stringify` writes it, if it may be written otherwise. */
type NewFrame = { readonly run: RunId; readonly no: number; readonly body: string; readonly json?: string };

/** `tail`: the frame before it. */
export const appendFrame = (
  tables: FrameTable,
  { run, no, body, json = body }: NewFrame,
  tail: Tail,
  applied: AppendedFrames,
): void => {
  const hash = recordHash(tail.hash, body);
  tables.insertFrame(run, no, body, hash);
  applied.tails.set(run, { no, hash });
  applied.facts.set(run, foldFactsInText(applied.facts.get(run) ?? noFacts, json));
};
