// npm run test:clients: real client programs, unchanged, against a server whose model is a rehearsal.
//
// Installs them from npm into node_modules/.clients, then runs everything in a network namespace that has only loopback. Prints a
// table, and writes it to docs/CLIENTS.md. Exits with 1 if something does not work that should.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { clientsPage } from './clients-page.ts';
import type { ClientRow } from './clients-page.ts';
import { codingTools, knownLimits, libraries, libraryVersions, toolVersions, writeToolFiles } from './programs.ts';
import type { CodingTool } from './programs.ts';
import { tryRestarts } from './restarts.ts';
import { done, answer, fileName, ruled, serveGuide } from './served-agents.ts';

const root = resolve('node_modules/.clients');
const [libraryFolder, toolFolder] = [join(root, 'libraries'), join(root, 'tools')];
const [how, only] = process.argv.slice(2);

const install = (folder: string, versions: Readonly<Record<string, string>>): void => {
  const wanted = `${JSON.stringify({ private: true, type: 'module', dependencies: versions }, null, 2)}\n`;
  const path = join(folder, 'package.json');
  if (existsSync(path) && readFileSync(path, 'utf8') === wanted && existsSync(join(folder, '.installed'))) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, wanted);
  console.log(`Installing ${Object.keys(versions).length} packages into ${folder} …`);
  const options = ['--no-audit', '--no-fund', '--legacy-peer-deps', '--ignore-scripts', '--no-package-lock'];
  execFileSync('npm', ['install', ...options], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  // These two put the program for this machine in its place.
  for (const script of ['@anthropic-ai/claude-code/install.cjs', 'opencode-ai/postinstall.mjs']) {
    const file = join(folder, 'node_modules', script);
    if (existsSync(file)) execFileSync(process.execPath, [file], { cwd: join(file, '..'), stdio: 'ignore' });
  }
  const ripgrep = join(folder, 'node_modules/@qwen-code/qwen-code/vendor/ripgrep/x64-linux/rg');
  if (existsSync(ripgrep)) chmodSync(ripgrep, 0o755);
  writeFileSync(join(folder, '.installed'), '');
};

type RunResult = { readonly code: number | null; readonly stdout: string; readonly all: string };

/** No secret of the person who runs this reaches a client, and a client that speaks to anybody else finds nobody. */
const environment = (home: string, more: Readonly<Record<string, string>>): Record<string, string> => ({
  PATH: [join(process.execPath, '..'), process.env['PATH'] ?? ''].join(':'),
  HOME: home,
  LANG: 'C.UTF-8',
  CI: '1',
  NO_COLOR: '1',
  DO_NOT_TRACK: '1',
  MASTRA_TELEMETRY_DISABLED: '1',
  LANGCHAIN_TRACING_V2: 'false',
  ...(isBlocked ? {} : { HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, NO_PROXY: '127.0.0.1,localhost' }),
  ...more,
});

const nowhere = 'http://127.0.0.1:9';
const isBlocked = how === 'inside';

const run = (
  command: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Record<string, string> },
): Promise<RunResult> =>
  new Promise((settle) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 180_000 });
    let [stdout, all] = ['', ''];
    child.stdout.on('data', (data) => ((stdout += data), (all += data)));
    child.stderr.on('data', (data) => (all += data));
    child.on('error', (error) => settle({ code: null, stdout, all: `${all}${error.message}` }));
    child.on('close', (code) => settle({ code, stdout, all }));
  });

type Served = Awaited<ReturnType<typeof serveGuide>>;

const tryLibrary = async (name: string, { url, token }: Served): Promise<ClientRow> => {
  const home = mkdtempSync(join(tmpdir(), 'clients-'));
  const options = { cwd: libraryFolder, env: environment(home, {}) };
  const { stdout, all } = await run(process.execPath, ['libraries.mjs', url, token, name], options);
  const last = stdout.trim().split('\n').at(-1) ?? '';
  const results = last.startsWith('{') ? (JSON.parse(last) as ClientRow['results']) : { text: all.slice(-300) };
  return { name, version: libraryVersions[libraries[name]!], kind: 'library', results };
};

const tryTool = async (tool: CodingTool, served: Served, strict: Served): Promise<ClientRow> => {
  const home = mkdtempSync(join(tmpdir(), 'clients-'));
  const work = join(home, 'work');
  mkdirSync(work);
  spawnSync('git', ['init', '-q'], { cwd: work });
  const command = join(toolFolder, 'node_modules/.bin', tool.command);
  const say = async (prompt: string, server: Served): Promise<string> => {
    writeToolFiles(tool, server, home, work);
    const { all } = await run(command, tool.args(prompt), { cwd: work, env: environment(home, tool.env(server)) });
    return all;
  };
  const failure = (said: string, wanted: string): string | null => (said.includes(wanted) ? null : said.slice(-300));
  const question = 'Ask: city. What is the capital of Portugal?';
  const city = await say(question, served);
  const called = await say('Ask: tool. Write the file.', served);
  const file = join(work, fileName);
  const written = existsSync(file) && readFileSync(file, 'utf8') === 'pear' ? null : 'the file was not written';
  const plain = await say(question, strict);
  const results = {
    text: failure(city, answer),
    system: failure(city, ruled),
    tools: failure(called, done) ?? written,
    'without --compat': failure(plain, answer),
  };
  if (tool.command === 'claude') {
    const restarts = await tryRestarts(async ([prompt = '', ...more], server) => {
      const env = environment(server.home, tool.env(server));
      return (await run(command, [...tool.args(prompt).slice(0, 4), ...more], { cwd: server.work, env })).all;
    });
    for (const [feature, problem] of Object.entries(restarts)) {
      console.log(`${tool.name}, ${feature}: ${problem ?? 'yes'}`);
      if (problem !== null) results.tools ??= `${feature}: ${problem}`;
    }
  }
  rmSync(home, { recursive: true, force: true });
  return { name: tool.name, version: toolVersions[tool.package], kind: 'coding tool', results };
};

const tryAll = async (): Promise<readonly ClientRow[]> => {
  const served = await serveGuide(0, { compat: true });
  const strict = await serveGuide(0, { compat: false });
  const isWanted = (name: string): boolean => only === undefined || name.toLowerCase().includes(only.toLowerCase());
  const rows: ClientRow[] = [];
  const add = (row: ClientRow): void => {
    rows.push(row);
    const told = Object.entries(row.results).map(([feature, said]) => `${feature} ${said === null ? 'yes' : 'NO'}`);
    console.log(`${row.name} ${row.version}: ${told.join(', ')}`);
    for (const [feature, said] of Object.entries(row.results)) if (said !== null) console.log(`  ${feature}: ${said}`);
  };
  for (const name of Object.keys(libraries)) if (isWanted(name)) add(await tryLibrary(name, served));
  for (const tool of codingTools) if (isWanted(tool.name)) add(await tryTool(tool, served, strict));
  for (const { server, cloister } of [served, strict]) {
    await server.stop(0);
    await cloister.close();
  }
  return rows;
};

if (how === undefined || how === 'all') {
  install(libraryFolder, libraryVersions);
  install(toolFolder, toolVersions);
  copyFileSync('test/clients/libraries.mjs', join(libraryFolder, 'libraries.mjs'));
  const self = [process.execPath, ...process.execArgv, 'test/clients/main.ts'];
  const canBlock = spawnSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
  if (!canBlock)
    console.log('This machine has no network namespaces, so other addresses are blocked by a dead proxy only.');
  const [command, ...args] = canBlock
    ? ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...self, 'inside']
    : [...self, 'open'];
  const { status } = spawnSync(command, [...args, ...(only === undefined ? [] : [only])], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
} else {
  const rows = await tryAll();
  if (only === undefined) writeFileSync('docs/CLIENTS.md', clientsPage(rows, knownLimits));
  const unexpected = rows.flatMap(({ name, results }) =>
    Object.entries(results).filter(
      ([feature, said]) => said !== null && knownLimits[`${name} ${feature}`] === undefined,
    ),
  );
  console.log(unexpected.length === 0 ? 'All clients work as expected.' : `${unexpected.length} do not work.`);
  process.exit(unexpected.length === 0 ? 0 : 1);
}
