// Shows a run live and reports how it ended: what `run`, `resume`, `fork` and other commands have in common.
import { CloisterError } from '#base';
import type { JsonObject, RunId } from '#base';
import type {
  AuditReport,
  Cloister,
  MailReport,
  QuestionReport,
  RunEvent,
  RunOutcome,
  RunReport,
  RunSession,
  TaskReport,
  TeamSession,
} from '#contracts';
import { cliOutcomeJson, missingAgentLines, printedOutcome, spawnedLines } from './answer.ts';
import { openAnswerView } from './answer-view.ts';
import type { AnswerView } from './answer-view.ts';
import { auditLines } from './audit-lines.ts';
import { causeLines } from './cause-lines.ts';
import type { CommandContext } from './define-command.ts';
import { cliFailureJson, errorLines, exitCode, exitOfOutcome } from './errors.ts';
import type { ExitCode } from './errors.ts';
import { nextCommandLines } from './next-commands.ts';
import type { Printer } from './output.ts';
import { openProgress, progressMode } from './progress.ts';
import type { RunOutputFlags } from './progress.ts';
import { isInteractive, QuestionAsker } from './question-asker.ts';
import { waitingJson, waitingLines } from './question-lines.ts';
import type { WaitingRun } from './question-lines.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';
import { summaryLines } from './summary-lines.ts';
import { taskLines } from './task-lines.ts';

/** Lines about what was done at the end, and what failed. */
export type FinishNotes = { readonly notices: readonly string[]; readonly failures: readonly string[] };

type FollowRunOptions = {
  readonly request: RunOutputFlags & { readonly workspace: string };
  open(): Promise<Cloister>;
  begin(cloister: Cloister): RunSession | Promise<RunSession | null>;
  /** Reports that there is nothing to run: `begin` returned null. */
  readonly onNothingToRun?: () => void;
  /** The demo prints everything to stdout and audits the run. */
  readonly isDemo?: boolean;
  /** Additional fields of the JSON value. */
  readonly extraJson?: () => JsonObject;
  /** Only the plan of a team is wanted; its tasks are not run. */
  readonly isPlan?: boolean;
  /** Prints the answer in the command's own way. */
  readonly showAnswer?: (outcome: RunOutcome) => void;
  /** Called at the end, however the run ended. */
  readonly finish?: (outcome: RunOutcome, cloister: Cloister) => Promise<FinishNotes>;
  /** Next steps in addition to the usual ones. */
  readonly nextCommands?: (run: RunId) => readonly string[];
  /** The question whose answer has continued this run; null: it was refused, and is asked again. Read when the run has begun. */
  readonly answered?: () => string | null;
  /** The name under which the person at the terminal answers; null: the usual one. */
  readonly answerer?: string | null;
};

export const followRun = async (options: FollowRunOptions, context: CommandContext): Promise<ExitCode> => {
  const { interrupts, output } = context;
  interrupts.onFirst(() => output.err.print(stoppingNotice));
  await using cloister = await options.open();
  if (interrupts.seen) throw new CloisterError('cancelled');
  const begun = options.begin(cloister);
  // No await before somebody listens to the events of a new run: the first ones would be lost.
  const session = 'then' in begun ? await begun : begun;
  if (session === null) {
    options.onNothingToRun?.();
    return interrupts.seen ? exitCode.cancelled : exitCode.completed;
  }
  if (session.resident) void finishWhenAnswered(session, cloister);
  const view = openAnswerView(options.request, context);
  const shown = await showLiveRun(session, cloister, { ...options, view }, context);
  if ('left' in shown) return reportWaiting({ run: session.run, questions: shown.left }, options, context);
  const { outcome: told, isTeam } = shown;
  const outcome = await printedOutcome(told, cloister);
  const causes = (): ReturnType<RunSession['causes']> => session.causes();
  const ended = { ...options, view, cloister, outcome, causes, isTeam: isTeam && options.isPlan !== true };
  const code = await reportEnd(ended, context);
  return interrupts.seen ? exitCode.cancelled : code;
};

/** The run was left: it continues when somebody answers. */
const reportWaiting = (
  waiting: WaitingRun,
  { request, extraJson }: FollowRunOptions,
  { output }: CommandContext,
): ExitCode => {
  const json = { ...waitingJson(waiting, request.workspace), ...extraJson?.() };
  if (request.jsonl) output.jsonLine({ type: 'outcome', ...json });
  else if (request.json) output.json(json);
  else output.err.print('', ...waitingLines(waiting, request.workspace, output.err));
  return exitCode.waiting;
};

type EndedRun = FollowRunOptions & {
  readonly cloister: Cloister;
  readonly outcome: RunOutcome;
  readonly isTeam: boolean;
  readonly view: AnswerView;
  readonly causes: RunSession['causes'];
};

const reportEnd = async (ended: EndedRun, context: CommandContext): Promise<ExitCode> => {
  const { request, isDemo = false, cloister, outcome } = ended;
  const { output } = context;
  const also = ended.extraJson?.() ?? {};
  if (request.jsonl)
    output.jsonLine({ type: 'outcome', ...cliOutcomeJson(outcome), causes: await ended.causes(), ...also });
  // Print the answer first, so that it is out whatever fails below.
  else if (!request.json) (ended.showAnswer ?? showUsualAnswer(ended))(outcome);
  const { notices, failures } = (await ended.finish?.(outcome, cloister)) ?? { notices: [], failures: [] };
  output.err.print(...failures.map((line) => `error: ${sanitizeLine(sanitizeAll(line))}`));
  const all = { audit: null, wasFinished: failures.length === 0 };
  if (request.jsonl && !isDemo) return exitOf(outcome, all);

  const report = await cloister.show(outcome.run);
  const tasks = ended.isTeam ? await cloister.tasks(outcome.run) : [];
  const audit = isDemo ? await cloister.audit(outcome.run) : null;
  if (request.json) {
    const checked = audit === null ? {} : { audit, workspace: cloister.workspace };
    const ofTeam = ended.isTeam ? { tasks } : {};
    output.json({
      ...cliOutcomeJson(outcome),
      ...ofTeam,
      cells: report.cells,
      events: report.events,
      causes: report.causes,
      ...also,
      ...checked,
    });
  } else if (!request.jsonl) showFigures(ended, sanitizeAll({ report, audit, tasks, notices }), context);

  return exitOf(outcome, { ...all, audit });
};

/** A failed audit or a failed file counts only if the run itself completed. */
const exitOf = (
  outcome: RunOutcome,
  { audit, wasFinished }: { readonly audit: AuditReport | null; readonly wasFinished: boolean },
): ExitCode => {
  const code = exitOfOutcome(outcome);
  return code === exitCode.completed && (audit?.ok === false || !wasFinished) ? exitCode.config : code;
};

/** The data of a team's answer are its tasks, which are printed separately. */
const showUsualAnswer =
  ({ isTeam, view }: EndedRun) =>
  (outcome: RunOutcome): void =>
    view.print(isTeam ? { output: outcome.output, data: null } : outcome);

type EndReport = {
  readonly report: RunReport;
  readonly audit: AuditReport | null;
  readonly tasks: readonly TaskReport[];
  readonly notices: readonly string[];
};

/** Except in the demo, stdout gets only the answer. */
const showFigures = (
  { request, isDemo, cloister, outcome, nextCommands }: EndedRun,
  { report, audit, tasks, notices }: EndReport,
  { output }: CommandContext,
): void => {
  const printer: Printer = isDemo === true ? output.out : output.err;
  printer.print('', ...summaryLines(report, printer, request.verbose));
  if (tasks.length > 0) printer.print('', ...taskLines(tasks, printer));
  else printer.print(...missingAgentLines(outcome));
  printer.print(...spawnedLines(outcome));
  const { workspace, verbose } = request;
  const causes = causeLines(report.causes, { run: report.run, workspace, verbose }, printer);
  if (causes.length > 0) printer.print('', ...causes);
  if (outcome.failure !== null) output.err.print(...errorLines(cliFailureJson(outcome.failure)));
  if (audit !== null) printer.print('', ...auditLines(audit, report.events, printer.paint));
  if (notices.length > 0) printer.print('', ...notices.map((line) => sanitizeLine(line)));
  if (cloister.workspace === null) return;
  const where = { folder: sanitizeAll(cloister.workspace), given: request.workspace };
  printer.print('', ...nextCommandLines(report, { ...where, tasks, extra: nextCommands?.(outcome.run) ?? [] }));
};

export const stoppingNotice = 'stopping… (Ctrl-C again to stop immediately)';

type ShownRun =
  | { readonly outcome: RunOutcome; readonly isTeam: boolean }
  /** The run was left with these open questions. */
  | { readonly left: readonly QuestionReport[] };

const showLiveRun = async (
  session: RunSession,
  cloister: Cloister,
  { request, view, showAnswer, answered, answerer = null }: FollowRunOptions & { readonly view: AnswerView },
  context: CommandContext,
): Promise<ShownRun> => {
  const { interrupts, output, system } = context;
  const tasks = hasQueue(session) ? () => session.queue.tasks() : undefined;
  // A command that prints the answer in its own way streams nothing.
  const answer = showAnswer === undefined && !request.jsonl ? view : null;
  const progress = openProgress(progressMode(request, context), context, { tasks, answer: answer?.text ?? null });
  const restored = interrupts.onLeave(() => progress.close());
  const stopListening = system.onStrayError((error) =>
    progress.notice(sanitizeLine(cloister.redact(describeStrayError(error)))),
  );
  const questions = new QuestionAsker(
    {
      session,
      cloister,
      workspace: request.workspace,
      openLines: isInteractive(request, context) ? () => context.terminal.lines() : null,
      pause: () => progress.pause(),
      answered: answered?.() ?? null,
      answerer,
    },
    context,
  );
  interrupts.onFirst(() => {
    questions.close();
    progress.notice(stoppingNotice);
    session.cancel();
  });
  // Ctrl-C may have come while the run was being opened.
  if (interrupts.seen) session.cancel();
  let isTeam = false;
  const showEvents = async (): Promise<void> => {
    for await (const event of session) {
      isTeam ||= isOfTeam(event, cloister);
      answer?.note(event);
      progress.note(event);
      questions.note(event);
      if (request.jsonl) output.jsonLine(event);
    }
  };
  try {
    // Await both: an outcome that rejects must be noticed even if the events never end.
    const [outcome] = await Promise.all([session.outcome, showEvents()]);
    // The summary says the same.
    progress.erase();
    return { outcome, isTeam };
  } catch (error) {
    if (questions.left === null) throw error;
    progress.erase();
    return { left: questions.left };
  } finally {
    questions.close();
    stopListening();
    progress.close();
    restored();
  }
};

/** Before its first task event, a team is recognised by its definition. */
const isOfTeam = (event: RunEvent, { agents }: Cloister): boolean =>
  event.type === 'task' ||
  (event.type === 'session-start' &&
    event.parent === null &&
    agents.some(({ name, team }) => name === event.agent && (team ?? null) !== null));

/** A resumed session has no queue; its events show that it is a team's. */
const hasQueue = (session: RunSession): session is TeamSession => 'queue' in session;

/** The error came from a tool's own timers or sockets: no step waits for it, so the run continues. */
export const describeStrayError = (error: unknown): string =>
  `an error outside any tool call: ${error instanceof Error ? error.message : String(error)}`;

/** Lets a long-lived session answer what it was already asked, then ends it: no user is there to write more. Never rejects. */
const finishWhenAnswered = async (session: RunSession, cloister: Cloister): Promise<void> => {
  try {
    const mail = await cloister.mail(session.run);
    const { goal } = await cloister.show(session.run);
    const asked = [...(goal === '' ? [] : [undefined]), ...unanswered(mail)];
    await Promise.allSettled(asked.map((message) => session.answer(message, { confirm: false })));
    session.finish();
  } catch {
    // The session has ended in the meantime; the outcome says how.
  }
};

const unanswered = (mail: readonly MailReport[]): readonly string[] => {
  const answered = new Set(mail.map(({ correlation_id: of }) => of));
  return mail
    .filter(({ from, message_type: type, state }) => from === 'outside' && type === 'message' && state !== 'dead')
    .flatMap(({ id }) => (answered.has(id) ? [] : [id]));
};
