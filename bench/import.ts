import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Benchmark } from './benchmark.ts';
import { compare } from './measure.ts';
import { installInto } from './published.ts';

const run = promisify(execFile);

export const importBenchmark: Benchmark = {
  name: 'import',
  about: "CPU of import 'cloister' (published package), compared with starting Node alone",
  async run() {
    const project = await mkdtemp(join(tmpdir(), 'cloister-bench-import-'));
    try {
      const home = await installInto(project);
      const cpu = await compare(
        { warm: 2, measured: 25 },
        { raw: () => cpuOf(project, ''), cloister: () => cpuOf(project, `import 'cloister';`) },
      );
      const vendors = await vendorsLoaded(project, home);
      return [
        {
          what: 'CPU of the import',
          unit: 'ms',
          raw: cpu.raw,
          cloister: cpu.cloister,
          figure: cpu.cloister - cpu.raw,
          figureUnit: 'ms',
          target: { atMost: 60 },
        },
        {
          what: 'vendor modules loaded',
          unit: '',
          raw: null,
          cloister: vendors.length,
          figure: vendors.length,
          figureUnit: '',
          target: { atMost: 0 },
          ...(vendors.length > 0 && { note: vendors.join(', ') }),
        },
      ];
    } finally {
      await rm(project, { recursive: true, force: true });
    }
  },
};

const evaluate = async (project: string, code: string): Promise<string> => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { cwd: project });
  return stdout;
};

/** CPU milliseconds of a whole process, from its start to the end of the code. */
const cpuOf = async (project: string, code: string): Promise<number> => {
  const report = await evaluate(project, `${code}process.stdout.write(JSON.stringify(process.cpuUsage()))`);
  const { user, system } = JSON.parse(report) as NodeJS.CpuUsage;
  return (user + system) / 1_000;
};

/** Modules that are neither Node's nor ours. Node's SQLite counts too: it is a vendor's code. */
const vendorsLoaded = async (project: string, home: string): Promise<readonly string[]> => {
  const report = await evaluate(
    project,
    `import { registerHooks } from 'node:module';
     const loaded = [];
     registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
     await import('cloister');
     process.stdout.write(JSON.stringify({ loaded, builtins: process.moduleLoadList }));`,
  );
  const { loaded, builtins } = JSON.parse(report) as { loaded: string[]; builtins: string[] };
  const own = loaded.filter((url) => url.startsWith(pathToFileURL(home).href));
  if (own.length === 0) throw new Error('The import loaded no module of the package.');
  const sqlite = builtins.filter((name) => name === 'NativeModule sqlite');
  return [...loaded.filter((url) => !url.startsWith('node:') && !own.includes(url)), ...sqlite];
};
