// `runs`, `show`, `dead-letters` and `audit`: show what the workspace holds about runs.
import type { CellWindow, Cloister, MailReport, RunReport } from '#contracts';
import { auditLines } from './shared/audit-lines.ts';
import type { CommandContext } from './shared/command-context.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { deadLetterLines, mailLines } from './shared/mail-lines.ts';
import { openGraphFile } from './shared/graph-file.ts';
import { openToRead } from './shared/open-run.ts';
import type { CliRequest } from './parse-args.ts';
import { resolveRun } from './shared/resolve-name.ts';
import { isInterrupted, runsLines } from './runs-lines.ts';
import { showLines } from './show-lines.ts';
import { sanitizeAll, sanitizeLine } from './shared/sanitize-text.ts';
import { windowLines } from './window-lines.ts';

type RequestOf<C extends CliRequest['command']> = Extract<CliRequest, { readonly command: C }>;

export const runsCommand = async (request: RequestOf<'runs'>, context: CommandContext): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, context);
  const runs = await cloister.runs();
  if (request.json) context.output.json(runs);
  else {
    const newest = runs.find(isInterrupted);
    // A log that cannot be read must not keep the other runs from being listed.
    const report = newest === undefined ? null : await cloister.show(newest.run).catch(() => null);
    context.output.out.print(...runsLines(sanitizeAll(runs), request.workspace, context.output.out, report?.chat));
  }
  return exitCode.completed;
};

export const showCommand = async (request: RequestOf<'show'>, context: CommandContext): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, context);
  const run = await resolveRun(cloister, request.run);
  if (request.window) return showWindows(request, await cloister.windows(run), context);
  if (request.mail) return showMail(request, await cloister.mail(run), context);
  const graph = await openGraphFile(request.graph, context.world);
  const report = await cloister.show(run);
  const isPlan = report.events.some((event) => event.type === 'session-start' && event.team?.planOnly === true);
  const tasks = isPlan ? [] : await cloister.tasks(run);
  if (graph !== null && tasks.length === 0)
    throw new UsageError(`run ${run} has no tasks, so there is no graph`, 'omit --graph');
  await graph?.write(tasks);
  if (request.json) context.output.json(tasks.length === 0 ? report : { ...report, tasks });
  else context.output.out.print(...showLines(sanitizeAll({ report, tasks }), request, context.output.out));
  if (graph !== null) context.output.err.print(`Graph written to ${sanitizeLine(graph.path)}.`);
  return exitCode.completed;
};

const showWindows = (
  { json, verbose }: RequestOf<'show'>,
  windows: readonly CellWindow[],
  { output }: CommandContext,
): ExitCode => {
  if (json) output.json(windows);
  else output.out.print(...windowLines(sanitizeAll(windows), verbose, output.out));
  return exitCode.completed;
};

const showMail = (
  { json, verbose }: RequestOf<'show'>,
  mail: readonly MailReport[],
  { output }: CommandContext,
): ExitCode => {
  if (json) output.json(mail);
  else output.out.print(...mailLines(sanitizeAll(mail), verbose, output.out));
  return exitCode.completed;
};

export const deadLettersCommand = async (
  request: RequestOf<'dead-letters'>,
  context: CommandContext,
): Promise<ExitCode> => {
  const { output } = context;
  await using cloister = await openToRead(request.workspace, context);
  const asked = request.run === null ? {} : { run: await resolveRun(cloister, request.run) };
  const dead = await cloister.deadLetters(asked);
  if (request.json) output.json(dead);
  else output.out.print(...deadLetterLines(sanitizeAll(dead), request, output.out));
  return exitCode.completed;
};

export const auditCommand = async (request: RequestOf<'audit'>, context: CommandContext): Promise<ExitCode> => {
  const { output } = context;
  await using cloister = await openToRead(request.workspace, context);
  const run = await resolveRun(cloister, request.run);
  const report = await cloister.audit(run);
  if (request.json) output.json(report);
  else {
    const events = await eventsOf(cloister, run);
    output.out.print(...auditLines(sanitizeAll(report), sanitizeAll(events), output.out.paint));
  }
  return report.ok ? exitCode.completed : exitCode.config;
};

/** A damaged run cannot be shown, but its audit must still be printed. */
const eventsOf = async (cloister: Cloister, run: string): Promise<RunReport['events']> => {
  try {
    return (await cloister.show(run)).events;
  } catch {
    return [];
  }
};
