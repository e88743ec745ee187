import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { cloisterJson, cloister, inPackage, newFolder, nodeNoise, script, team, value } from './driver.ts';

/** A folder whose workspace has two runs with the same id prefix, and then one of a lead and its helper. */
const cwd = newFolder();
let ranLead = { run: '', helper: '' };
beforeAll(async () => {
  const made = await script('runs.ts', ['.cloister', 'abc111', 'abc222'], { cwd });
  if (made.code !== 0) throw new Error(made.stderr);
  const result = await cloisterJson(['run', 'lead', 'one two three', '--agents', team], { cwd });
  ranLead = { run: result.run, helper: result.cells[1].cell };
});

const inFolder = (args: readonly string[]) => cloister(args, { cwd });

describe.concurrent('what each command prints', () => {
  test('run, with a module by absolute path: the answer alone on stdout, the rest on stderr', async () => {
    const { code, stdout, stderr } = await cloister(['run', 'lead', 'one two three', '--agents', team]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'The helper counted three.\n' });
    expect(stderr).toMatch(/lead {2}→ helper {2}started/u);
    expect(stderr).toMatch(/^total +completed/mu);
    expect(stderr).not.toMatch(nodeNoise);
  });

  test('run, with modules by relative path, from two of them', async () => {
    const folder = newFolder(inPackage, 'relative-');
    writeFileSync(join(folder, 'mine.ts'), moduleOf('mine'));
    const args = ['--agents', './mine.ts', '--agents', relative(folder, team)];
    const mine = await cloister(['run', 'mine', 'x', ...args], { cwd: folder });
    const echo = await cloister(['run', 'echo', 'x', ...args], { cwd: folder });
    expect([mine.stdout, echo.stdout]).toEqual(['mine it is\n', 'You said: x\n']);
  });

  test('run --json: run, status, output, spent, cells and events', async () => {
    const ended = await cloister(['run', 'lead', 'one two three', '--agents', team, '--json']);
    const result = value(ended);
    expect(ended.stderr).toBe('');
    expect(result).toMatchObject({ status: 'completed', output: 'The helper counted three.', error: null });
    expect(result.run).toMatch(/^\w+$/u);
    expect(Object.keys(result.spent).sort()).toEqual(
      [
        'inputTokens',
        'cacheReadTokens',
        'cacheWriteTokens',
        'outputTokens',
        'usd',
        'ms',
        'steps',
        'spawns',
        'uncertain',
      ].sort(),
    );
    expect(result.spent).toMatchObject({ steps: 2, spawns: 1, uncertain: 0 });
    expect(result.cells).toMatchObject([
      { agent: 'lead', depth: 0 },
      { agent: 'helper', depth: 1, status: 'completed' },
    ]);
    expect(result.events[0]).toMatchObject({ type: 'session-start', agent: 'lead' });
    expect(result.events.at(-1)).toMatchObject({ type: 'session-end', agent: 'lead' });
  });

  test('runs: newest first', async () => {
    const { code, stdout } = await inFolder(['runs']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^run .*state.*\n\w+ +lead +✓ completed +2 .*\nabc222 +echo .*\nabc111 +echo .*\n$/u);
    const result = await cloisterJson(['runs'], { cwd });
    expect(result).toMatchObject([
      { run: ranLead.run, agent: 'lead', goal: 'one two three', state: 'ended', status: 'completed', cells: 2 },
      { run: 'abc222' },
      { run: 'abc111' },
    ]);
  });

  test('show: by id, by prefix and by `last`', async () => {
    const { code, stdout } = await inFolder(['show', 'last']);
    expect(code).toBe(0);
    expect(stdout).toContain(`run ${ranLead.run}  ✓ completed\n`);
    expect(stdout).toContain(`└─${ranLead.helper} `);
    expect(stdout).toMatch(/Answer:\nThe helper counted three\.\n$/u);
    const [byId, byPrefix] = [
      await cloisterJson(['show', ranLead.run], { cwd }),
      await cloisterJson(['show', 'abc1'], { cwd }),
    ];
    expect(byId).toMatchObject({ run: ranLead.run, status: 'completed', agent: 'lead', cells: [{}, {}] });
    expect(byPrefix).toMatchObject({ run: 'abc111', output: 'You said: I am abc111' });
  });

  test('explain --find: a hit with its trail, exit 0; a miss, exit 1', async () => {
    const hit = await inFolder(['explain', 'last', 'helper', '--find', 'Count the words']);
    expect(hit.code).toBe(0);
    expect(hit.stdout).toContain('«Count the words»');
    expect(hit.stdout).toMatch(/crossing goal from lead-\w+ under grant "goal"/u);
    const miss = await inFolder(['explain', 'last', ranLead.helper, '--find', 'one two three']);
    expect(miss.code).toBe(1);
    expect(miss.stdout).toContain('does not occur in anything this cell’s model was shown');
  });

  test('explain --json: every segment with its trail; with --find, where it was found', async () => {
    const whole = await cloisterJson(['explain', 'last', 'helper'], { cwd });
    expect(whole).toMatchObject({ run: ranLead.run, cell: ranLead.helper, agent: 'helper', find: null });
    expect(whole.attempts).toHaveLength(2);
    expect(whole.segments.every((one: any) => one.trail.length > 0 && one.shownIn.first <= one.shownIn.last)).toBe(
      true,
    );
    const found = await cloisterJson(['explain', 'last', 'helper', '--find', 'Count'], { cwd });
    expect(found.segments.filter((one: any) => one.found.length > 0)).toHaveLength(1);
    expect((await cloisterJson(['explain', 'last', 'helper', '--find', 'nowhere'], { cwd })).find).toBe('nowhere');
  });

  test('audit: crossings, prompts and bytes, nothing unattributed', async () => {
    const { code, stdout } = await inFolder(['audit', ranLead.run]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Audit: 4 crossings, all granted · 4 prompts, [\d,]+ bytes · 0 bytes unattributed · ok\n$/u,
    );
    const result = await cloisterJson(['audit', ranLead.run], { cwd });
    expect(result).toMatchObject({
      ok: true,
      crossings: 4,
      refused: 0,
      prompts: 4,
      unattributedBytes: 0,
      problems: [],
    });
    expect(result.promptBytes).toBeGreaterThan(0);
  });

  test.each([
    [['run'], /\n {2}\$ cloister run lead\.ai "/u],
    [['demo'], /\n {2}\$ cloister demo\n/u],
    [['runs'], /\n {2}\$ cloister runs/u],
    [['show'], /\n {2}\$ cloister show last/u],
    [['explain'], /\n {2}\$ cloister explain last /u],
    [['audit'], /\n {2}\$ cloister audit last/u],
    [[], /\n {2}\$ cloister demo\n/u],
  ])('%j --help shows an example and every promised option', async (name, example) => {
    const { code, stdout, stderr } = await cloister([...name, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(example);
    for (const option of name.length === 0 ? [] : ['--json', '--workspace <dir>']) expect(stdout).toContain(option);
    if (name[0] === 'run') expect(stdout).toContain('--agents <path>');
  });
});

describe.concurrent('each ending has its exit code', () => {
  const endings: readonly (readonly [agent: string, args: readonly string[], code: number, status: string])[] = [
    ['echo', [], 0, 'completed'],
    ['locked-out', [], 2, 'failed'],
    ['tireless', [], 5, 'limit'],
    ['echo', ['--budget-tokens', '1'], 5, 'budget'],
  ];
  test.each(endings)('%s %j exits %d', async (agent, args, code, status) => {
    const ended = await cloister(['run', agent, 'x', '--agents', team, '--json', ...args]);
    expect({ code: ended.code, status: value(ended).status }).toEqual({ code, status });
  });
});

/** A module of one agent that says its name. */
const moduleOf = (name: string): string => `
  import { defineAgent } from 'cloister';
  import { rehearse } from 'cloister/testkit';
  const models = [rehearse([{ reply: '${name} it is' }])];
  export default [defineAgent({ name: '${name}', description: 'One.', prompt: 'Be one.', models })];`;

const badModules: readonly (readonly [what: string, code: string, says: RegExp])[] = [
  ['a syntax error', 'export default [', /bad\.ts/u],
  ['TypeScript that cannot be erased', 'enum Colour { red }\nexport default [Colour.red];', /bad\.ts.*enum/u],
  ['a throw at import', 'throw new Error("no such luck");', /bad\.ts.*no such luck/u],
  ['a thrown undefined', 'throw null;', /bad\.ts/u],
  ['a missing import', 'import x from "not-there";\nexport default [x];', /bad\.ts.*not-there/u],
  ['no default export', 'export const agents = [];', /bad\.ts.*default export/u],
  ['a default export that is not an agent', 'export default [{ name: "lead" }];', /bad\.ts.*item 1/u],
  ['an empty list', 'export default [];', /bad\.ts.*empty/u],
  ['an import that never ends', 'await new Promise(() => {});\nexport default [];', /bad\.ts/u],
];

const badLines: readonly (readonly [what: string, args: readonly string[], code: number, says: RegExp])[] = [
  ['no command', [], 4, /^Usage: cloister [^]*\$ cloister demo/u],
  ['a typo in the command', ['adit', 'last'], 4, /unknown command 'adit'[^]*audit/u],
  ['a typo in an option', ['run', 'lead', 'x', '--agnets', team], 4, /unknown option '--agnets'[^]*--agents/u],
  ['a missing argument', ['explain', 'last'], 4, /missing required argument 'cell'/u],
  ['an input without quotes', ['run', 'lead', 'two', 'words', '--agents', team], 4, /quotes/u],
  ['a budget that is not a number', ['run', 'lead', 'x', '--budget-usd', 'much'], 4, /--budget-usd[^]*number/u],
  ['a typo in the agent', ['run', 'laed', 'x', '--agents', team], 1, /"laed" is not one of: echo, lead/u],
  ['no agents', ['run', 'lead', 'x'], 1, /No agents were given/u],
  ['an empty goal', ['run', 'lead', ' ', '--agents', team], 1, /goal is empty/u],
  ['a missing module', ['run', 'lead', 'x', '--agents', './nowhere.ts'], 1, /nowhere\.ts No such file or folder/u],
  ['a folder without agents', ['run', 'lead', 'x', '--agents', '.'], 1, /No agents were given/u],
  ['an unknown run', ['show', 'nope'], 1, /no such run[^]*cloister runs/u],
  ['an unknown run to audit', ['audit', 'nope'], 1, /no such run/u],
  ['a run id that is a path', ['show', '../../etc'], 1, /no such run/u],
  ['a prefix of two runs', ['show', 'abc'], 4, /more than one run starts with "abc": abc222, abc111/u],
  ['an unknown cell', ['explain', 'abc1', 'nobody'], 1, /no such cell[^]*echo-/u],
  ['`last` without any runs', ['audit', 'last', '--workspace', './elsewhere'], 1, /It has no runs yet/u],
  ['a workspace that is a file', ['run', 'echo', 'x', '--agents', team, '--workspace', team], 1, /cannot be written/u],
];

/** What to expect from the command, with and without --json. */
const expectedPlain = (code: number, says: RegExp) => ({
  code,
  stdout: '',
  stderr: expect.stringMatching(says),
  shaped: true,
  noisy: false,
});
const expectedJson = (code: number, says: RegExp) => ({
  code,
  stderr: '',
  keys: ['code', 'class', 'message', 'suggestion'],
  words: expect.stringMatching(says),
});

const runPlain = async (args: readonly string[], at: string) => {
  const ended = await cloister(args, { cwd: at });
  const shaped = /^(?:error: .+\n(?: {2}.+\n)*try: .+\n|Usage: [^]+)$/u.test(ended.stderr);
  return { ...ended, shaped, noisy: nodeNoise.test(ended.stderr) };
};
const runWithJson = async (args: readonly string[], at: string) => {
  const ended = await cloister([...args, '--json'], { cwd: at });
  const { error } = ended.stdout === '' ? { error: {} } : value(ended);
  const { code, stderr } = ended;
  return { code, stderr, keys: Object.keys(error), words: `${error.message}\n${error.suggestion}` };
};

describe.concurrent('bad input is named, with what to do about it', () => {
  test.each(badLines)('%s', async (_what, args, code, says) => {
    expect(await runPlain(args, cwd)).toEqual(expectedPlain(code, says));
  });

  const alsoAsJson = ['a typo in the command', 'a missing argument', 'no agents', 'an unknown run', 'an unknown cell'];
  test.each(badLines.filter(([what]) => alsoAsJson.includes(what)))(
    'as one JSON value too: %s',
    async (_what, args, code, says) => {
      expect(await runWithJson(args, cwd)).toEqual(expectedJson(code, says));
    },
  );

  test.each(badModules)('a module with %s', async (_what, code, says) => {
    const folder = newFolder();
    writeFileSync(join(folder, 'bad.ts'), code);
    const args = ['run', 'lead', 'x', '--agents', './bad.ts'];
    const result = await Promise.all([runPlain(args, folder), runWithJson(args, folder)]);
    expect(result).toEqual([expectedPlain(1, says), expectedJson(1, says)]);
  });

  test('demo refuses an --agents that it would ignore', async () => {
    const { code, stderr } = await cloister(['demo', '--agents', './nowhere.ts']);
    expect([1, 4]).toContain(code);
    expect(stderr).toMatch(/nowhere\.ts|unknown option/u);
  });

  test('a database of another program is left alone', async () => {
    const folder = newFolder();
    copyFileSync(team, join(folder, 'cloister.db'));
    const result = [
      await runPlain(['runs', '--workspace', '.'], folder),
      await runPlain(['run', 'echo', 'x', '--agents', team, '--workspace', '.'], folder),
    ];
    expect(result).toEqual([expectedPlain(1, /cloister\.db/u), expectedPlain(1, /cloister\.db/u)]);
    expect(readFileSync(join(folder, 'cloister.db'))).toEqual(readFileSync(team));
  });
});

test('an uncaught error in a tool neither prints a stack nor spoils the one JSON value', async () => {
  const args = ['run', 'astray', 'x', '--agents', team];
  const [plain, json] = await Promise.all([cloister(args), cloister([...args, '--json'])]);
  expect(plain.stderr).not.toMatch(nodeNoise);
  expect([0, 1, 3]).toContain(plain.code);
  expect(() => value(json)).not.toThrow();
});
