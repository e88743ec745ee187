// `rebuild`: derives the list of runs, and the files of a run, from the logs again.
import type { RebuildReport } from '#contracts';
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { openToRead, resolveRun } from './shared/find-and-open.ts';
import { flagOption, optionalArgument, workspaceOption } from './shared/options.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'derive the list of runs from their logs again, and the step files and long outputs of a run',
  examples: ['cloister rebuild', 'cloister rebuild last'],
  arguments: { run: optionalArgument('a run id, a prefix of one, or `last`; default: all runs') },
  options: {
    ...workspaceOption,
    files: flagOption('without a run: make the files of all runs, too'),
  },
  run: async ({ run: named, files, workspace, json }, { runtime, output }) => {
    await using cloister = await openToRead(workspace, runtime);
    const run = named === null ? undefined : await resolveRun(cloister, named);
    const report = await cloister.rebuild(run, files ? { files } : {});
    const folder = run === undefined ? 'runs' : `runs/${run}`;
    output.result(json, report, () => rebuildLines(report, `${cloister.workspace ?? workspace}/${folder}`));
    return report.skipped.length === 0 ? exitCode.completed : exitCode.config;
  },
});

const rebuildLines = ({ runs, listed, files, skipped }: RebuildReport, folder: string): readonly string[] => [
  listed.length === 0 && files === 0
    ? `Read ${logs(runs)}. Nothing had to be changed.`
    : `Read ${logs(runs)}. Changed: ${changes(listed.length, files)}.`,
  ...(files === 0 ? [] : [`The files are in ${sanitizeLine(folder)}`]),
  ...listed.map((run) => `  the entry of ${sanitizeLine(run)}`),
  ...skipped.map(({ run, problem }) => `  ${sanitizeLine(run)} was left as it is: ${sanitizeLine(problem)}`),
];

const logs = (runs: number): string => (runs === 1 ? 'the log of 1 run' : `the logs of ${runs} runs`);

const changes = (listed: number, files: number): string =>
  [
    ...(listed === 0 ? [] : [`${listed === 1 ? '1 entry' : `${listed} entries`} of the list of runs`]),
    ...(files === 0 ? [] : [plural(files, 'file')]),
  ].join(' and ');
