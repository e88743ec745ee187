// What the audit releases changes no report: whatever stands in a log, it reports the same as with everything in memory.
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assert, asyncProperty, integer, nat } from 'fast-check';
import { expect, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { auditRun } from '#core/audit';
import { auditInMemory } from '#testing/core/audit';
import { testRuns } from '../../test-seed.ts';
import { writeLongLog } from '../../../bench/long-log.ts';
import { scratchFolder } from '../../scratch-folder.ts';

const longRun = async (): Promise<readonly Frame[]> => {
  const folder = await mkdtemp(join(scratchFolder(), 'cloister-long-log-'));
  try {
    const run = await writeLongLog(folder, 700);
    const store = await openSqliteStore(folder);
    const found = await store.read(run as RunId);
    await store.close();
    return found;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const frames = await longRun();
const sources = { readBlob: async () => new Uint8Array(), damaged: [] };

const expectSame = async (log: readonly Frame[]): Promise<void> => {
  expect(await auditRun(log, sources)).toEqual(await auditInMemory(log, sources));
};

// invariants: audit-of-living-cells, audit-release-in-view
test('a long correct log has no problem, and is read once', async () => {
  let read = 0;
  const counted = {
    *[Symbol.iterator]() {
      read++;
      yield* frames;
    },
  };
  expect(await auditRun(counted, sources)).toMatchObject({ ok: true, problems: [] });
  expect(read).toBe(1);
  await expectSame(frames);
});

test('a log that ends anywhere gives the same report', () =>
  assert(
    asyncProperty(nat(frames.length), (end) => expectSame(frames.slice(0, end))),
    { numRuns: testRuns(10) },
  ));

// invariant: audit-release-unseen
test('a frame that is missing, comes twice or comes late gives the same report', () =>
  assert(
    asyncProperty(nat(frames.length - 1), integer({ min: -1, max: 60 }), (no, later) => {
      const [before, frame, after] = [frames.slice(0, no), frames[no]!, frames.slice(no + 1)];
      if (later < 0) return expectSame([...before, ...after]);
      return expectSame([
        ...before,
        ...(later % 2 === 0 ? [frame] : []),
        ...after.slice(0, later),
        frame,
        ...after.slice(later),
      ]);
    }),
    { numRuns: testRuns(20) },
  ));

/** Numbers that name operations, entries, segments and places. */
const names = /"(?:op|no|seq|id|part|ask|crossing)":(?<value>\d+)/gu;

// invariant: releasing-map-never-guesses
test('a frame that names something older gives the same report', () =>
  assert(
    asyncProperty(nat(frames.length - 1), nat(20), integer({ min: 1, max: 40 }), (no, place, back) => {
      let nth = 0;
      const body = JSON.stringify(frames[no]).replaceAll(names, (text: string, value: string) =>
        nth++ === place ? text.replace(value, String(Math.max(0, Number(value) - back))) : text,
      );
      return expectSame(frames.with(no, JSON.parse(body) as Frame));
    }),
    { numRuns: testRuns(40) },
  ));
