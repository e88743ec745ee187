import { expect, test } from 'vitest';
import type { DurableEvent, ForkOptions } from '#contracts';
import { diffOf, replayOf } from './checks.ts';
import { childId, cli, emulate, eventsOf, forkId, leadId, reportOf, runId, scene, summaryOf } from './driver.ts';

test('an identical replay is reported with both hashes and the answer', async () => {
  const { code, stdout, opened } = await cli(['replay', 'last']);
  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      `Replay of ${runId}: 17 of 17 records identical · ok`,
      `recorded  ${'ab'.repeat(32)}`,
      `replayed  ${'ab'.repeat(32)}`,
      'status    completed',
      '',
      'Answer:',
      'SQLite for rows,',
      'DuckDB for columns.',
      '',
    ].join('\n'),
  );
  expect(opened[1]).toEqual({ workspace: './.cloister', agents: [], ofRun: runId, offline: true });
});

test('a replay that differs names record, cell, agent, operation and difference, and exits 1', async () => {
  const broken = scene({ auditOk: false });
  const { code, stdout } = await cli(['replay', '4f', '--agents', 'a.ai'], broken);
  expect(code).toBe(1);
  expect(stdout).toContain('15 of 17 records identical · 2 differences\n');
  expect(stdout).toContain(`  ${leadId}/3 (lead), record 12\n    its model would be shown a different prompt\n`);
  expect(stdout).toContain(`  ${childId} (researcher), not in the log\n    it would continue with search\n`);
  expect((await cli(['replay', '4f', '--json'], broken)).code).toBe(1);
});

test('replay, diff and verify print their whole report as JSON', async () => {
  const broken = scene({ auditOk: false, refused: true });
  expect(JSON.parse((await cli(['replay', 'last', '--json'], broken)).stdout)).toEqual(replayOf(broken));
  const { code, stdout } = await cli(['diff', 'last', 'last', '--json'], broken);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual(diffOf(broken));
});

const forked = async (...args: readonly string[]) => {
  const asked: { run: string; options: ForkOptions }[] = [];
  const told = await cli(['fork', 'last', ...args], scene(), {
    behaviour: { onFork: (run, options) => asked.push({ run, options }) },
  });
  return { ...told, asked };
};

test('fork passes on the full place and the changes', async () => {
  const changes = ['--model', 'a/b', '--without-grant', 'result', '--without-grant', 'note', '--goal', 'Do less.'];
  const { asked, opened } = await forked('--at', 'researcher', ...changes);
  expect(asked).toEqual([
    { run: runId, options: { at: childId, model: 'a/b', withoutGrants: ['result', 'note'], goal: 'Do less.' } },
  ]);
  expect(opened[1]).toEqual({ workspace: './.cloister', agents: [], ofRun: runId });
  expect((await forked('--at', 'lead')).asked).toEqual([{ run: runId, options: { at: leadId } }]);
});

test.each([
  ['lead/2', `${leadId}/2`],
  ['lead-ab/1', `${leadId}/1`],
  [`${childId}/2`, `${childId}/2`],
  ['res/1', `${childId}/1`],
  // The operation has no event, but the cell continued after it: the runtime knows it.
  ['lead/50', `${leadId}/50`],
])('--at %s is %s', async (at, full) => {
  expect((await forked('--at', at)).asked[0]?.options.at).toBe(full);
});

test('fork is shown like a run and ends with the command that compares the two', async () => {
  const { code, stdout, stderr } = await forked('--at', 'lead/2');
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'SQLite for rows,\nDuckDB for columns.\n' });
  expect(stderr).toContain('lead  → researcher  started');
  expect(stderr).toContain(`Next steps:\n  npx cloister diff ${runId} ${forkId}\n`);
  const json = JSON.parse((await forked('--at', 'lead/2', '--json')).stdout) as object;
  expect(json).toMatchObject({ run: forkId, status: 'completed', forkOf: { run: runId, at: `${leadId}/2` } });
});

const wrongPlaces: readonly (readonly [at: string, code: number, says: RegExp])[] = [
  ['lead/91', 1, new RegExp(`^error: .*${leadId} has no operation 91; it has:\n {2}${leadId}/1 turn 1: model`, 'u')],
  ['nobody/1', 1, new RegExp(`no such cell in that run. The run has: ${leadId}, ${childId}`, 'u')],
  ['lead/x', 4, /--at "lead\/x" is not a valid place\ntry: use <cell>\/<operation>/u],
  ['lead/1/2', 4, /is not a valid place/u],
  ['/1', 4, /is not a valid place/u],
  ['', 4, /is not a valid place/u],
];

test.each(wrongPlaces)('--at %j is refused before any agent is loaded', async (at, code, says) => {
  const told = await forked('--at', at);
  expect(told).toMatchObject({ code, stdout: '', asked: [] });
  expect(told.opened).toHaveLength(1);
  expect(told.stderr).toMatch(says);
});

test('a prefix of two cell ids is ambiguous', async () => {
  const { code, stderr } = await cli(['fork', 'last', '--at', 'res/1'], scene({ children: 2 }));
  expect(code).toBe(4);
  expect(stderr).toContain('more than one cell starts with "res"');
});

test('show --verbose lists every operation in the form --at takes, and so does each trail of explain', async () => {
  const { stdout } = await cli(['show', 'last', '--verbose']);
  const listed = stdout.slice(stdout.indexOf('Operations'), stdout.indexOf('Events:'));
  const places = [...listed.matchAll(/^(\S+\/\d+) {1,}(\S+)/gmu)].map(([, place, word]) => [place, word]);
  expect(places).toEqual([
    [`${leadId}/1`, 'turn'],
    [`${leadId}/2`, 'agent'],
    [`${childId}/1`, 'turn'],
    [`${childId}/2`, 'tool'],
    [`${leadId}/90`, 'wait'],
  ]);
  for (const [place] of places) expect((await forked('--at', place!)).asked[0]?.options.at).toBe(place);
  expect(emulate(listed, 80).wrapped).toBe(false);
});

test('the lines of a fork say what it keeps and what it changes', async () => {
  const start = eventsOf(scene())[0]!;
  const event: DurableEvent = {
    ...start,
    type: 'run-fork',
    id: `${leadId}/1`,
    from: { run: runId, frames: 12, hash: start.id as never, at: `${leadId}/3`, forkedAt: start.at },
    amendment: { agent: 'lead', model: 'a/b', withoutGrants: ['result'] },
  };
  const report = { ...reportOf(scene()), events: [start, event] };
  const { stdout } = await cli(['show', 'last', '--verbose'], scene(), { behaviour: { report } });
  expect(stdout).toContain(
    `lead  keeps 12 records of run ${runId}, up to ${leadId}/3: lead with model a/b, without the grant result`,
  );
});

test('the line of a run that continues from a checkpoint says what it keeps', async () => {
  const start = eventsOf(scene())[0]!;
  const event: DurableEvent = {
    ...start,
    type: 'run-fork',
    id: `${leadId}/1`,
    from: { run: runId, frames: 1, hash: start.id as never, at: leadId, forkedAt: start.at },
    amendment: { agent: 'lead' },
  };
  const report = { ...reportOf(scene()), events: [start, event] };
  const { stdout } = await cli(['show', 'last', '--verbose'], scene(), { behaviour: { report } });
  expect(stdout).toContain(`lead  keeps 1 record of run ${runId} and continues from there\n`);
});

const twoRuns = { behaviour: { runs: [summaryOf(scene(), { run: forkId }), summaryOf(scene())] } };

test('diff shows for each cell the first operation that differs, what each run did there, and all other differences', async () => {
  const { code, stdout, opened } = await cli(['diff', '4f2', 'last'], scene({ refused: true }), twoRuns);
  expect(code).toBe(1);
  expect(opened).toEqual([{ workspace: './.cloister', agents: [] }]);
  expect(stdout.split('\n')).toEqual([
    `− run ${runId}`,
    `+ run ${forkId}`,
    `  ${forkId} is a fork of ${runId} at ${leadId}/3:`,
    '  lead with model rehearsal, without the grant result, with the goal "Compare',
    '  SQLite and DuckDB"',
    '3 of 4 cells differ · 12 records identical from the start',
    '',
    '≠ lead',
    '    differs from operation 3 on',
    '      − model rehearsal: SQLite for rows, DuckDB for columns.',
    '      + agent researcher: Compare SQLite and DuckDB',
    '    status    completed → partial',
    '    output',
    String.raw`      − SQLite for «rows»,\nDuckDB for columns.`,
    String.raw`      + SQLite for «almost everything»,\nDuckDB for columns.`,
    '    models    rehearsal → other/rehearsal',
    '    spent     12,345 in, 678 out, $0.0123 → 99 in, 678 out, $0.0123',
    '    crossings',
    '      − result from researcher',
    '      − note from x',
    '      + result from researcher refused: no-grant',
    '= lead › researcher #1  completed',
    '− lead › researcher #2',
    '    only in this run: completed, 12,345 in, 678 out, $0.0123; goal from lead,',
    '    result to lead',
    '+ lead › researcher #3',
    '    only in this run: unfinished, 12,345 in, 678 out, $0.0123; goal from lead,',
    '    result to lead',
    '',
  ]);
});

test('diff of identical runs exits 0', async () => {
  const { code, stdout } = await cli(['diff', 'last', '4f2'], scene(), twoRuns);
  expect(code).toBe(0);
  expect(stdout).toBe(
    `− run ${runId}\n+ run ${forkId}\nno differences · 17 records identical from the start\n\n= lead  completed\n`,
  );
});

test('an unknown run on either side of a diff is reported', async () => {
  for (const names of [
    ['zz', 'last'],
    ['last', 'zz'],
  ])
    expect(await cli(['diff', ...names])).toMatchObject({ code: 1, stderr: expect.stringContaining('no such run') });
});
