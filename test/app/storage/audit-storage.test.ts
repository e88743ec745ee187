// What an audit finds beside the log of a run: files that agents wrote, copies of long outputs, and the row in the list of runs.
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { expect, test } from 'vitest';
import type { ScriptLine } from '#testkit';
import { openArchive } from '../../../src/app/open-archive.ts';
import { newWorkspace, openTalk, ref, takeTurn } from '../conversations-driver.ts';

const dump = {
  name: 'dump',
  description: 'Says a lot.',
  inputSchema: { type: 'object' as const },
  repeat: 'free' as const,
  execute: async () => 'long '.repeat(20_000),
};

const write = (path: string, content: string) => ({ tool: 'write_file', args: { path, content } });

const says: readonly ScriptLine[] = [
  { when: { text: 'Write' }, times: 1, reply: { calls: [write('a.txt', 'first'), { tool: 'dump', args: {} }] } },
  { when: { text: 'again' }, times: 1, reply: { calls: [write('b/c.txt', 'second')] } },
];

const agents = { lead: { tools: ['write_file', 'read_file', dump] as const } };

/** A run that wrote a file and has a long output, in a conversation. */
const withRun = async () => {
  const workspace = newWorkspace();
  const { cloister } = await openTalk({ workspace, agents, says });
  const { run } = await takeTurn({ cloister }, 'Write.', { conversation: 'trip' });
  // Makes the copy of the output.
  await cloister.rebuild(run);
  const { cells } = await cloister.show(run);
  const folder = join(workspace, 'runs', run, cells[0]!.cell, 'outputs');
  const output = (await cloister.transcript(run)).cells.length > 0 ? 'dump_001.txt' : '';
  return { cloister, workspace, run, folder, output };
};

const problemsOf = async (cloister: Cloister, run: string) => {
  const { ok, problems } = await cloister.audit(run);
  expect(ok).toBe(problems.length === 0);
  return problems.map(({ code, message }) => `${code} ${message}`);
};

// invariants: storage-audit-derived-may-miss
test('an audit names each file that is missing, changed, foreign, a link or in a folder of no cell', async () => {
  const { cloister, workspace, run, folder, output } = await withRun();
  expect(await problemsOf(cloister, run)).toEqual([]);
  const [file, copy] = [join(folder, 'a.txt'), join(folder, output)];
  const long = readFileSync(copy);
  const missing = ['file-missing "a.txt": operation 1 wrote 5 bytes, but the file is missing'];
  const cases: readonly (readonly [damage: () => void, expected: readonly string[]])[] = [
    [() => rmSync(file), missing],
    [
      () => writeFileSync(file, 'fIrst'),
      ['file-changed "a.txt": operation 1 wrote 5 bytes, but the file has different content'],
    ],
    [() => appendFileSync(file, '!'), ['file-changed "a.txt": operation 1 wrote 5 bytes, but the file has 6']],
    [
      () => {
        renameSync(file, join(workspace, 'elsewhere'));
        symlinkSync(join(workspace, 'elsewhere'), file);
      },
      missing,
    ],
    [() => writeFileSync(join(folder, 'extra'), ''), ['file-foreign "extra": this agent did not write it']],
    [
      () => mkdirSync(join(workspace, 'runs', run, 'stranger')),
      [`file-foreign "stranger" belongs to no cell of the run`],
    ],
    [
      () => writeFileSync(copy, `x${long.subarray(1).toString()}`),
      [
        `file-changed "${output}": the copy of this output is not what its tool returned; rebuild the run: cloister rebuild`,
      ],
    ],
    [() => truncateSync(copy, 10), []],
    [() => rmSync(copy), []],
    [() => linkSync(copy, join(workspace, 'other-name')), []],
  ];
  for (const [damage, expected] of cases) {
    damage();
    expect(await problemsOf(cloister, run)).toEqual(expected);
    rmSync(folder, { recursive: true });
    rmSync(join(workspace, 'runs', run, 'stranger'), { recursive: true, force: true });
    rmSync(join(workspace, 'elsewhere'), { force: true });
    rmSync(join(workspace, 'other-name'), { force: true });
    mkdirSync(folder);
    writeFileSync(file, 'first');
    writeFileSync(copy, long);
  }
  expect(await problemsOf(cloister, run)).toEqual([]);
});

test('an audit names each column of the list of runs that does not follow from the log, until it is rebuilt', async () => {
  const { cloister, workspace, run } = await withRun();
  const columns: readonly (readonly [column: string, value: string | number | null, key: string])[] = [
    ['agent', 'other', 'agent'],
    ['goal', 'Nothing.', 'goal'],
    ['started_at', 5, 'startedAt'],
    ['ended_at', 6, 'endedAt'],
    ['status', 'failed', 'status'],
    ['cells', 2, 'cells'],
    ['caller', 'mallory', 'caller'],
    ['build', 'cloister 99', 'recordedBy'],
    ['spent', null, 'spent'],
    ['spent', '{', 'spent'],
    ['spent', '7', 'spent'],
  ];
  const change = (sql: string, ...values: (string | number | null)[]) => {
    using database = new DatabaseSync(join(workspace, 'cloister.db'));
    database.prepare(sql).run(...values, run);
  };
  const expected = (key: string) => [
    `list-differs it says otherwise than the log: ${key}; rebuild the run: cloister rebuild`,
  ];
  for (const [column, value, key] of columns) {
    change(`UPDATE runs SET ${column} = ? WHERE run = ?`, value);
    expect(await problemsOf(cloister, run)).toEqual(expected(key));
    await cloister.rebuild(run);
    expect(await problemsOf(cloister, run)).toEqual([]);
  }
  change(`UPDATE runs SET spent = json_set(spent, '$.usd', 0, '$.steps', 9) WHERE run = ?`);
  expect(await problemsOf(cloister, run)).toEqual(expected('spent.usd, spent.steps'));
});

// invariant: storage-audit-on-disk
test('later turns, branches, forks and imported runs have what their logs say; archives and memory have nothing beside', async () => {
  const { cloister, workspace, run } = await withRun();
  const later = await takeTurn({ cloister }, 'Write again.', { conversation: 'trip' });
  const fork = await cloister.fork(later.run, { at: (await cloister.show(later.run)).cells[0]!.cell + '/1' });
  await fork.outcome;
  for (const one of [run, later.run, fork.run]) expect(await problemsOf(cloister, one)).toEqual([]);
  const bytes = await cloister.storage.export(run);
  const other = await openCloister({ workspace: newWorkspace(), agents: [] });
  await other.storage.import(bytes);
  expect(await problemsOf(other, run)).toEqual([]);
  await other.close();
  const file = join(workspace, `${run}.cloister.gz`);
  writeFileSync(file, bytes);
  expect((await openArchive(file)).store.path).toBeNull();
  const inMemory = await openTalk({ store: 'memory', agents, says });
  const { run: kept } = await takeTurn(inMemory, 'Write.', { conversation: ref('trip') });
  expect(await problemsOf(inMemory.cloister, kept)).toEqual([]);
});

// invariant: storage-audit-between-equal-logs
test('an audit of a run that writes all the time raises no false alarm', async () => {
  const turns = 40;
  const { cloister } = await openTalk({
    workspace: newWorkspace(),
    agents: { lead: { tools: ['write_file'], limits: { maxToolTurns: turns + 1, max_output_files: 5 } } },
    says: [
      {
        when: {},
        times: turns,
        reply: ({ turn }) => ({ calls: [write(`f${turn % 3}`, String(turn)), write(`g${turn % 2}`, String(turn))] }),
      },
    ],
  });
  const session = cloister.run('lead', 'Go.');
  let audits = 0;
  const state = { isOver: false };
  const ended = session.outcome.finally(() => (state.isOver = true));
  while (!state.isOver) {
    expect((await cloister.audit(session.run)).problems.filter(({ code }) => /^(?:file|list)-/u.test(code))).toEqual(
      [],
    );
    audits++;
  }
  expect(await ended).toMatchObject({ status: 'completed' });
  expect(audits).toBeGreaterThan(3);
  expect(await problemsOf(cloister, session.run)).toEqual([]);
});
