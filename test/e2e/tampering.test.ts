import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import { unpackRecord } from '#testing/adapters/stores';
import { cloisterJson, cloister, readWithCloister, newFolder, nodeNoise, team, value } from './driver.ts';

const original = newFolder();
let run = '';

const open = (workspace: string): DatabaseSync => {
  const database = new DatabaseSync(join(workspace, 'cloister.db'));
  database.function('unpacked', (stored) => unpackRecord(stored) as string);
  return database;
};

beforeAll(async () => {
  run = (await cloisterJson(['run', 'lead', 'one two three', '--agents', team, '--workspace', original])).run;
});

/** What `audit` reports for a copy that was modified directly. */
const auditAfter = async (sql: string) => {
  const workspace = newFolder();
  cpSync(original, workspace, { recursive: true });
  {
    using database = open(workspace);
    expect(database.prepare(sql).run().changes).toBeGreaterThan(0);
  }
  const args = ['audit', run, '--workspace', workspace];
  const [plain, json] = await Promise.all([readWithCloister(args), readWithCloister([...args, '--json'])]);
  return { plain, json, report: value(json) };
};

const changes: readonly (readonly [what: string, sql: string, where: RegExp])[] = [
  ['one byte of a goal', `UPDATE frames SET body = replace(unpacked(body), 'Count the', 'Count tha')`, /frame \d+ /u],
  [
    'one byte of an answer',
    `UPDATE frames SET body = replace(unpacked(body), 'hree words', 'hrea words')`,
    /frame \d+ /u,
  ],
  [
    'one byte of the system prompt',
    `UPDATE frames SET body = replace(unpacked(body), 'Be lead', 'Be mead')`,
    /frame 0 /u,
  ],
  ['a byte that makes it invalid JSON', `UPDATE frames SET body = substr(unpacked(body), 2) WHERE no = 2`, /frame 2 /u],
  ['a byte of a packed record', `UPDATE frames SET body = substr(body, 1, 40) || x'00' WHERE no = 1`, /frame 1 /u],
  ['a packed record in half', `UPDATE frames SET body = substr(body, 1, 40) WHERE no = 1`, /frame 1 /u],
  ['a hash', `UPDATE frames SET hash = 'f' || substr(hash, 2) || 'f' WHERE no = 3`, /frame [34] /u],
  ['the last hash', `UPDATE frames SET hash = 'f' || hash WHERE no = (SELECT max(no) FROM frames)`, /frame \d+ /u],
  ['a missing frame', `DELETE FROM frames WHERE no = 4`, /frame 4 .*missing/u],
  ['a missing first frame', `DELETE FROM frames WHERE no = 0`, /frame 0 .*missing/u],
  ['a missing last frame', `DELETE FROM frames WHERE no = (SELECT max(no) FROM frames)`, /frame \d+ .*missing/u],
  ['all frames missing', `DELETE FROM frames`, /frames 0 to \d+ .*missing/u],
  ['a moved frame', `UPDATE frames SET no = no + 1000 WHERE no = 4`, /frame 4 .*missing/u],
];

describe.concurrent('audit finds and names', () => {
  test.each(changes)('%s', async (_what, sql, where) => {
    const found = await auditAfter(sql);
    expect([found.plain.code, found.json.code]).toEqual([1, 1]);
    expect(found.report.ok).toBe(false);
    expect(found.report.problems[0]).toMatchObject({ code: 'record-damaged', where: expect.stringMatching(where) });
    expect(found.plain.stdout).toMatch(where);
    expect(found.plain.stdout).toMatch(/· \d+ problems?$/mu);
    expect(found.plain.stderr).not.toMatch(nodeNoise);
  });
});

test('an unchanged run is ok', async () => {
  expect(await cloisterJson(['audit', run, '--workspace', original])).toMatchObject({ ok: true, problems: [] });
});

test('a changed run is not shown as if it were intact', async () => {
  const workspace = newFolder();
  cpSync(original, workspace, { recursive: true });
  {
    using database = open(workspace);
    database.exec(`UPDATE frames SET body = replace(unpacked(body), 'hree words', 'hrea words')`);
  }
  const shown = await cloister(['show', run, '--workspace', workspace]);
  expect(shown).toMatchObject({ code: 1, stdout: '' });
  expect(shown.stderr).toMatch(/frame \d+ of run \w+ is damaged[^]*cloister audit/u);
});
