// npm run bench [-- <name> …] [--json]: Cloister against a hand-written loop on the same model, in one run.
// A missed target is only a line in the table; the exit code is non-zero only on an error.
import { cpus } from 'node:os';
import { auditBenchmark } from './audit.ts';
import { isMet } from './benchmark.ts';
import type { Benchmark, Line } from './benchmark.ts';
import { checkBenchmark } from './check.ts';
import { checkpointBenchmark } from './checkpoint.ts';
import { durableBenchmark } from './durable.ts';
import { eightChildrenBenchmark } from './eight-children.ts';
import { elsewhereBenchmark } from './elsewhere.ts';
import { findRunsBenchmark } from './find-runs.ts';
import { importBenchmark } from './import.ts';
import { inFlightBenchmark } from './in-flight.ts';
import { longSessionsBenchmark } from './long-sessions.ts';
import { mailBenchmark } from './mail.ts';
import { mailReportsBenchmark } from './mail-reports.ts';
import { oneToolBenchmark } from './one-tool.ts';
import { questionsBenchmark } from './questions.ts';
import { residentBenchmark } from './resident.ts';
import { resumeResidentBenchmark } from './resume-resident.ts';
import { resumeBenchmark } from './resume.ts';
import { schemasBenchmark } from './schemas.ts';
import { slowReadersBenchmark } from './slow-readers.ts';
import { serveBenchmark } from './serve/serve.ts';
import { postgresBenchmark } from './postgres.ts';
import { sqliteBenchmark } from './sqlite.ts';
import { teamsBenchmark } from './teams.ts';
import { tokenEstimateBenchmark } from './token-estimate.ts';
import { toldBenchmark } from './told.ts';
import { turnsBenchmark } from './turns.ts';
import { severalProcessesBenchmark } from './several-processes.ts';
import { stallsBenchmark } from './stalls.ts';
import { windowBenchmark } from './window.ts';

const benchmarks: readonly Benchmark[] = [
  oneToolBenchmark,
  eightChildrenBenchmark,
  turnsBenchmark,
  longSessionsBenchmark,
  inFlightBenchmark,
  importBenchmark,
  sqliteBenchmark,
  durableBenchmark,
  toldBenchmark,
  severalProcessesBenchmark,
  postgresBenchmark,
  elsewhereBenchmark,
  resumeBenchmark,
  findRunsBenchmark,
  auditBenchmark,
  residentBenchmark,
  resumeResidentBenchmark,
  checkBenchmark,
  schemasBenchmark,
  tokenEstimateBenchmark,
  windowBenchmark,
  checkpointBenchmark,
  mailBenchmark,
  mailReportsBenchmark,
  questionsBenchmark,
  teamsBenchmark,
  stallsBenchmark,
  slowReadersBenchmark,
  serveBenchmark,
];

const main = async (args: readonly string[]): Promise<void> => {
  const names = args.filter((arg) => arg !== '--json');
  const unknown = names.find((name) => benchmarks.every((benchmark) => benchmark.name !== name));
  if (unknown !== undefined) {
    console.error(`Unknown benchmark "${unknown}". Available:\n${list()}\n\nExample: npm run bench -- one-tool`);
    process.exitCode = 4;
    return;
  }
  const chosen = benchmarks.filter(({ name }) => names.length === 0 || names.includes(name));
  const results: Result[] = [];
  for (const benchmark of chosen) {
    console.error(`${benchmark.name}: ${benchmark.about} …`);
    for (const line of await benchmark.run()) results.push({ name: benchmark.name, ...line, met: isMet(line) });
  }
  console.log(args.includes('--json') ? JSON.stringify(toJson(results)) : table(results));
};

type Result = Line & { readonly name: string; readonly met: boolean | null };

const list = (): string => benchmarks.map(({ name, about }) => `  ${name.padEnd(16)}${about}`).join('\n');

const toJson = (results: readonly Result[]) => ({
  node: process.versions.node,
  cpu: cpus()[0]?.model ?? null,
  cores: cpus().length,
  met: results.every(({ met }) => met !== false),
  results,
});

const table = (results: readonly Result[]): string => {
  const heads = ['benchmark', 'measured', 'raw', 'cloister', 'ratio', 'target', ''];
  const rows = [heads, ...results.map(toRow)];
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row
      .map((text, column) => pad(text, column, widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  const notes = results.flatMap(({ name, note }) => (note === undefined ? [] : [`${name}: ${note}`]));
  return [...lines, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
};

const toRow = ({ name, what, raw, cloister, figure, target, met, unit, figureUnit }: Result): readonly string[] => {
  return [
    name,
    what,
    raw === null ? '–' : formatAmount(raw, unit),
    formatAmount(cloister, unit),
    formatAmount(figure, figureUnit),
    target === null ? '–' : `${formatTarget(target)} ${figureUnit}`.trimEnd(),
    met === null ? '' : met ? 'met' : 'missed',
  ];
};

const formatTarget = (target: NonNullable<Line['target']>): string =>
  'atMost' in target ? `≤ ${target.atMost}` : `≥ ${target.atLeast}`;

const formatAmount = (value: number, unit: string): string => {
  const digits = Number.isInteger(value) || value >= 1_000 ? 0 : value >= 100 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`.trimEnd();
};

const numberColumns = [2, 3, 4];

const pad = (text: string, column: number, width: number): string =>
  numberColumns.includes(column) ? text.padStart(width) : text.padEnd(width);

await main(process.argv.slice(2));
