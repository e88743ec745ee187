// The published package, used as by a new user: packed, installed in an empty folder, run.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, normalize } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { newFolder, repo, run } from './driver.ts';
import type { ProcessResult } from './driver.ts';

const home = newFolder();
const project = join(home, 'project');
let tarball = '';
let files: readonly string[] = [];

beforeAll(async () => {
  // Packed from a copy: `prepack` builds, and must not change a dist/ that other tests are using.
  const source = join(home, 'source');
  const left = new Set(['node_modules', '.git', 'dist', 'test', '.cloister'].map((name) => join(repo, name)));
  cpSync(repo, source, { recursive: true, filter: (path) => !left.has(path) });
  symlinkSync(join(repo, 'node_modules'), join(source, 'node_modules'));
  // The compiler spends half of its time on garbage collection that is pointless for a short process.
  const env = { GOGC: 'off' };
  const packed = succeeded(await run('npm', ['pack', '--json', '--pack-destination', home], { cwd: source, env }));
  const [{ filename, files: list }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')));
  tarball = join(home, filename);
  files = list.map(({ path }: { path: string }) => path);

  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "mine", "type": "module", "private": true }');
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball];
  succeeded(await run('npm', install, { cwd: project, env: packageEnv() }));
}, 120_000);

/** The machine's settings for reaching packages: a proxy, certificates, npm's own settings. */
const packageEnv = (): Record<string, string> => {
  const says =
    /^(?:(?:https?|all|no)_proxy|node_extra_ca_certs|ssl_cert_\w+|npm_config_(?:registry|cafile|\w*proxy|userconfig|cache))$/iu;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && says.test(name) ? [[name, value] as const] : [],
    ),
  );
};

const succeeded = (ended: ProcessResult): ProcessResult => {
  if (ended.code !== 0) throw new Error(`It ended with ${ended.code}:\n${ended.stdout}\n${ended.stderr}`);
  return ended;
};

const foldersOf = (path: string): readonly string[] =>
  path.includes('/') ? [dirname(path), ...foldersOf(dirname(path))] : [];

const write = (name: string, text: string): string => {
  writeFileSync(join(project, name), text);
  return name;
};

describe.concurrent('the package', () => {
  test('contains what is needed and nothing else, in less than 1.55 MB, of which the page in both forms is a fifth', () => {
    expect(statSync(tarball).size).toBeLessThan(1_550_000);
    const page = ['dist/web/index.html', 'dist/web/file.html', 'dist/web/favicon.svg'];
    for (const needed of ['package.json', 'bin/cloister.js', 'dist/index.js', 'dist/types/app/index.d.ts', ...page])
      expect(files).toContain(needed);
    expect(
      files
        .filter((path) => !path.startsWith('templates/'))
        .filter((path) => /^(?:src|test|tools|bench|web|node_modules)\/|\.test\.|\.map$|\.tsbuildinfo$/u.test(path)),
    ).toEqual([]);
  });

  test('names no folder of the machine that built it', () => {
    const installed = join(project, 'node_modules/cloister');
    const machine = [repo, home, tmpdir(), process.env['HOME'] ?? repo].filter((path) => path.length > 5);
    const naming = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => machine.some((path) => readFileSync(file, 'utf8').includes(path)));
    expect(naming).toEqual([]);
  });

  test('has no link to a file that it does not contain', () => {
    const all = new Set(files.flatMap((file) => [file, ...foldersOf(file)]));
    const broken = files
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) => {
        const text = readFileSync(join(project, 'node_modules/cloister', file), 'utf8');
        const links = [...text.matchAll(/\]\(([^)\s]+)\)/gu)].map(([, link]) => link!);
        return links
          .filter((link) => !/^(?:[a-z]+:|#)/u.test(link))
          .filter((link) => !all.has(normalize(join(dirname(file), link.split('#')[0]!)).replace(/\/$/u, '')))
          .map((link) => `${file}: ${link}`);
      });
    expect(broken).toEqual([]);
  });

  test('says how to start with it, and its examples run as their page says', async () => {
    const installed = join(project, 'node_modules/cloister');
    const readme = readFileSync(join(installed, 'README.md'), 'utf8');
    const { engines } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(readme).toContain('npm i cloister');
    expect(readme).toContain(`You need Node ${engines.node.replace('>=', '')} or newer.`);
    const page = readFileSync(join(installed, 'examples/README.md'), 'utf8');
    const [, commands = ''] = /```\n([^]*?)```/u.exec(page) ?? [];
    const { stdout } = succeeded(await run('sh', ['-ec', commands], { cwd: project }));
    expect(stdout).toMatch(/^completed A cell is /u);
  });

  test('runs every command of its README, as it stands there', async () => {
    const readme = readFileSync(join(project, 'node_modules/cloister/README.md'), 'utf8');
    const lines = [...readme.matchAll(/```bash\n([^]*?)```/gu)].flatMap(([, block = '']) => block.trim().split('\n'));
    // It is installed already, and a server would not end.
    const commands = lines
      .map((line) => line.replace(/ +# .*$/u, ''))
      .filter((line) => line !== 'npm i cloister')
      .map((line) => (line === 'npx cloister studio' ? `${line} --help` : line));
    expect(commands.length).toBeGreaterThan(6);
    const place = join(project, 'readme');
    mkdirSync(place);
    const { stdout } = succeeded(await run('sh', ['-ec', commands.join('\n')], { cwd: place }));
    expect(stdout).toMatch(/^The plain loop sent 1 mail$[^]*accountant’s +4 of 5 +0 of 6$/mu);
    expect(stdout).toMatch(/^\*\*Test the restore[^]*^Verify lead: ok/mu);
  }, 60_000);

  test('has no publint errors', async () => {
    const { stdout } = succeeded(await run(join(repo, 'node_modules/.bin/publint'), ['run', tarball]));
    expect(stdout).not.toMatch(/Errors:/u);
  });

  test('runs the user’s own agents through the library, and audits them', async () => {
    const file = write(
      'own.js',
      `import { openCloister, defineAgent } from 'cloister';
       import { rehearse } from 'cloister/testkit';
       const models = [rehearse([
         { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'helper', args: { prompt: 'Help', reason: 'r' } }] } },
         { when: { agent: 'helper' }, reply: 'Helped.' },
         { when: { agent: 'lead' }, reply: 'All done.' },
       ])];
       const helper = defineAgent({ name: 'helper', description: 'Helps.', prompt: 'Help.', models });
       const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models, agents: [helper] });
       await using cloister = await openCloister({ agents: [lead], workspace: 'own' });
       const { run, status, output } = await cloister.run('lead', 'Go').outcome;
       const { ok, unattributedBytes } = await cloister.audit(run);
       console.log(JSON.stringify({ status, output, ok, unattributedBytes }));`,
    );
    const { stdout, stderr } = succeeded(await run(process.execPath, [file], { cwd: project }));
    expect(JSON.parse(stdout)).toEqual({ status: 'completed', output: 'All done.', ok: true, unattributedBytes: 0 });
    expect(stderr).toBe('');
  });

  test('runs the demo, and agents in TypeScript and JavaScript', async () => {
    const npx = (args: readonly string[]) => run('npx', ['cloister', ...args], { cwd: project });
    const code = (type: string) => `import { defineAgent } from 'cloister';
      import { rehearse } from 'cloister/testkit';
      const models${type} = [rehearse([{ reply: 'Mine.' }])];
      export default [defineAgent({ name: 'mine', description: 'Mine.', prompt: 'Be mine.', models })];`;
    const [demo, js, ts] = await Promise.all([
      npx(['demo', '--workspace', 'demo']),
      npx(['run', 'mine', 'x', '--agents', write('mine.js', code('')), '--workspace', 'js']),
      npx(['run', 'mine', 'x', '--agents', write('mine.ts', code(': any[]')), '--workspace', 'ts']),
    ]);
    expect(succeeded(demo).stdout).toMatch(/^Cloister sent 0 mails[^]* 0 bytes unattributed[^]*compared, .* · ok$/mu);
    expect(succeeded(js).stdout).toBe('Mine.\n');
    expect(succeeded(ts).stdout).toBe('Mine.\n');
  });

  test('is what `npm create cloister` runs, and its tests in TypeScript compile and pass', async () => {
    const create = [join(repo, 'tools/create-cloister/bin/create-cloister.js'), 'typed', '--template', 'typescript'];
    const made = succeeded(await run(process.execPath, create, { cwd: project, env: packageEnv() }));
    expect(made.stdout).toMatch(/^Created in .*typed, from the template typescript:\n/u);
    const folder = join(project, 'typed');
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
    for (const name of ['@types/node', 'undici-types', 'vitest'])
      symlinkSync(join(repo, 'node_modules', name), join(folder, 'node_modules', name));
    const compiled = await run(join(repo, 'node_modules/.bin/tsc'), [], { cwd: folder });
    expect(compiled).toMatchObject({ code: 0, stdout: '' });
  });

  test('has types that compile, including its own declarations', async () => {
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
    for (const name of ['@types/node', 'undici-types'])
      symlinkSync(join(repo, 'node_modules', name), join(project, 'node_modules', name));
    const file = write('typed.ts', typedConsumer);
    const options = ['--module', 'nodenext', '--moduleResolution', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const tsc = (more: readonly string[]) =>
      run(join(repo, 'node_modules/.bin/tsc'), ['--noEmit', '--strict', ...options, ...more, file], { cwd: project });
    const lib = ['--lib', 'es2024,esnext.disposable'];
    // Without `skipLibCheck`, the declarations of all packages that ours refer to are checked too.
    const [usual, deep] = await Promise.all([tsc([...lib, '--skipLibCheck']), tsc(lib)]);
    expect(usual).toMatchObject({ code: 0, stdout: '' });
    expect(deep).toMatchObject({ code: 0, stdout: '' });
  });
});

/** The first node in the path that is too old, if there is one. */
const oldNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .filter((file) => existsSync(file))
  .find((file) => {
    const [major = 0, minor = 0] = spawnSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' })
      .stdout.split('.')
      .map(Number);
    return major < 24 || (major === 24 && minor < 16);
  });

describe.skipIf(oldNode === undefined)(
  `on an older Node${oldNode === undefined ? ' (skipped: there is none in the path)' : ''}`,
  () => {
    const twoLines =
      /^cloister needs Node 24\.16 or newer; this is Node \d+\.\d+\.\d+\.\ntry: (npx -y -p node@24 .*)\n$/u;

    test.each([
      ['the installed command', () => join(project, 'node_modules/cloister/bin/cloister.js')],
      ['the command in a clone', () => join(repo, 'bin/cloister.js')],
    ])(
      '%s says what it needs, and the command that helps, which does',
      async (_what, command) => {
        const { code, stdout, stderr } = await run(oldNode ?? '', [command(), 'check', 'not here'], { cwd: project });
        expect(code).toBeGreaterThan(0);
        expect({ stdout, stderr }).toEqual({ stdout: '', stderr: expect.stringMatching(twoLines) });
        const [, hint = ''] = twoLines.exec(stderr) ?? [];
        const env = { ...packageEnv(), PATH: `${dirname(oldNode ?? '')}:${process.env['PATH'] ?? ''}` };
        const helped = await run('sh', ['-c', `${hint} --json`], {
          cwd: project,
          env: { ...env, npm_config_prefer_offline: 'true' },
        });
        expect(JSON.parse(helped.stdout)).toMatchObject({ ok: false, problems: [{ file: 'not here' }] });
      },
      120_000,
    );

    test.each([
      ['the library', `import { openCloister } from 'cloister';`],
      ['the testkit and the library', `import 'cloister/testkit';\nimport 'cloister';`],
      ['the library at run time', `await import('cloister');`],
    ])('importing %s says in one line what it needs, without a stack', async (what, code) => {
      const file = write(`old ${what}.mjs`, code);
      const ended = await run(oldNode ?? '', [file], { cwd: project });
      expect(ended.code).toBeGreaterThan(0);
      expect(ended.stderr.match(/^.*cloister needs Node 24\.16 or newer; this is Node \d.*$/gmu)).toHaveLength(1);
      expect(ended.stderr).not.toMatch(/\n\s+at |SyntaxError/u);
    });
  },
);

const typedConsumer = `
import { CloisterError, defineAgent, openCloister } from 'cloister';
import type { Agent, AuditReport, Cloister, ErrorCode, Outcome, RunEvent, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal, Script } from 'cloister/testkit';

const script: Script = [{ when: { agent: 'lead' }, reply: ({ goal }) => ({ text: goal }) }];
const model: Rehearsal = rehearse(script);
const tool: ToolDefinition = {
  name: 'now', description: 'Tells.', inputSchema: { type: 'object' },
  execute: async (args, { signal, key }) => (signal.aborted ? key : String(args['x'])),
};
const lead: Agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: '', models: [model, model.model], tools: [tool, 'read_file'] });
// @ts-expect-error: an agent is made by defineAgent
const fake: Agent = { name: 'fake' };
// @ts-expect-error: there is no such grant
defineAgent({ name: 'x', description: 'x', prompt: 'x', grants: ['everything'] });

await using cloister: Cloister = await openCloister({ agents: [lead, fake], store: 'memory' });
try {
  const session = cloister.run('lead', 'Go', { budget: { usd: 1 } });
  for await (const event of session) {
    const seen: RunEvent = event;
    if (seen.type === 'tool-end') seen.ok satisfies boolean;
  }
  const outcome: Outcome = await session.outcome;
  const report: AuditReport = await cloister.audit(session.run);
  outcome.status satisfies string;
  report.ok satisfies boolean;
} catch (error) {
  if (error instanceof CloisterError) error.code satisfies ErrorCode;
}
`;
