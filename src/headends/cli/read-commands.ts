// `runs`, `show`, `deadletters` and `audit`: what the workspace knows of runs.
import type { CellWindow, Cloister, MailReport, RunReport } from '#contracts';
import { auditLines } from './audit-lines.ts';
import type { CommandContext } from './command-context.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { deadLetterLines, mailLines } from './mail-lines.ts';
import { openGraphFile } from './graph-file.ts';
import { openToRead } from './open-to-read.ts';
import type { CliRequest } from './parse-args.ts';
import { resolveRun } from './resolve-name.ts';
import { runsLines } from './runs-lines.ts';
import { showLines } from './show-lines.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';
import { UsageError } from './usage-error.ts';
import { windowLines } from './window-lines.ts';

type RequestOf<C extends CliRequest['command']> = Extract<CliRequest, { readonly command: C }>;

export const runsCommand = async (request: RequestOf<'runs'>, desk: CommandContext): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, desk);
  const runs = await cloister.runs();
  if (request.json) desk.output.json(runs);
  else desk.output.out.print(...runsLines(sanitizeAll(runs), request.workspace, desk.output.out));
  return exitCode.completed;
};

export const showCommand = async (request: RequestOf<'show'>, desk: CommandContext): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, desk);
  const run = await resolveRun(cloister, request.run);
  if (request.window) return showWindows(request, await cloister.windows(run), desk);
  if (request.mail) return showMail(request, await cloister.mail(run), desk);
  const graph = await openGraphFile(request.graph, desk.world);
  const report = await cloister.show(run);
  const isPlan = report.events.some((event) => event.type === 'session-start' && event.team?.planOnly === true);
  const tasks = isPlan ? [] : await cloister.tasks(run);
  if (graph !== null && tasks.length === 0)
    throw new UsageError(`nobody worked on tasks in run ${run}: it has no graph`, 'leave --graph out');
  await graph?.write(tasks);
  if (request.json) desk.output.json(tasks.length === 0 ? report : { ...report, tasks });
  else desk.output.out.print(...showLines(sanitizeAll({ report, tasks }), request, desk.output.out));
  if (graph !== null) desk.output.err.print(`The graph is in ${sanitizeLine(graph.path)}.`);
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
  request: RequestOf<'deadletters'>,
  desk: CommandContext,
): Promise<ExitCode> => {
  const { output } = desk;
  await using cloister = await openToRead(request.workspace, desk);
  const asked = request.run === null ? {} : { run: await resolveRun(cloister, request.run) };
  const dead = await cloister.deadLetters(asked);
  if (request.json) output.json(dead);
  else output.out.print(...deadLetterLines(sanitizeAll(dead), request, output.out));
  return exitCode.completed;
};

export const auditCommand = async (request: RequestOf<'audit'>, desk: CommandContext): Promise<ExitCode> => {
  const { output } = desk;
  await using cloister = await openToRead(request.workspace, desk);
  const run = await resolveRun(cloister, request.run);
  const report = await cloister.audit(run);
  if (request.json) output.json(report);
  else {
    const events = await eventsOf(cloister, run);
    output.out.print(...auditLines(sanitizeAll(report), sanitizeAll(events), output.out.paint));
  }
  return report.ok ? exitCode.completed : exitCode.config;
};

/** A damaged run may not be shown, but its audit still has to be told. */
const eventsOf = async (cloister: Cloister, run: string): Promise<RunReport['events']> => {
  try {
    return (await cloister.show(run)).events;
  } catch {
    return [];
  }
};
