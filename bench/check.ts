// `cloister check` of many agent files, and loading one, against only reading and YAML-parsing the same files.
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { checkAgents } from '../src/app/agents/check-agents.ts';
import type { LaunchEnvironment } from '../src/app/agents/launch-environment.ts';
import { Configs } from '../src/app/agents/configs.ts';
import { loadRegistry } from '../src/app/agents/registry.ts';
import type { Benchmark, Line } from './benchmark.ts';
import { compare, threadMs } from './measure.ts';
import type { Comparison } from './measure.ts';

const run = promisify(execFile);
const sources = fileURLToPath(new URL('../', import.meta.url));
const filesCount = 10_000;
const loadsPerSample = 200;
const configName = '.ai-agent.json';

export const checkBenchmark: Benchmark = {
  name: 'check',
  about: `check of ${filesCount} agent files, and loading one, against reading and YAML-parsing them`,
  async run() {
    const root = mkdtempSync(join(tmpdir(), 'cloister-bench-check-'));
    try {
      return [
        line('one folder, per file', await checkAll(root, 'flat', (at) => `a${at}.ai`)),
        line('1,000 nested folders, per file', await checkAll(root, 'nested', nestedName)),
        line('loading one agent', await loadOne(root)),
        { ...line('… including process start', await startOne(root)), target: null },
      ];
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
};

const line = (what: string, { raw, cloister, ratio }: Comparison): Line => ({
  what,
  unit: 'µs',
  raw: raw * 1_000,
  cloister: cloister * 1_000,
  figure: ratio,
  figureUnit: '×',
  target: { atMost: 3 },
});

const nestedName = (at: number): string => {
  const folder = at % 1_000;
  return `f${folder % 10}/g${folder % 100}/h${folder}/a${at}.ai`;
};

/** Milliseconds per file. */
const checkAll = async (root: string, folder: string, nameOf: (at: number) => string): Promise<Comparison> => {
  const launch = writeAgents(join(root, folder), nameOf);
  const { raw, cloister, ratio } = await compare(
    { warm: 1, measured: 3 },
    {
      raw: () => threadMs(async () => expectAllFiles(readAll(launch.cwd))),
      cloister: () =>
        threadMs(async () => {
          const { ok, agents, problems } = await checkAgents(['.'], { launch });
          if (!ok) throw new Error(`The files are invalid: ${JSON.stringify(problems.slice(0, 3))}`);
          expectAllFiles(agents.length);
        }),
    },
  );
  return { raw: raw / filesCount, cloister: cloister / filesCount, ratio };
};

const expectAllFiles = (files: number): void => {
  if (files !== filesCount) throw new Error(`Read ${files} files instead of ${filesCount}.`);
};

/** Milliseconds to load an agent with a model, tools and limits, and the config that defines the model. */
const loadOne = async (root: string): Promise<Comparison> => {
  const launch = writeAgents(join(root, 'one'), (at) => `a${at}.ai`, 1);
  const path = join(launch.cwd, 'a0.ai');
  const config = join(launch.cwd, configName);
  const { raw, cloister, ratio } = await compare(
    { warm: 5, measured: 15 },
    {
      raw: () =>
        threadMs(async () => {
          for (let time = 0; time < loadsPerSample; time++) {
            readOne(path);
            parse(readFileSync(config, 'utf8'));
          }
        }),
      cloister: () =>
        threadMs(async () => {
          for (let time = 0; time < loadsPerSample; time++) {
            const { problems } = await loadRegistry([path], { configs: new Configs(launch) });
            if (problems.length > 0) throw new Error(problems[0]!.message);
          }
        }),
    },
  );
  return { raw: raw / loadsPerSample, cloister: cloister / loadsPerSample, ratio };
};

/** CPU milliseconds of a whole process that opens one agent with the published package. */
const startOne = async (root: string): Promise<Comparison> => {
  const project = writeAgents(join(root, 'start'), (at) => `a${at}.ai`, 1).cwd;
  const home = join(project, 'node_modules', 'cloister');
  mkdirSync(home, { recursive: true });
  copyFileSync(join(sources, 'package.json'), join(home, 'package.json'));
  symlinkSync(join(sources, 'node_modules'), join(home, 'node_modules'));
  symlinkSync(join(sources, 'node_modules', 'yaml'), join(project, 'node_modules', 'yaml'));
  await run(process.execPath, [join(sources, 'tools', 'build.ts'), join(home, 'dist')], { cwd: sources });
  const cpuOf = async (code: string): Promise<number> => {
    const report = `process.stdout.write(JSON.stringify(process.cpuUsage()))`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', `${code}\n${report}`], {
      cwd: project,
      env: { LOCAL_KEY: 'a-key-of-some-length' },
    });
    const { user, system } = JSON.parse(stdout) as NodeJS.CpuUsage;
    return (user + system) / 1_000;
  };
  return compare(
    { warm: 2, measured: 15 },
    {
      raw: () =>
        cpuOf(`import { readFileSync } from 'node:fs';
          import { parse } from 'yaml';
          parse(readFileSync('a0.ai', 'utf8').split(/^---$/mu)[1]);
          parse(readFileSync('${configName}', 'utf8'));`),
      cloister: () =>
        cpuOf(`import { openCloister } from 'cloister';
          await openCloister({ store: 'memory', agents: ['a0.ai'] });`),
    },
  );
};

const readAll = (folder: string): number => {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ai'));
  for (const { parentPath, name } of files) readOne(join(parentPath, name));
  return files.length;
};

/** The least work anybody must do to look at an agent file. */
const readOne = (path: string): { description: string } => {
  const [, frontmatter] = readFileSync(path, 'utf8').split(/^---$/mu);
  const value = parse(frontmatter ?? '') as { description?: unknown };
  if (typeof value.description !== 'string') throw new Error(`${path} has no description.`);
  return { description: value.description };
};

/** A working folder with these files and the operator's config. */
const writeAgents = (cwd: string, nameOf: (at: number) => string, count = filesCount): LaunchEnvironment => {
  const config = {
    providers: { local: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: '${LOCAL_KEY}' } },
    defaults: { temperature: 0.2 },
  };
  for (let at = 0; at < count; at++) {
    const path = join(cwd, nameOf(at));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, agentText(at));
  }
  writeFileSync(join(cwd, configName), JSON.stringify(config));
  return { cwd, home: join(cwd, 'no-home'), env: { LOCAL_KEY: 'a-key-of-some-length' } };
};

/** Small and large, with schemas and limits here and there; every tenth calls up to three that come before it. */
const agentText = (at: number): string => `---
description: Agent number ${at} looks one thing up and says what it found, in a few lines.
usage: What is known about number ${at}?
output:
  format: ${at % 4 === 0 ? 'json' : 'markdown'}
${at % 4 === 0 ? schemaText : ''}models: local/model-${at % 5}
tools: [read_file, write_file]
limits:
  maxToolTurns: ${(at % 20) + 1}
  timeout_ms: 5m
  llmTimeout: 60s
${at % 10 === 9 ? `agents: [${[1, 2, 3].map((back) => `a${at - back}`).join(', ')}]\n` : ''}---
${promptLine.repeat([5, 20, 100, 400][at % 4]!)}`;

const schemaText = `  schema:
    type: object
    properties:
      answer: { type: string, description: What was found. }
      sources: { type: array, items: { type: string } }
    required: [answer]
`;

const promptLine = 'Look at what you were asked, decide what is needed, and answer in a few plain words.\n';
