// Every template of `init`, as it is created: its own tests pass, and its commands run. `test/app/registry.test.ts` checks its agents.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { initFolder, listTemplates } from '../../src/app/agents/init-folder.ts';
import { cloister, command, newFolder, repo, run } from './driver.ts';

const templates = new URL('../../templates/', import.meta.url);
const built = dirname(dirname(command));

/** The folder, in which `cloister` is installed. */
const createFrom = (template: string) => {
  const made = initFolder(newFolder(), { template, templates, cwd: '/', version: '0.1.0' });
  mkdirSync(join(made.folder, 'node_modules'));
  symlinkSync(built, join(made.folder, 'node_modules/cloister'));
  return made;
};

describe.concurrent('a folder made by init', () => {
  test.each(listTemplates(templates).map(({ name }) => name))('%s: its tests pass', async (name) => {
    const { folder } = createFrom(name);
    const isCode = existsSync(join(folder, 'src'));
    if (isCode) symlinkSync(join(repo, 'node_modules/vitest'), join(folder, 'node_modules/vitest'));
    const tests = isCode ? [join(repo, 'node_modules/vitest/vitest.mjs'), 'run'] : ['--test'];
    const { code, stdout, stderr } = await run(process.execPath, tests, { cwd: folder });
    expect({ code, said: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, said: '' });
  });

  test('typescript: it runs, and `verify` takes its agents', async () => {
    const { folder } = createFrom('typescript');
    const [started, verified] = await Promise.all([
      run(process.execPath, ['src/main.ts', 'Where is my order A-17?'], { cwd: folder }),
      cloister(['verify', 'desk', '--agents', 'src/agents.ts', '--pairs', '20'], { cwd: folder }),
    ]);
    expect(started).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Your teapot left the warehouse/u) });
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Verify desk: ok/u) });
  });

  test('import: its agents are imported, and run by name', async () => {
    const { folder } = createFrom('import');
    expect((await cloister(['import', '.claude/agents'], { cwd: folder })).code).toBe(0);
    expect(readFileSync(join(folder, 'agents/reviewer.ai'), 'utf8')).toContain('models: [rehearsal/start]');
    const { stdout } = await cloister(['run', 'reviewer', 'Review: const total = a + b'], { cwd: folder });
    expect(stdout).toMatch(/^\*\*One finding\.\*\*/u);
  });

  test('served: the manifest of its Slack app is printed, and its client says what it was told', async () => {
    const { folder } = createFrom('served');
    const [manifest, client] = await Promise.all([
      cloister(['slack', 'manifest', '--name', 'Desk', '--config', 'slack.json'], { cwd: folder }),
      run(process.execPath, ['client.mjs'], { cwd: folder, env: { CLOISTER_URL: 'http://127.0.0.1:1' } }),
    ]);
    expect(manifest).toMatchObject({ code: 0, stdout: expect.stringContaining('"Desk"') });
    expect(client.code).toBe(1);
  });
});
