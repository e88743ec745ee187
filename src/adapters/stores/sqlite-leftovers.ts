// Finds rows that belong to no run. Processes that died leave some, and they do no harm; but nobody should have to guess what they are.
import type { Leftover } from '#contracts';
import { openForReading, hasSignals } from './database.ts';
import { unpackRecord } from './packed-records.ts';
import { decodeRunRow } from './run-row.ts';
import { processOwners } from './processes.ts';

/** Reads all records, so it runs in a thread of its own. */
export const findLeftovers = (folder: string, busyTimeoutMs: number): readonly Leftover[] => {
  using database = openForReading(folder, busyTimeoutMs);
  if (database === undefined) return [];
  const withoutFrames = (table: string): string =>
    `FROM ${table} WHERE NOT EXISTS (SELECT 1 FROM frames WHERE frames.run = ${table}.run)`;
  const owners = database
    .prepare(`SELECT * ${withoutFrames('owners')} AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = owners.run)`)
    .all()
    .map(decodeRunRow)
    // A run that has just been taken has no record yet.
    .filter(({ owner }) => owner === null || !processOwners.isAlive(owner))
    .map(({ run }): Leftover => ({ kind: 'owner', name: run }));
  const signals = hasSignals(database)
    ? database.prepare(`SELECT run, count(*) AS count ${withoutFrames('signals')} GROUP BY run`).all()
    : [];
  const texts = ['frames', 'book', ...(hasSignals(database) ? ['signals'] : [])].map((table) =>
    database.prepare(`SELECT body FROM ${table}`).iterate(),
  );
  const unused = new Set(
    database
      .prepare('SELECT ref FROM blobs')
      .all()
      .map(({ ref }) => String(ref)),
  );
  for (const rows of unused.size === 0 ? [] : texts)
    for (const { body } of rows) for (const ref of findBlobRefs(body)) unused.delete(ref);
  return [
    ...owners,
    ...signals.map(({ run }): Leftover => ({ kind: 'signals', name: String(run) })),
    ...[...unused].map((name): Leftover => ({ kind: 'blob', name })),
  ];
};

/** Blobs are named by their hash, wherever a record names one. */
export const findBlobRefs = (stored: unknown): readonly string[] =>
  String(unpackRecord(stored)).match(/[0-9a-f]{64}/gu) ?? [];
