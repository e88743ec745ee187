// Appends one frame to its run's chain, inside a transaction.
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { recordHash } from './chain.ts';
import type { Tail } from './chain.ts';

export type FrameTable = { insertFrame(run: RunId, no: number, body: string, hash: string): void };

/** What a transaction has appended. */
export type AppendedFrames = { readonly tails: Map<RunId, Tail>; readonly frames: Frame[] };

type NewFrame = { readonly run: RunId; readonly no: number; readonly body: string };

/** `tail`: the frame before it. */
export const appendFrame = (
  tables: FrameTable,
  { run, no, body }: NewFrame,
  tail: Tail,
  applied: AppendedFrames,
): void => {
  const hash = recordHash(tail.hash, body);
  tables.insertFrame(run, no, body, hash);
  applied.tails.set(run, { no, hash });
  applied.frames.push(JSON.parse(body) as Frame);
};
