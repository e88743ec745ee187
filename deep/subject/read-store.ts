// Reads a workspace's database with plain queries, bypassing Cloister's own readers.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { unpackRecord } from '#testing/adapters/stores';
import { aboutFrame, shaOf } from './witness.ts';
import type { FrameAbout } from './witness.ts';

export type StoredFrame = { readonly no: number; readonly sha: string; readonly about: FrameAbout };

export type StoredRun = { readonly run: string; readonly frames: readonly StoredFrame[] };

export type Stored = {
  readonly runs: readonly StoredRun[];
  /** Stored large values whose bytes match their names. */
  readonly blobs: readonly string[];
};

export const nothingStored: Stored = { runs: [], blobs: [] };

/** Write access is needed where a crash interrupted the creation of the database. */
export const readStore = (workspace: string, { readOnly }: { readonly readOnly: boolean }): Stored => {
  const path = join(workspace, 'cloister.db');
  if (!existsSync(path)) return nothingStored;
  using database = new DatabaseSync(path, { readOnly });
  if (database.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'frames'`).get() === undefined) return nothingStored;
  const rows = database.prepare('SELECT run, no, body FROM frames ORDER BY run, no').all();
  const runs = Map.groupBy(rows, ({ run }) => String(run));
  const blobs = database.prepare('SELECT ref, bytes FROM blobs').all();
  return {
    runs: [...runs].map(([run, frames]) => ({ run, frames: frames.map(storedFrame) })),
    blobs: blobs.flatMap(({ ref, bytes }) => (shaOf(bytes as Uint8Array) === ref ? [ref] : [])),
  };
};

const storedFrame = ({ no, body }: Readonly<Record<string, unknown>>): StoredFrame => {
  const text = String(unpackRecord(body));
  return { no: Number(no), sha: shaOf(text), about: aboutFrame(JSON.parse(text)) };
};
