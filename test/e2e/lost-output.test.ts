import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { command, newFolder, run, team } from './driver.ts';

const full = existsSync('/dev/full');
const why = full ? '' : ' (skipped: there is no /dev/full)';

/** The command in a shell, followed by the given redirection or pipe. */
const inShell = (line: string, cwd = newFolder()) =>
  run('sh', ['-c', `'${process.execPath}' '${command}' ${line}`], { cwd });

describe.concurrent(`output that cannot be written${why}`, () => {
  test
    .skipIf(!full)
    .each([
      ['--help'],
      ['runs'],
      ['runs --json'],
      ['check --json'],
      [`run lead x --agents '${team}'`],
      [`run lead x --agents '${team}' --jsonl`],
    ])('of `%s` is reported: exit 1 and one line', async (line) => {
    const { code, stderr } = await inShell(`${line} >/dev/full`);
    expect(code).toBe(1);
    expect(stderr.match(/^error: .*$/gmu)).toEqual([
      'error: The output could not be written: ENOSPC: no space left on device, write',
    ]);
  });

  test.skipIf(!full)('of a command that failed leaves its exit code, and no lost output means no message', async () => {
    const failed = await inShell('show 12ab >/dev/full');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/^error: There is no such run.*\n.*\n$/u);
    expect((await inShell('no-such-command >/dev/full')).code).toBe(4);
    expect((await inShell('show 12ab --verbose --nonsense --json >/dev/full')).code).toBe(4);
  });
});

test('a reader that has closed the pipe is not an error', async () => {
  const line = `'${process.execPath}' '${command}' run lead x --agents '${team}' --jsonl`;
  const { code, stderr } = await run('bash', ['-c', `${line} | head -1 >/dev/null; exit \${PIPESTATUS[0]}`]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

const mountable = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

test.skipIf(!mountable)(
  `a file that takes only part of the output is reported too${mountable ? '' : ' (skipped: it takes root to mount a small disk)'}`,
  async () => {
    const cwd = newFolder();
    const node = `'${process.execPath}' '${command}'`;
    const shell = [
      'mkdir disk && mount -t tmpfs -o size=8k tmpfs disk || exit 99',
      `${node} run lead x --agents '${team}' --json >whole`,
      `${node} show last --json >disk/out; echo $? >code`,
      'wc -c <disk/out >bytes',
    ].join('\n');
    const { stderr } = await run('unshare', ['-m', 'sh', '-c', shell], { cwd });
    expect(readFileSync(join(cwd, 'code'), 'utf8')).toBe('1\n');
    expect(stderr).toMatch(/^error: The output could not be written: ENOSPC/mu);
    expect(Number(readFileSync(join(cwd, 'bytes'), 'utf8'))).toBeGreaterThan(0);
  },
);
