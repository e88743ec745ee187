import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { loadCommands } from '../../../src/headends/cli/commands.ts';
import { width } from '../../../src/headends/cli/shared/sanitize-text.ts';
import { cli, runId, scene, summaryOf } from './driver.ts';

test('without a command the help goes to stderr and the exit code is 4', async () => {
  const { code, stdout, stderr } = await cli([]);
  expect(code).toBe(4);
  expect(stdout).toBe('');
  expect(stderr).toContain('Usage: cloister');
});

/** Every command, and every subcommand, as one would type it. */
const allCommands = (await loadCommands(undefined)).flatMap(({ name, command }) => [
  [name],
  ...Object.keys(command?.commands ?? {}).map((below) => [name, below]),
]);

test.each([
  ['--help'],
  ...allCommands.flatMap((words) => [
    [...words, '--help'],
    [...words, '-h'],
  ]),
])('help fits in 80 columns and shows an example on stdout: %s %s %s', async (...args) => {
  const { code, stdout, stderr } = await cli(args);
  expect(code).toBe(0);
  expect(stdout).toMatch(/Examples?:\n {2}\$ cloister /u);
  expect(stdout.split('\n').filter((line) => width(line) > 80)).toEqual([]);
  expect(stderr).toBe('');
});

test('all commands are listed in the help, but for former names', async () => {
  const { stdout } = await cli(['--help']);
  const listed = [...stdout.matchAll(/^ {2}([a-z-]+) /gmu)].map(([, name]) => name);
  const names = (await loadCommands(undefined)).flatMap(({ name, isFormer }) => (isFormer ? [] : [name]));
  expect(names.length).toBeGreaterThan(20);
  expect(listed).toEqual([...names, 'help']);
});

test('to parse one command, no other is loaded', async () => {
  const loaded = await loadCommands('diff');
  expect(loaded.filter(({ command }) => command !== null).map(({ name }) => name)).toEqual(['diff']);
});

test('the version is printed', async () => {
  expect(await cli(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n' });
});

const mistakes: readonly (readonly [args: readonly string[], error: RegExp, advice: RegExp])[] = [
  [['team'], /missing required argument 'team'/u, /try: cloister team --help/u],
  [['team', 'crew.yaml', 'two', 'words'], /too many arguments/u, /try: put the goal in quotes/u],
  [['team', 'crew.yaml', 'x', '--taks', 'y'], /unknown option '--taks'/u, /try: --tasks/u],
  [['team', 'crew.yaml', 'x', '--save-plan', 'p.json'], /--save-plan requires --plan-only/u, /try: cloister team/u],
  [
    ['team', 'crew.yaml', '--tasks', 't', '--from-plan', 'p'],
    /cannot be used with option/u,
    /try: cloister team --help/u,
  ],
  [['team', 'crew.yaml', 'x', '--parallel', '0'], /It must be 1 or more/u, /try: cloister team --help/u],
  [
    ['team', 'crew.yaml', 'x', '--graph', 'out.png'],
    /cannot write a graph to out\.png/u,
    /try: .*\.svg, \.mmd or \.md/u,
  ],
  [['run', 'crew.yaml', 'x'], /crew\.yaml is a team file/u, /try: cloister team crew\.yaml/u],
  [['rnus'], /unknown command 'rnus'/u, /try: .*runs/u],
  [
    ['chat', 'lead', '--attach', 'a.png'],
    /take no files/u,
    /try: cloister run <agent> --conversation <name> --attach/u,
  ],
  [['rot', 'hi'], /unknown command 'rot'/u, /try: cloister run rot "<input>" for an agent, or cloister --help/u],
  [['resum', 'last'], /unknown command 'resum'/u, /try: .*resume/u],
  [['verfy', 'lead'], /unknown command 'verfy'/u, /try: .*verify/u],
  [['fork', 'last'], /required option '--at <point>'/u, /try: cloister fork --help/u],
  [
    ['fork', 'last', '--at', 'lead', '--without-grant', 'all'],
    /one of: goal, result, note, history, share/u,
    /try: cloister fork --help/u,
  ],
  [['conversation', 'list'], /unknown command 'conversation'/u, /try: cloister conversations/u],
  [['checkpoint', 'list'], /unknown command 'checkpoint'/u, /try: cloister checkpoints/u],
  [['run', 'lead', 'x', '--conversation', '/'], /It must be a name, or <agent>\/<name>/u, /try: cloister run --help/u],
  [['show', 'last', '--windows'], /unknown option '--windows'/u, /try: --window/u],
  [['diff', 'last'], /missing required argument 'other'/u, /try: cloister diff --help/u],
  [['runs', '--jsno'], /unknown option '--jsno'/u, /try: --json/u],
  [['run', 'lead'], /missing input/u, /try: pass it in quotes, redirect a file with </u],
  [['run', 'lead', '-'], /missing input/u, /try: pass it in quotes/u],
  [['lead.ai'], /missing input/u, /try: pass it in quotes/u],
  [['run'], /missing required argument 'agent'/u, /try: cloister run <agent> "<input>"/u],
  [['lead.ai', 'two', 'words'], /too many arguments/u, /try: put the input in quotes/u],
  [['./lead'], /'\.\/lead' is neither a command nor an agent file \(\.ai\)/u, /try: cloister run \.\/lead\.ai /u],
  [['lead.md', 'x'], /'lead\.md' is neither a command nor an agent file/u, /try: cloister run lead\.ai /u],
  [['run', 'lead', 'x', '--schema', '{"type":'], /Not valid JSON/u, /try: /u],
  [['run', 'lead', 'two', 'words'], /too many arguments/u, /try: put the input in quotes/u],
  [['run', 'lead', '-1 + 1?'], /unknown option '-1 \+ 1\?'/u, /try: put -- before/u],
  [['run', 'lead', 'x', '--budget-tokens', '1e3'], /whole number/u, /try: /u],
  [['run', 'lead', 'x', '--budget-usd', '-1'], /number such as/u, /try: /u],
  [['run', 'lead', 'x', '--budget-ms', ''], /whole number/u, /try: /u],
  [['run', 'lead', 'x', '--jsonl', '--workspace'], /argument missing/u, /"suggestion"/u],
];

test.each(mistakes)('a usage error is reported with a suggestion, exit 4: %j', async (args, error, advice) => {
  const { code, stdout, stderr, opened } = await cli(args);
  expect(code).toBe(4);
  expect(stdout + stderr).toMatch(args.includes('--jsonl') ? /"error"/u : /^error: /u);
  expect(stdout + stderr).toMatch(error);
  expect(stdout + stderr).toMatch(advice);
  expect(opened).toEqual([]);
});

test('flags of a run reach the runtime', async () => {
  const { opened } = await cli([
    'run',
    'lead',
    '--agents',
    'a.ts',
    '--agents',
    'b.ts',
    '--workspace',
    'w',
    '--config',
    'c.json',
    '--',
    '--json',
  ]);
  expect(opened).toEqual([{ workspace: 'w', agents: ['a.ts', 'b.ts'], agent: 'lead', config: 'c.json' }]);
});

test('reading opens the workspace without any agent', async () => {
  const { opened } = await cli(['runs']);
  expect(opened).toEqual([{ workspace: './.cloister', agents: [] }]);
});

test('a known error is printed without a stack, with a suggestion', async () => {
  const { code, stderr } = await cli(['run', 'nobody', 'x'], scene(), {
    behaviour: { runThrows: new CloisterError('agent_unknown', 'nobody') },
  });
  expect(code).toBe(1);
  expect(stderr).toBe(
    "error: No agent has that name. nobody\ntry: Check the spelling, and that the agent's file is loaded.\n",
  );
});

test('an unknown error is reported as a defect, with its stack only with --verbose', async () => {
  const behaviour = { openThrows: new TypeError('boom') };
  const quiet = await cli(['runs'], scene(), { behaviour });
  expect(quiet).toMatchObject({ code: 1, stderr: 'error: boom\ntry: This is a bug in Cloister; please report it.\n' });
  const verbose = await cli(['runs', '--verbose'], scene(), { behaviour });
  expect(verbose.stderr).toContain('usage.test.ts');
});

const twoRuns = [summaryOf(scene()), summaryOf(scene(), { run: '4f99' as typeof runId })];

test('a run can be named by a prefix of its id, or as last', async () => {
  for (const name of [runId, '4f2', 'last'])
    expect((await cli(['show', name], scene(), { behaviour: { runs: twoRuns } })).code).toBe(0);
});

test('an ambiguous run lists the candidates', async () => {
  const { code, stderr } = await cli(['show', '4f'], scene(), { behaviour: { runs: twoRuns } });
  expect(code).toBe(4);
  expect(stderr).toContain(`more than one run starts with "4f": ${runId}, 4f99`);
});

test.each([
  ['show', 'zz'],
  ['audit', ''],
  ['explain', '../..', 'x'],
  ['explain', 'last', 'zz'],
  ['explain', 'last', ''],
])('an unknown name lists what exists: %s %s %s', async (...args) => {
  const { code, stderr } = await cli(args.filter((arg) => arg !== undefined));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: There is no such (run|cell)[\s\S]*(4f2a9c01d3e5|lead-ab12)/u);
});

test('options after a command below another one are its own', async () => {
  const { opened, stdout } = await cli(['runs', 'export', 'last', '--workspace', 'w', '--json']);
  expect(opened).toEqual([{ workspace: 'w', agents: [] }]);
  // The scene has no archives.
  expect(JSON.parse(stdout)).toHaveProperty('error');
});

test('an empty workspace says how to start', async () => {
  const { code, stdout } = await cli(['runs'], scene(), { behaviour: { runs: [] } });
  expect(code).toBe(0);
  expect(stdout).toContain('No runs in ./.cloister yet.');
  expect(stdout).toContain('cloister demo');
  const last = await cli(['show', 'last'], scene(), { behaviour: { runs: [] } });
  expect(last).toMatchObject({ code: 1, stderr: expect.stringContaining('It has no runs yet.') });
});
