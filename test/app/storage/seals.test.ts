// A seal outside the workspace finds what the workspace itself cannot show.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openCloister } from 'cloister';
import { expect, test } from 'vitest';
import { makeOperatorKey } from '#app/storage';
import { noTail, recordHash, unpackRecord } from '#testing/adapters/stores';
import { newWorkspace, openTalk, takeTurn } from '../conversations-driver.ts';

const { secret, publicKey } = makeOperatorKey();

/** Three runs, sealed, with the workspace closed; then changed by somebody who can write to all of it. */
const sealed = async (change: (database: DatabaseSync, runs: readonly string[]) => void) => {
  const workspace = newWorkspace();
  const env = { CLOISTER_KEY: secret };
  const { cloister } = await openTalk({ workspace, env });
  const runs: string[] = [];
  for (const text of ['One.', 'Two.', 'Three.'])
    runs.push((await takeTurn({ cloister }, text, { conversation: text })).run);
  const first = await cloister.storage.seal('');
  runs.push((await takeTurn({ cloister }, 'Four.', { conversation: 'Four.' })).run);
  const file = first + (await cloister.storage.seal(first));
  expect(await cloister.storage.checkSeals(file)).toMatchObject({ ok: true, seals: 2, runs: 4, keys: [publicKey] });
  await cloister.close();
  const database = new DatabaseSync(join(workspace, 'cloister.db'));
  change(database, runs);
  database.close();
  const later = await openCloister({ workspace, agents: [], env });
  const report = await later.storage.checkSeals(file);
  return { later, file, runs, report };
};

/** With hashes that fit, in the log and in the list. */
const rewrite = (
  database: DatabaseSync,
  run: string,
  change: (bodies: readonly string[]) => readonly string[],
): void => {
  const rows = database.prepare('SELECT body FROM frames WHERE run = ? ORDER BY no').all(run);
  database.prepare('DELETE FROM frames WHERE run = ?').run(run);
  let head = noTail.hash;
  const bodies = change(rows.map(({ body }) => String(unpackRecord(body))));
  for (const [no, body] of bodies.entries()) {
    head = recordHash(head, body);
    database.prepare('INSERT INTO frames(run, no, body, hash) VALUES (?, ?, ?, ?)').run(run, no, body, head);
  }
  database.prepare('UPDATE runs SET frames = ?, head = ? WHERE run = ?').run(bodies.length, head, run);
};

// invariant: seal-outside
test('a log that was rewritten with all its hashes is found', async () => {
  const { later, report, runs } = await sealed((database, [run = '']) =>
    rewrite(database, run, (bodies) => bodies.map((body) => body.replaceAll('One.', 'Won.'))),
  );
  expect(report.problems).toEqual([{ where: `run ${runs[0]}`, message: 'its records were rewritten' }]);
  await later.close();
});

test('a log that was cut together with its head, and one that was removed without a tombstone, are found', async () => {
  const { later, report, runs } = await sealed((database, [, cut = '', gone = '']) => {
    rewrite(database, cut, (bodies) => bodies.slice(0, -2));
    for (const table of ['frames', 'runs']) database.prepare(`DELETE FROM ${table} WHERE run = ?`).run(gone);
  });
  const messages = new Map(report.problems.map(({ where, message }) => [where, message]));
  expect([...messages.keys()].toSorted()).toEqual([`run ${runs[1]}`, `run ${runs[2]}`].toSorted());
  expect(messages.get(`run ${runs[1]}`)).toMatch(/^it had \d+ records, and has \d+ now$/u);
  expect(messages.get(`run ${runs[2]}`)).toContain('no tombstone');
  await later.close();
});

// invariant: seal-outside
test('a log that was rewritten or cut is found by the seals before that, although newer ones fit it', async () => {
  const { later, file, runs } = await sealed((database, [rewritten = '', cut = '']) => {
    rewrite(database, rewritten, (bodies) => bodies.map((body) => body.replaceAll('One.', 'Won.')));
    rewrite(database, cut, (bodies) => bodies.slice(0, -2));
  });
  const again = file + (await later.storage.seal(file));
  const { problems } = await later.storage.checkSeals(again);
  expect(problems.map(({ where }) => where).toSorted()).toEqual([`run ${runs[0]}`, `run ${runs[1]}`].toSorted());
  // Nor does a tombstone of what it became.
  await later.storage.delete({ runs: [runs[0]!] });
  expect((await later.storage.checkSeals(again)).problems).toContainEqual({
    where: `run ${runs[0]}`,
    message: 'its tombstone is about another log',
  });
  await later.close();
});

test('a seal that a crash has cut short is passed over, and the next one has a line of its own', async () => {
  const { later, file } = await sealed(() => undefined);
  const [first = '', second = ''] = file.split('\n');
  const torn = `${file}${second.slice(0, -40)}`;
  const mended = torn + (await later.storage.seal(torn));
  expect(mended.split('\n')).toHaveLength(5);
  for (const one of [torn, mended, `${file}{"for`])
    expect(await later.storage.checkSeals(one)).toMatchObject({ ok: true, seals: one === mended ? 3 : 2 });
  // One that was whole is missed.
  const { problems } = await later.storage.checkSeals(`${first.slice(0, -40)}\n${second}\n`);
  expect(problems).toEqual([{ where: 'seal 1', message: 'the seal before it is missing or was changed' }]);
  await later.close();
});

// invariant: seal-appended
test('a signed deletion fits the seals; a file of seals that was changed does not', async () => {
  const { later, file, runs, report } = await sealed(() => undefined);
  expect(report.ok).toBe(true);
  await later.storage.delete({ runs: [runs[0]!] });
  expect(await later.storage.checkSeals(file)).toMatchObject({ ok: true });
  const [first = '', second = ''] = file.split('\n');
  const { problems } = await later.storage.checkSeals(`${first.replace(runs[1]!, runs[0]!)}\n${second}\n`);
  expect(problems.map(({ where }) => where)).toEqual(expect.arrayContaining(['seal 1', 'seal 2']));
  expect((await later.storage.checkSeals(file, { key: makeOperatorKey().publicKey })).problems).toHaveLength(3);
  await expect(later.storage.checkSeals('{}\n')).rejects.toMatchObject({ code: 'options_invalid' });
  await later.close();
});
