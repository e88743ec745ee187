import { expect, test } from 'vitest';
import { publicFailure } from '#base';
import { describeCause } from '#contracts';
import type { DurableEvent } from '#contracts';
import { newRunView } from '#headends/run-view';
import { refusalLines } from '../../../src/headends/cli/shared/audit-lines.ts';
import { eventLine } from '../../../src/headends/cli/shared/event-line.ts';
import type { runId } from './driver.ts';
import { childId, cli, emulate, leadId, reportOf, scene, startAt, summaryOf } from './driver.ts';

const finOf = (stderr: string): readonly string[] => {
  const lines = stderr.slice(stderr.indexOf('Summary')).split('\n');
  return lines.slice(0, lines.indexOf(''));
};

test('the summary is a tree: each line with its children’s figures, its own below, the total last, in 80 columns', async () => {
  const { stderr } = await cli(
    ['run', 'lead', 'x'],
    scene({ children: 2, agent: 'lead-of-the-whole-research-department' }),
  );
  const [, heading, ...lines] = finOf(stderr);
  expect(heading).toMatch(/^agent +status +requests tools +in +out cache r\/w +cost +time$/u);
  expect(lines).toEqual([
    expect.stringMatching(/^lead-of\S*… completed +3 +3 12\.3k +678 +0\/0 \$0\.0123 4\.2 s$/u),
    expect.stringMatching(/^│ own +1 +1 +1\.2k +300 +0\/0 \$0\.0123$/u),
    expect.stringMatching(/^├─researcher +completed +1 +1 12\.3k +678 +0\/0 \$0\.0123 4\.2 s$/u),
    expect.stringMatching(/^└─researcher +completed +1 +1 12\.3k +678 +0\/0 \$0\.0123 4\.2 s$/u),
    expect.stringMatching(/^total +completed +3 +3 12\.3k +678 +0\/0 \$0\.0123 4\.2 s$/u),
  ]);
  expect(Math.max(...finOf(stderr).map((line) => line.length))).toBeLessThan(80);
});

test('with less room the summary drops columns instead of breaking them', async () => {
  const headings = [100, 80, 70, 60, 50, 40, 30, 20].map(async (columns) => {
    const { screen } = await cli(['run', 'lead', 'x'], scene({ children: 2 }), { terminal: { tty: true, columns } });
    const { lines, wrapped } = emulate(screen.slice(0, screen.indexOf('Workspace:')), columns);
    expect(wrapped).toBe(false);
    return lines[lines.indexOf('Summary') + 1]!.split(/ {2,}|(?<! r|cache) /u);
  });
  expect(await Promise.all(headings)).toEqual([
    ['agent', 'status', 'requests', 'tools', 'in', 'out', 'cache r/w', 'cost', 'time'],
    ['agent', 'status', 'requests', 'tools', 'in', 'out', 'cache r/w', 'cost', 'time'],
    ['agent', 'status', 'requests', 'tools', 'in', 'out', 'cache r/w', 'cost', 'time'],
    ['agent', 'status', 'requests', 'tools', 'in', 'out', 'cost', 'time'],
    ['agent', 'status', 'in', 'out', 'cost', 'time'],
    ['agent', 'status', 'in', 'out', 'cost'],
    ['agent', 'status', 'cost'],
    ['agent', 'cost'],
  ]);
});

test('cells of one agent that ended alike share a line; --verbose shows each, up to a limit', async () => {
  const { stderr } = await cli(['run', 'lead', 'x'], scene({ children: 300 }));
  expect(finOf(stderr)).toHaveLength(6);
  expect(stderr).toMatch(/\n└─researcher ×300 +completed +300 +300 +3\.7M +203k +0\/0 +\$3\.6900 +4\.2 s\n/u);
  const verbose = await cli(['run', 'lead', 'x', '--verbose'], scene({ children: 300 }));
  expect(verbose.stderr).toContain('\n… 242 more lines\ntotal ');
  expect(verbose.stderr).toMatch(/\n├─researcher +completed/u);
});

test('a cell has one name in all lines, with a number from the second cell of its agent on', async () => {
  const { stderr } = await cli(['run', 'lead', 'x'], scene({ children: 3 }));
  const named = (pattern: RegExp) => new Set([...stderr.matchAll(pattern)].map(([, name]) => name));
  const names = new Set(['researcher', 'researcher#2', 'researcher#3']);
  for (const pattern of [/→ (\S+) {2}started/gu, /child:(\S+) {2}model/gu, /← (\S+) {2}/gu])
    expect(named(pattern)).toEqual(names);
});

test('nothing is suggested to explain if no model was asked', async () => {
  const given = scene();
  const report = reportOf(given);
  const cells = report.cells.map((cell) => ({ ...cell, turns: 0 }));
  const { stderr } = await cli(['run', 'lead', 'x'], given, { behaviour: { report: { ...report, cells } } });
  expect(stderr).toContain('Next steps:\n  npx cloister show ');
  expect(stderr).not.toContain('explain');
});

test('an unknown cost names the models without a price', async () => {
  const { stderr } = await cli(['run', 'lead', 'x'], scene({ usd: null, model: 'local/qwen' }));
  expect(stderr).toContain('cost unknown: no price for local/qwen; set "price"');
});

test('--verbose adds the figures of each model and all traffic', async () => {
  for (const args of [
    ['run', 'lead', 'x', '--verbose'],
    ['show', 'last', '--verbose'],
  ]) {
    const { screen } = await cli(args, scene());
    expect(screen).toMatch(
      /^Models\nmodel +requests +failed .*\nrehearsal +2 +0 +2\.4k +600 +0\/0 +\$0\.0246 +1\.8 s$/mu,
    );
    expect(screen).toMatch(
      /^lead +rehearsal +1 +0 +900\/50 +890\/45 +900 ms\n +search +1 +0 +20\/40 +20\/40 +12 ms$/mu,
    );
    expect(screen).toMatch(/^└─researcher +rehearsal +1 +0 +900\/50/mu);
    expect(screen).toContain('child:researcher  tool search ok 12 ms, 20 bytes (20 characters) in, 40 (40) out');
  }
});

test('an unknown price is shown as unknown, a free one as $0.0000', async () => {
  for (const [usd, shown] of [
    [null, 'unknown'],
    [0, '$0.0000'],
  ] as const) {
    const { stderr } = await cli(['run', 'lead', 'x'], scene({ usd }));
    expect(stderr).toMatch(new RegExp(`^total .* ${shown.replaceAll(/[$.]/gu, String.raw`\$&`)} `, 'mu'));
  }
});

test('uncertain tokens and missing children are reported', async () => {
  const { stderr } = await cli(['run', 'lead', 'x'], scene({ uncertain: 4321, status: 'partial' }));
  expect(stderr).toContain('uncertain: 4,321 tokens');
  expect(stderr).toContain('no complete answer from: researcher');
  const { stdout } = await cli(['show', 'last'], scene({ status: 'partial' }));
  expect(stdout).toContain('\nno complete answer from: researcher\n');
});

test('show says what the answer lacks: agents that did not finish, why, and what others wrote after it', async () => {
  const report = reportOf(scene({ status: 'partial' }));
  const [root, ...others] = report.cells;
  const spawned = [
    { agent: 'scout', cell: childId, status: 'limit', why: 'Too slow.', output: '' },
    { agent: 'clerk', cell: childId, status: 'completed', why: null, output: 'All is filed.\n' },
  ] as const;
  const outcome = { ...root!.outcome!, missing: ['scout'], spawned };
  const { stdout } = await cli(['show', 'last'], scene(), {
    behaviour: { report: { ...report, cells: [{ ...root!, outcome }, ...others] } },
  });
  expect(stdout).toMatch(
    /\nDuckDB for columns\.\n\nno complete answer from: scout\n- scout: Too slow\.\n\nfrom clerk, which the answer does not include:\nAll is filed\.\n$/u,
  );
  expect((await cli(['show', 'last'])).stdout).not.toMatch(/no complete answer|does not include/u);
});

test('the demo ends with its audit, its comparison and what to try', async () => {
  const { code, stdout } = await cli(['demo', '--workspace', "it's here"]);
  expect(code).toBe(0);
  expect(stdout).toContain('\nAudit: 8 crossings, all granted · 12 prompts, 34,567 bytes');
  expect(stdout).toMatch(/\nVerify: 1,000 pairs[^]*12,345\s+observations[^]*· ok\n/u);
  expect(stdout).toContain(String.raw`npx cloister studio --workspace 'it'\''s here'`);
  expect(stdout).toMatch(/^The plain loop sent 1 mail$/mu);
});

test('the demo says which crossings were refused, and why', async () => {
  const { stdout } = await cli(['demo'], scene({ refused: true }));
  expect(stdout).toContain('8 crossings, 1 refused');
  expect(stdout).toMatch(/ {2}refused: a result of [\d,]+ bytes? from researcher to lead \(no-grant\)/u);
});

test('runs are listed with their state and start, interrupted ones marked', async () => {
  const runs = [
    summaryOf(scene({ goal: 'word '.repeat(40) })),
    summaryOf(scene(), {
      run: 'aa01' as typeof runId,
      state: 'interrupted',
      status: null,
      endedAt: null,
      startedAt: startAt - 1000,
    }),
  ];
  const { stdout } = await cli(['runs'], scene(), { behaviour: { runs } });
  const lines = stdout.trimEnd().split('\n');
  expect(lines[1]).toMatch(/^4f2a9c01d3e5 +lead +✓ completed +2 +2026-03-01 12:00:00 +word word w.*…$/u);
  expect(lines[2]).toMatch(/^aa01 +lead +◌ interrupted +2 +2026-03-01 11:59:59 +Compare/u);
  expect(emulate(stdout, 80).wrapped).toBe(false);
});

test('a long list of runs comes page by page, and says how to see older ones', async () => {
  const runs = Array.from({ length: 103 }, (_, nth) => summaryOf(scene(), { run: `run${100 + nth}` as typeof runId }));
  const list = async (...args: readonly string[]) =>
    (await cli(['runs', ...args], scene(), { behaviour: { runs } })).stdout;
  const rows = (text: string): number =>
    text.split('\n').filter((line) => line.startsWith('run1') || line.startsWith('run2')).length;
  const first = await list();
  expect(rows(first)).toBe(100);
  expect(first).toContain('To list older runs:\n  npx cloister runs --before run199\n');
  const second = await list('--before', 'run199');
  expect(rows(second)).toBe(3);
  expect(second).not.toContain('older');
  expect(rows(await list('--limit', '2'))).toBe(2);
  expect(rows(await list('--all'))).toBe(103);
  expect(await list('--before', 'run202')).toBe('There are no older runs.\n');
  expect(JSON.parse(await list('--limit', '1', '--json'))).toHaveLength(1);
});

test('the list of runs has a column for the caller if a run was served, in 80 columns', async () => {
  const ofCi = summaryOf(scene(), { caller: 'ci' });
  const long = summaryOf(scene({ agent: 'lead-of-the-whole-research-department', goal: 'word '.repeat(40) }), {
    run: 'aa01aa01aa01' as typeof runId,
    state: 'interrupted',
    status: null,
    caller: 'the-token-of-the-nightly-build-machine',
  });
  const own = summaryOf(scene(), { run: 'bb02bb02bb02' as typeof runId });
  const { stdout } = await cli(['runs'], scene(), { behaviour: { runs: [ofCi, long, own] } });
  const lines = stdout.split('\n');
  expect(lines[0]).toMatch(/^run +agent +state +cells +started +caller +goal$/u);
  expect(lines[1]).toMatch(/^4f2a9c01d3e5 lead {5}✓ completed +2 2026-03-01 12:00:00 ci {7}Compare…$/u);
  expect(lines[2]).toMatch(/^aa01aa01aa01 lead-of… ◌ interrupted +2 2026-03-01 12:00:00 the-tok… word wo…$/u);
  expect(lines[3]).toMatch(/^bb02bb02bb02 lead {5}✓ completed +2 2026-03-01 12:00:00 {10}Compare…$/u);
  expect(emulate(stdout, 80).wrapped).toBe(false);
  expect((await cli(['runs'], scene(), { behaviour: { runs: [own] } })).stdout).not.toContain('caller');
});

test('show prints the cells by the ids that explain takes, the answer, and events only with --verbose', async () => {
  const { stdout } = await cli(['show', 'last'], scene({ refused: true }));
  expect(stdout).toMatch(new RegExp(`^✓ ${leadId} +completed +1 +1 +1\\.2k/300 +\\$0\\.0123 +4\\.2 s$`, 'mu'));
  expect(stdout).toMatch(new RegExp(`^✓ └─${childId} +completed`, 'mu'));
  expect(stdout).toContain('Answer:\nSQLite for rows,');
  expect(stdout).toContain('crossing refused: result researcher → lead: no-grant');
  expect(stdout).not.toContain('Events:');
  expect((await cli(['show', 'last', '--verbose'])).stdout).toContain('tool search {"query":');
});

test('show and the events name the models that a cell did without, and why', async () => {
  const given = scene({ passedOver: ['openai/gpt-5', 'openai/o3'] });
  const { stdout } = await cli(['show', 'last', '--verbose'], given);
  expect(stdout).toContain(`\nModels passed over, because they had no API key:\n${childId}  openai/gpt-5, openai/o3\n`);
  expect(stdout).toContain('passed over openai/gpt-5, openai/o3: no API key (see `cloister check`)');
  expect((await cli(['show', 'last'], scene())).stdout).not.toContain('passed over');
});

test('show names the limit that ended a cell', async () => {
  const failure = { code: 'agent_limit', limit: 'mailTimeout' } as const;
  const { stdout } = await cli(['show', 'last'], scene({ childFailure: failure }));
  expect(stdout).toContain(`\nFailures:\n  lead › researcher: limit mailTimeout reached: The `);
  expect((await cli(['show', 'last'], scene())).stdout).not.toContain('Failures:');
});

test('a cause is shown on as many lines as it needs, with the words of a provider after what went wrong', async () => {
  const given = scene({ childFailure: { code: 'tool_failed', detail: noFile } });
  const { stdout } = await cli(['show', 'last'], given);
  const shown = stdout.slice(stdout.indexOf('\nFailures:\n'));
  expect(shown.replaceAll(/\n +/gu, ' ')).toContain(` ${noFile}\n`);
  expect(shown).not.toContain('In full:');
  for (const line of shown.split('\n')) expect(line.length).toBeLessThan(80);
  const [cause] = reportOf(given).causes;
  const said = {
    ...cause!,
    what: 'model',
    name: 'r/x',
    summary: 'The stream ended early.',
    detail: 'terminated',
  } as const;
  expect(describeCause(said)).toBe('lead › researcher: model r/x failed: The stream ended early. terminated');
});

const noFile = "ENOENT: no such file or directory, open '/srv/data/of the project/that has a long name/plan.md'";

test('a very long cause is cut, with the command that shows all of it, and shown whole with --verbose', async () => {
  const detail = `${noFile} ${'a '.repeat(300)}end.md`;
  const given = scene({ childFailure: { code: 'tool_failed', detail } });
  const { stdout } = await cli(['show', 'last'], given);
  expect(stdout).toMatch(
    /\nFailures:\n {2}lead › researcher: failed: [^…]{500,700}…\nIn full: npx cloister show .* --verbose\n/u,
  );
  expect(stdout).not.toContain('end.md');
  expect((await cli(['show', 'last', '--verbose'], given)).stdout).toContain('end.md');
  for (const command of [
    ['run', 'lead', 'Go'],
    ['run', 'lead', 'Go', '--verbose'],
  ])
    expect((await cli(command, given)).stderr).toContain('lead › researcher: failed: ');
  const json = JSON.parse((await cli(['run', 'lead', 'Go', '--json'], given)).stdout) as { causes: readonly object[] };
  expect(json.causes).toMatchObject([{ path: ['lead', 'researcher'], code: 'tool_failed', detail, ended: true }]);
});

test('a refused call is listed with the path to the agent', () => {
  const refused = {
    type: 'tool-end',
    cell: leadId,
    agent: 'b',
    at: startAt,
    tool: 'a',
    ok: false,
    ms: 0,
    error: publicFailure({ code: 'cycle_refused' }),
    path: ['a', 'b', 'a'],
  } as unknown as DurableEvent;
  expect(refusalLines([refused], (_, text) => text)).toEqual([
    '  call refused: a > b > a: An agent cannot call one of its own callers.',
  ]);
  expect(eventLine(refused, newRunView(), false)).toContain('own callers. Path: a > b > a.');
});

test('show says which cells blocked the process, and only then', async () => {
  const blocked = await cli(['show', 'last'], scene({ stalls: { count: 2, longestMs: 5_012 } }));
  expect(blocked.stdout).toContain(`\nBlocked the process:\n${leadId}  2 times above 100 ms, 5.0 s at most\n`);
  expect((await cli(['show', 'last'], scene())).stdout).not.toContain('Blocked');
});

test('explain prints for each segment its source and the requests that showed it', async () => {
  const { code, stdout } = await cli(['explain', 'last', 'researcher']);
  expect(code).toBe(0);
  expect(stdout).toContain('#0 system@1 ← definition of researcher (prompt)');
  expect(stdout).toContain(
    `#1 goal@1 ← crossing goal from ${leadId} under grant "goal" (54 bytes,\n      sha256 abababababab…)\n    ← operation ${leadId}/1 rehearsal`,
  );
  expect(stdout).toContain('shown in 3 requests (turns 1–3)');
});

test('explain --find marks the match with sixty characters around it', async () => {
  const goal = `${'a'.repeat(100)}\u001B[31m needle ${'b'.repeat(100)}`;
  const { code, stdout } = await cli(
    ['explain', 'last', 'researcher', '--find', 'needle'],
    scene({ goal, found: [goal.indexOf('needle')] }),
  );
  expect(code).toBe(0);
  expect(stdout).toContain(`    …${'a'.repeat(54)} «needle»\n    ${'b'.repeat(59)}…\n`);
  expect(stdout).not.toContain('#0');
});

test('explain --find --verbose shows the whole text, with every match marked', async () => {
  const goal = `Begin. ${'some words '.repeat(30)}needle ${'more words '.repeat(30)}needle. End.`;
  const found = [...goal.matchAll(/needle/gu)].map(({ index }) => index);
  const { stdout } = await cli(
    ['explain', 'last', 'researcher', '--find', 'needle', '--verbose'],
    scene({ goal, found }),
  );
  const shown = stdout.slice(stdout.indexOf('    Begin.')).replaceAll(/\s+/gu, ' ').trim();
  expect(shown).toBe(goal.replaceAll('needle', '«needle»'));
});

test('a report may have any number of lines', async () => {
  const { code, stdout } = await cli(['explain', 'last', 'researcher'], scene({ goal: 'one\n'.repeat(200_000) }));
  expect([code, stdout.split('\n').length > 200_000]).toEqual([0, true]);
});

test('explain shows texts whole in a pipe, and on a narrow terminal says that they are cut', async () => {
  const given = scene({ goal: `Begin. ${'some words '.repeat(30)}End.` });
  const piped = await cli(['explain', 'last', 'researcher'], given);
  expect(piped.stdout).toContain(' End.');
  expect(piped.stdout).not.toContain('--verbose');
  const { screen } = await cli(['explain', 'last', 'researcher'], given, { terminal: { tty: true } });
  expect(screen).not.toContain(' End.');
  expect(screen).toContain('Texts are cut here: use --verbose for all of them.');
});

test('explain says so if nothing was found', async () => {
  const nothing = scene({ found: [] });
  const { code, stdout } = await cli(['explain', 'last', 'researcher', '--find', 'needle'], nothing);
  expect(code).toBe(1);
  expect(stdout).toContain('"needle" does not occur in anything this cell’s model was shown.');
  expect((await cli(['explain', 'last', 'researcher', '--find', 'needle', '--json'], nothing)).code).toBe(1);
});

test('the name of an agent with several cells is ambiguous', async () => {
  const { code, stderr } = await cli(['explain', 'last', 'researcher'], scene({ children: 2 }));
  expect(code).toBe(4);
  expect(stderr).toContain(`more than one cell starts with "researcher": ${childId}, `);
});
