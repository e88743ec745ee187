// What one batch does to the tables, inside the transaction of the caller.
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { noTail, recordHash } from './chain.ts';
import type { Tail } from './chain.ts';
import type { Ack, Item } from './messages.ts';
import { lives, ownerInWords } from './owners.ts';
import type { Owner } from './owners.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';

export type Applied = {
  readonly tails: Map<RunId, Tail>;
  readonly frames: Frame[];
  readonly released: RunId[];
  readonly refused: Ack['refused'][number][];
  readonly broken: Ack['broken'][number][];
};

export type Statements = ReturnType<typeof prepareStatements>;

export const prepareStatements = (database: DatabaseSync) => ({
  frame: database.prepare('INSERT INTO frames(run, no, body, hash) VALUES (?, ?, ?, ?)'),
  tail: database.prepare('SELECT no, hash FROM frames WHERE run = ? ORDER BY no DESC LIMIT 1'),
  bodies: database.prepare('SELECT body FROM frames WHERE run = ? AND no < ? ORDER BY no'),
  // Kept once; a kept blob that was damaged is healed.
  blob: database.prepare(
    `INSERT INTO blobs(ref, bytes) VALUES (?, ?)
     ON CONFLICT (ref) DO UPDATE SET bytes = excluded.bytes WHERE bytes IS NOT excluded.bytes`,
  ),
  owner: database.prepare('SELECT pid, host, started, since, instance FROM owners WHERE run = ?'),
  own: database.prepare(
    'INSERT OR REPLACE INTO owners(run, pid, host, started, since, instance) VALUES (?, ?, ?, ?, ?, ?)',
  ),
  release: database.prepare('DELETE FROM owners WHERE run = ? AND instance = ?'),
  releaseAll: database.prepare('DELETE FROM owners WHERE instance = ?'),
  run: database.prepare(
    `INSERT INTO runs(run, agent, goal, started_at, ended_at, status, cells, frames, head) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (run) DO UPDATE SET ended_at = coalesce(excluded.ended_at, ended_at),
       status = coalesce(excluded.status, status), cells = cells + excluded.cells,
       frames = excluded.frames, head = excluded.head`,
  ),
});

/** `tails` are the ends of the runs as last committed; what is not there is looked up. */
export const applyItems = (
  statements: Statements,
  items: readonly Item[],
  known: { readonly tails: ReadonlyMap<RunId, Tail>; readonly self: Owner & { readonly instance: string } },
): Applied => {
  const applied: Applied = { tails: new Map(), frames: [], released: [], refused: [], broken: [] };
  const broken = new Set<RunId>();
  for (const item of items) {
    switch (item.do) {
      case 'own':
        ownRun(statements, item.run, known.self, applied);
        break;
      case 'frame': {
        if (broken.has(item.run)) break;
        const tail = applied.tails.get(item.run) ?? known.tails.get(item.run) ?? tailOf(statements, item.run);
        if (item.no === tail.no + 1) appendFrame(statements, item, tail, applied);
        else {
          broken.add(item.run);
          const detail = `Frame ${item.no} of run ${item.run} does not follow frame ${tail.no}, the last one kept.`;
          applied.broken.push({ run: item.run, detail });
        }
        break;
      }
      case 'blob':
        statements.blob.run(item.ref, item.bytes);
        break;
      case 'release':
        statements.release.run(item.run, known.self.instance);
        applied.released.push(item.run);
        break;
    }
  }
  updateRuns(statements, applied);
  return applied;
};

const ownRun = (
  statements: Statements,
  run: RunId,
  self: Owner & { readonly instance: string },
  applied: Applied,
): void => {
  const owner = statements.owner.get(run) as (Owner & { readonly instance: string }) | undefined;
  // A row of this very store is left over from a release that failed: the caller knows it does not own the run.
  if (owner !== undefined && owner.instance !== self.instance && lives(owner)) {
    applied.refused.push({ run, owner: ownerInWords(owner) });
    return;
  }
  statements.own.run(run, self.pid, self.host, self.started, self.since, self.instance);
};

const tailOf = (statements: Statements, run: RunId): Tail => (statements.tail.get(run) as Tail | undefined) ?? noTail;

const appendFrame = (
  statements: Statements,
  item: Extract<Item, { do: 'frame' }>,
  tail: Tail,
  applied: Applied,
): void => {
  const hash = recordHash(tail.hash, item.body);
  statements.frame.run(item.run, item.no, item.body, hash);
  applied.tails.set(item.run, { no: item.no, hash });
  applied.frames.push(JSON.parse(item.body) as Frame);
};

const updateRuns = (statements: Statements, applied: Applied): void => {
  const facts = new Map<RunId, RunFacts>();
  for (const frame of applied.frames) facts.set(frame.run, foldFacts(facts.get(frame.run) ?? noFacts, frame));
  for (const [run, { agent, goal, startedAt, endedAt, status, cells }] of facts) {
    const tail = applied.tails.get(run) ?? noTail;
    statements.run.run(run, agent, goal, startedAt, endedAt, status, cells, tail.no + 1, tail.hash);
  }
};
