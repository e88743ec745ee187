// `import`: writes agents of other runtimes as agent files, and reports what is not as it was.
import type { ImportedFile, ImportReport } from '#contracts';
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { shellWord } from './shared/next-commands.ts';
import { configOption, flagOption, requiredArgument } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { sanitizeLine, wrapText } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'write agents of Claude Code, Copilot and other runtimes as agent files; overwrites nothing',
  examples: ['cloister import .claude/agents', 'cloister import . --to agents --dry-run'],
  arguments: { path: requiredArgument('a file or folder: Claude or Copilot agents (.md), .ai files, .mcp.json') },
  options: {
    to: { about: 'target folder', takes: '<dir>', absent: 'agents', initial: 'agents' },
    dryRun: flagOption('only report what would be written'),
    ...configOption,
  },
  run: async ({ path, to, dryRun, config, json }, { runtime, output }) => {
    const report = await runtime.import({ path, to, dryRun, config });
    output.result(json, report, (printer) => importLines(report, path, printer));
    return report.ok ? exitCode.completed : exitCode.config;
  },
});

const importLines = (report: ImportReport, path: string, screen: Screen): readonly string[] => {
  if (report.files.length === 0)
    return [
      `No agents of other runtimes found in ${sanitizeLine(path)}.`,
      'Looked for .md files with a name and a description, *.agent.md, .ai files and .mcp.json.',
    ];
  return [...report.files.flatMap((file) => fileLines(file, screen)), '', ...summaryLines(report, screen)];
};

const states: Readonly<Record<ImportedFile['state'], string>> = {
  written: '',
  planned: '',
  same: ' (unchanged)',
  exists: ' (not written: it exists with other content; move it, or use --to)',
  failed: ' (nothing in it can be used)',
  found: ' (left where it is: it can be used)',
};

const stateText = ({ what, state }: ImportedFile): string => (what === 'skills' ? ' (skills)' : states[state]);

const fileLines = ({ notes, ...file }: ImportedFile, { paint, columns }: Screen): readonly string[] => [
  `${sanitizeLine(file.from)}${file.to === null ? '' : ` → ${sanitizeLine(file.to)}`}${paint(isLeftOut(file) ? 'red' : 'dim', stateText({ ...file, notes }))}`,
  ...notes.flatMap(({ kind, line, key, message }) => {
    const place = `${line === null ? '' : `line ${line}, `}${key === null ? '' : `${key}: `}`;
    return wrapText(`  ${kind.padEnd(8)}`, sanitizeLine(`${place}${message}`), columns, 10);
  }),
];

const isLeftOut = ({ state }: Pick<ImportedFile, 'state'>): boolean => state === 'exists' || state === 'failed';

const summaryLines = ({ files, to }: ImportReport, { columns, paint }: Screen): readonly string[] => {
  const notes = files.flatMap((file) => file.notes);
  const count = (kind: string): number => notes.filter((note) => note.kind === kind).length;
  const agents = files.filter((file) => file.what === 'agent' && file.to !== null && !isLeftOut(file)).length;
  const kept = [...new Set(files.flatMap((file) => (file.state === 'exists' ? [file.to ?? file.from] : [])))];
  const unusable = files.flatMap((file) => (file.state === 'failed' ? [file.from] : []));
  const isPlanned = files.some(({ state }) => state === 'planned');
  const leftOutLines = (what: string, names: readonly string[], why: string): readonly string[] =>
    names.length === 0
      ? []
      : wrapText('', `${plural(names.length, 'file')} ${what}: ${sanitizeLine(names.join(', '))}, ${why}`, columns).map(
          (line) => paint('red', line),
        );
  return [
    ...wrapText(
      '',
      `${plural(agents, 'agent')} in ${sanitizeLine(to)}${isPlanned ? ' (nothing was written)' : ''} · ${count('changed')} changed, ${count('dropped')} dropped, ${count('decide')} to decide`,
      columns,
    ),
    // What went wrong comes last, where it is seen.
    ...leftOutLines('not written', kept, 'because other content is there. Move it, or use --to.'),
    ...leftOutLines('not imported', unusable, 'because nothing in it can be used.'),
    ...(isPlanned || kept.length + unusable.length > 0 ? [] : [`Next: cloister check ${shellWord(to)}`]),
  ];
};
