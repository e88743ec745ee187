import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  fileAppears,
  cloisterJson,
  cloister,
  command,
  newFolder,
  nodeNoise,
  repo,
  run,
  start,
  team,
} from './driver.ts';
import type { StartOptions } from './driver.ts';

/** `script` of util-linux gives the command a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false;
const why = hasScript ? '' : ' (skipped: there is no `script` of util-linux here)';

const startOnTerminal = (columns: number, args: readonly string[], options?: StartOptions) => {
  const words = [process.execPath, command, ...args].map((word) => `'${word}'`).join(' ');
  const line = `stty cols ${columns} rows 24; exec ${words}`;
  return start('script', ['-qefc', line, '/dev/null'], options);
};

const research = join(repo, 'examples/research/lead.ai');

const escape = '\u001B';
const [hide, show] = [`${escape}[?25l`, `${escape}[?25h`];
const up = new RegExp(`${escape}\\[\\d+A`, 'u');
const colour = new RegExp(`${escape}\\[[\\d;]*m`, 'u');
const plainLines = (text: string) => stripVTControlCharacters(text).split(/[\r\n]+/u);

describe.concurrent('on a terminal', () => {
  test.skipIf(!hasScript)(`the tree is drawn in 80 columns, in place, and the cursor comes back${why}`, async () => {
    const { code, stdout } = await startOnTerminal(80, [research, 'SQLite or DuckDB?'], { env: { TERM: 'xterm' } })
      .ended;
    expect(code).toBe(0);
    expect(stdout.indexOf(hide)).toBeGreaterThanOrEqual(0);
    expect(stdout.lastIndexOf(show)).toBeGreaterThan(stdout.lastIndexOf(hide));
    expect(stdout).toMatch(up);
    const drawn = plainLines(stdout.slice(0, stdout.lastIndexOf(show)));
    expect(drawn.some((line) => /^● lead .*waiting for 3 children/u.test(line))).toBe(true);
    for (const agent of ['├─operator', '├─engineer', '└─analyst'])
      expect(drawn.findLast((line) => line.includes(agent))).toMatch(/^✓ .*\$0\.\d+/u);
    expect(Math.max(...drawn.map((line) => line.length))).toBeLessThan(80);
    expect(stripVTControlCharacters(stdout)).toMatch(/SQLite for[^]*Summary[^]*Workspace: /u);
  });

  test.skipIf(!hasScript)(`the demo fits 80 columns, with and without colours${why}`, async () => {
    const texts = await Promise.all(
      ['', '1'].map(async (off) => (await startOnTerminal(80, ['demo'], { env: { NO_COLOR: off } }).ended).stdout),
    );
    expect(texts.map((text) => colour.test(text))).toEqual([true, false]);
    for (const text of texts)
      expect(plainLines(text).filter((line) => line.length > 79 && !/npx cloister |plain-loop/u.test(line))).toEqual(
        [],
      );
  });

  test.skipIf(!hasScript)(
    `Ctrl-C stops in an orderly way, with the tree complete and the cursor back${why}`,
    async () => {
      const cwd = newFolder();
      const { write, printed, ended } = startOnTerminal(60, ['run', 'gated', 'wait', '--agents', team], { cwd });
      // The tool is called before its events are shown. The terminal echoes the key as `^C` at once, so the key must not come while
      // the text before the call is being written: the echo would be in the middle of it.
      await Promise.all([fileAppears(join(cwd, 'entered')), printed(/said before calling gate/u)]);
      write('\u0003');
      const { code, stdout } = await ended;
      expect(code).toBe(130);
      expect(stdout.lastIndexOf(show)).toBeGreaterThan(stdout.lastIndexOf(hide));
      expect(stdout).toContain('stopping…');
      expect(plainLines(stdout)).toContain('Half of the answer.');
      expect(stdout).not.toMatch(nodeNoise);
      expect(await cloisterJson(['show', 'last'], { cwd })).toMatchObject({ status: 'cancelled' });
    },
  );

  test.skipIf(!hasScript)(`a tool’s stray error does not lose the cursor${why}`, async () => {
    const { stdout } = await startOnTerminal(80, ['run', 'astray', 'x', '--agents', team]).ended;
    expect(stdout).toContain(hide);
    expect(stdout.lastIndexOf(show)).toBeGreaterThan(stdout.lastIndexOf(hide));
  });

  test.skipIf(!hasScript)(`NO_COLOR keeps the tree and removes the colours${why}`, async () => {
    const args = ['run', 'lead', 'x', '--agents', team];
    const [plain, coloured] = await Promise.all([
      startOnTerminal(80, args, { env: { NO_COLOR: '1' } }).ended,
      startOnTerminal(80, args).ended,
    ]);
    expect(plain.stdout).not.toMatch(colour);
    expect(plain.stdout).toContain('└─helper');
    expect(coloured.stdout).toMatch(colour);
  });
});

describe.concurrent('without a terminal', () => {
  test('there are plain lines, no control characters, and tables fit 80 columns', async () => {
    const cwd = newFolder();
    const args = ['run', 'lead', 'a goal that goes on '.repeat(20), '--agents', team];
    const { stdout, stderr } = await cloister(args, { cwd, env: { FORCE_COLOR: '1' } });
    const [runs, shown] = await Promise.all([cloister(['runs'], { cwd }), cloister(['show', 'last'], { cwd })]);
    for (const text of [stdout, stderr, runs.stdout, shown.stdout]) expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    const table = stderr.slice(stderr.indexOf('Summary'), stderr.indexOf('Workspace:'));
    for (const text of [table, runs.stdout, shown.stdout])
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(80);
  });

  const pipes = [
    `demo 2>err | head -1`,
    `demo 2>&1 | head -1`,
    `demo 2>err | true`,
    `demo --json 2>err | head -c 10`,
    `run endless x --agents '${team}' --budget-tokens 20000 --jsonl 2>err | head -1`,
    `run lead x --agents '${team}' 2>/dev/full >/dev/full`,
  ];
  test.each(pipes)('a reader that closes the pipe causes no crash: %s', async (line) => {
    const cwd = newFolder();
    const shell = `'${process.execPath}' '${command}' ${line}; cat err 2>/dev/null`;
    const { stdout, stderr } = await run('bash', ['-c', shell], { cwd });
    expect(stdout + stderr).not.toMatch(nodeNoise);
    expect(stdout + stderr).not.toMatch(/EPIPE|ENOSPC|Unhandled/u);
    expect((await cloisterJson(['runs'], { cwd }))[0]).toMatchObject({ state: 'ended' });
  });
});
