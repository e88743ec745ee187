import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import {
  childId,
  cli,
  downMs,
  emulate,
  interruptedReport,
  interruptedSummary,
  leadId,
  runId,
  scene,
  settle,
  startCli,
  summaryOf,
} from './driver.ts';
import type { Behaviour } from './driver.ts';

const interrupted: Behaviour = { runs: [interruptedSummary(scene())] };
const resume = (more: readonly string[] = [], behaviour: Behaviour = {}) =>
  cli(['resume', 'last', ...more], scene(), { behaviour: { ...interrupted, ...behaviour } });

test('resume shows what happened before, that the run was resumed, and the rest; stdout gets only the answer', async () => {
  const { code, stdout, stderr } = await resume();
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'SQLite for rows,\nDuckDB for columns.\n' });
  expect(stderr.split('\n').slice(0, 4)).toEqual([
    '12:00:00 lead  started run 4f2a9c01d3e5: Compare SQLite and DuckDB',
    '12:00:00 lead  model rehearsal ok 900 ms, 1.2k tokens in, 300 out, $0.0123',
    '13:00:00 lead  resumed after 1h00m',
    '13:00:00 lead  → researcher  started',
  ]);
  expect(stderr).toMatch(/^Summary\n[^]*^total +completed/mu);
});

test('resume uses the agents that the run was started with, by its full id, unless others are given', async () => {
  const { opened } = await resume();
  const toRead = { workspace: './.cloister', agents: [] };
  expect(opened).toEqual([toRead, { ...toRead, ofRun: runId }]);
  const other = await resume(['--agents', 'a.ai', '--agents', 'b.ts', '--config', 'c.json']);
  expect(other.opened).toEqual([toRead, { ...toRead, agents: ['a.ai', 'b.ts'], config: 'c.json' }]);
});

test('the live tree of a resumed run shows all of its cells, and does not count downtime', async () => {
  // The child had started, or had ended, when the process died; an hour later the run is resumed.
  for (const resumedAfter of [8, 11]) {
    const run = startCli(['resume', 'last'], scene(), {
      terminal: { tty: true },
      behaviour: { ...interrupted, resumedAfter, holdAfter: 12 },
    });
    await settle();
    await run.pass(downMs + 1500);
    const lines = emulate(run.screen(), 80).lines;
    expect(lines[1]).toMatch(/^● lead +waiting for a child +1 +1 .* 1\.5 s$/u);
    expect(lines[2]).toMatch(/^✓ └─researcher +1 +1 .* 4\.2 s$/u);
    run.interrupt();
    expect(await run.code).toBe(130);
    expect(emulate(run.screen(), 80).cursorVisible).toBe(true);
  }
});

test('resume --json prints the outcome, the cells and the events; --jsonl every event from the start', async () => {
  const { stdout } = await resume(['--json']);
  expect(JSON.parse(stdout)).toMatchObject({ run: runId, status: 'completed', cells: [{}, {}] });
  const lines = (await resume(['--jsonl'])).stdout.trimEnd().split('\n');
  const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
  expect(types[0]).toBe('session-start');
  expect(types).toContain('run-resume');
  expect(types.at(-1)).toBe('outcome');
});

test('a run that ended is not resumed: the error says how it ended and where to look; no agent is loaded', async () => {
  const { code, stderr, opened } = await cli(['resume', 'last'], scene({ status: 'budget' }));
  expect(code).toBe(1);
  expect(stderr).toBe(
    `error: This run has already ended. ${runId}: budget, 2026-03-01 12:00:04.\ntry: Inspect it with \`cloister show <run>\`.\n`,
  );
  expect(opened).toHaveLength(1);
});

test('a run that another process owns is not resumed: the error names the owner', async () => {
  const owned = summaryOf(scene(), { state: 'running', status: null, endedAt: null, owner: 'process 4711' });
  const { code, stderr, opened } = await resume([], { runs: [owned] });
  expect({ code, opened: opened.length }).toEqual({ code: 1, opened: 1 });
  expect(stderr).toBe(
    `error: This run is already open. Run ${runId} is owned by process 4711.\ntry: Wait until the run ends, or stop the process that owns it.\n`,
  );
});

test('the runtime’s refusal to resume is reported', async () => {
  const told = await resume([], { resumeThrows: new CloisterError('replay_differs', 'The prompt of "lead".') });
  expect(told).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('The prompt of "lead".') });
});

test('Ctrl-C before agents are loaded leaves the run unchanged', async () => {
  const run = startCli(['resume', 'last'], scene(), { behaviour: interrupted });
  run.interrupt();
  expect(await run.code).toBe(130);
  expect(run.stderr()).toBe('error: The operation was cancelled.\ntry: Start it again if you still need it.\n');
});

test('Ctrl-C while the run is being opened, or later, stops it cleanly', async () => {
  for (const takenUp of [Promise.withResolvers<void>(), undefined]) {
    const run = startCli(['resume', 'last'], scene(), {
      behaviour: { ...interrupted, holdAfter: 7, ...(takenUp === undefined ? {} : { takenUp: takenUp.promise }) },
    });
    await settle();
    run.interrupt();
    takenUp?.resolve();
    expect(await run.code).toBe(130);
    expect(run.stderr()).toMatch(/^total +completed/mu);
  }
});

test('the list highlights interrupted runs and says how to continue the newest', async () => {
  const other = { ...interruptedSummary(scene()), run: 'aa01' as typeof runId };
  const one = await cli(['runs'], scene(), { behaviour: { runs: [summaryOf(scene()), other] } });
  expect(one.stdout).toMatch(/\n\n1 run was interrupted\. To continue it:\n {2}npx cloister resume aa01\n$/u);
  const two = await cli(['runs', '--workspace', 'my work'], scene(), {
    behaviour: { runs: [interruptedSummary(scene()), other] },
    terminal: { tty: true, colour: true },
  });
  expect(two.stdout).toContain(`2 runs were interrupted. To continue the newest:\n`);
  expect(two.stdout).toContain(`  npx cloister resume ${runId} --workspace 'my work'\n`);
  expect(two.stdout.split('\n').filter((line) => line.includes('\u001B[33m'))).toHaveLength(2);
  expect((await cli(['runs'])).stdout).not.toContain('resume');
});

test('for an interrupted chat, the list and show name the command that keeps its agents', async () => {
  const chat = { agent: 'lead', name: 'trip to Bern' };
  const report = { ...interruptedReport(scene(), 9), chat };
  const behaviour = { runs: [interruptedSummary(scene())], report };
  for (const args of [['runs'], ['show', 'last']]) {
    const { stdout } = await cli(args, scene(), { behaviour });
    expect(stdout).toContain("  npx cloister chat lead --conversation 'lead/trip to Bern'\n");
    expect(stdout).not.toContain('cloister resume');
    const served = await cli(args, scene(), {
      behaviour: { runs: [{ ...interruptedSummary(scene()), caller: 'ann' }], report: { ...report, caller: 'ann' } },
    });
    expect(served.stdout).toContain(`  npx cloister resume ${runId}\n`);
  }
});

test('show prints how far an interrupted run got, what was in flight, and how to continue', async () => {
  const { stdout } = await cli(['show', 'last'], scene(), {
    behaviour: { ...interrupted, report: interruptedReport(scene(), 9) },
  });
  expect(stdout).toContain(`run ${runId}  ◌ interrupted\n`);
  expect(stdout).toContain('reached  2026-03-01 12:00:00: 2 operations settled, 2 in flight\n');
  expect(stdout).toMatch(
    new RegExp(
      `with 2 operations in flight:\n.*\n${leadId}/2 +agent researcher .*\n${childId}/2 +tool search .* not settled\n`,
      'u',
    ),
  );
  expect(stdout).toContain(`Continue it with:\n  npx cloister resume ${runId}\n`);
  expect(emulate(stdout, 80).wrapped).toBe(false);
  expect((await cli(['show', 'last'])).stdout).not.toMatch(/resume|reached/u);
});
