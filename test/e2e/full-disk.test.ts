import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { command, newFolder, nodeNoise, run, team } from './driver.ts';

/** Only root can mount; the mount disappears with the shell that made it. */
const mountable = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
const why = mountable ? '' : ' (skipped: it takes root to mount a small disk)';

/** Runs `cloister` commands one after the other where `disk` is a disk of that size; returns how each ended. */
const onDisk = async (size: string, commands: readonly string[]) => {
  const cwd = newFolder();
  const node = `'${process.execPath}' '${command}'`;
  const lines = commands.map((line, at) => `${node} ${line} >out${at} 2>err${at}; echo $? >code${at}`);
  const shell = [`mkdir disk && mount -t tmpfs -o size=${size} tmpfs disk || exit 99`, ...lines].join('\n');
  expect(await run('unshare', ['-m', 'sh', '-c', shell], { cwd })).toMatchObject({ code: 0, stderr: '' });
  const text = (name: string, at: number) => readFileSync(join(cwd, `${name}${at}`), 'utf8');
  return commands.map((_line, at) => ({
    code: Number(text('code', at)),
    stdout: text('out', at),
    stderr: text('err', at),
  }));
};

test
  .skipIf(!mountable)
  .concurrent(
    `a disk that fills up in the middle of a run: a clear error, the record up to there, other workspaces still work${why}`,
    async () => {
      const endless = `run endless x --agents '${team}' --workspace disk/w`;
      const [ran, runs, audited, elsewhere, again] = await onDisk('360k', [
        endless,
        'runs --workspace disk/w --json',
        'audit last --workspace disk/w --json',
        `run lead x --agents '${team}' --workspace elsewhere`,
        `${endless} --json`,
      ]);
      expect(ran?.code).toBe(1);
      expect(ran?.stderr).toMatch(/^error: The workspace cannot be written to\. .*\ntry: Check free space/mu);
      expect(ran?.stderr).not.toMatch(nodeNoise);
      expect(runs?.code).toBe(0);
      expect(JSON.parse(runs?.stdout ?? '')).toMatchObject([{ agent: 'endless', state: 'interrupted' }]);
      expect(audited?.code).toBe(0);
      expect(JSON.parse(audited?.stdout ?? '')).toMatchObject({ ok: true, problems: [] });
      expect(JSON.parse(audited?.stdout ?? '').prompts).toBeGreaterThan(3);
      expect(elsewhere).toMatchObject({ code: 0, stdout: 'The helper counted three.\n' });
      expect(again?.code).toBe(1);
      expect(JSON.parse(again?.stdout ?? '')).toMatchObject({ error: { code: 'store_failed', class: 'config' } });
    },
  );

test.skipIf(!mountable).concurrent(`a disk that is full from the start: an immediate, clear error${why}`, async () => {
  const [ran, runs] = await onDisk('8k', [
    `run lead x --agents '${team}' --workspace disk/w`,
    'runs --workspace disk/w',
  ]);
  expect(ran).toMatchObject({ code: 1, stdout: '' });
  expect(ran?.stderr).toMatch(/^error: The workspace cannot be written to\. .+\ntry: Check free space .+\n$/u);
  expect(runs).toMatchObject({ code: 0, stderr: '' });
});
