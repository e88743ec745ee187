// A run shown while it goes on, and told when it has ended: what `run`, `resume`, `fork` and others have in common.
import { CloisterError } from '#base';
import type { JsonObject, RunId } from '#base';
import type { AuditReport, Cloister, RunEvent, RunOutcome, RunReport, RunSession, TaskReport } from '#contracts';
import { cliOutcomeJson, printAnswer } from './answer.ts';
import { auditLines } from './audit-lines.ts';
import type { CommandContext } from './command-context.ts';
import { errorLines, cliFailureJson } from './error-value.ts';
import { exitCode, exitOfOutcome } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { summaryLines } from './summary-lines.ts';
import { finishWhenAnswered } from './finish-when-answered.ts';
import { follow, stopInOrder } from './show-live-run.ts';
import type { InterruptTarget } from './show-live-run.ts';
import { furtherLines } from './next-commands.ts';
import type { Page } from './output.ts';
import type { Common } from './request.ts';
import { taskLines } from './task-lines.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';

/** Lines that say what was done, and what could not be. */
export type FinishNotes = { readonly said: readonly string[]; readonly failed: readonly string[] };

export type FollowRunOptions = {
  readonly request: Common & { readonly jsonl: boolean };
  open(): Promise<Cloister>;
  begin(cloister: Cloister): RunSession | Promise<RunSession | null>;
  /** Tells that there was nothing to run: `begin` gave null. */
  readonly still?: () => void;
  /** It is all for people: told on stdout, and audited. */
  readonly isDemo?: boolean;
  /** What the JSON value has besides. */
  readonly also?: () => JsonObject;
  /** Of a team, only a plan is wanted: nobody works on its tasks. */
  readonly isPlan?: boolean;
  /** Tells the answer in its own way. */
  readonly tellAnswer?: (outcome: RunOutcome) => void;
  /** What is done at the end, however it ended. */
  readonly finish?: (outcome: RunOutcome, cloister: Cloister) => Promise<FinishNotes>;
  /** Commands to go on with, besides the usual ones. */
  readonly further?: (run: RunId) => readonly string[];
};

export const followRun = async (followed: FollowRunOptions, desk: CommandContext): Promise<ExitCode> => {
  const { interrupts } = desk;
  const stopping: InterruptTarget = { session: undefined, progress: undefined };
  interrupts.orderly(() => stopInOrder(stopping, desk));

  await using cloister = await followed.open();
  if (interrupts.seen) throw new CloisterError('cancelled');
  const begun = followed.begin(cloister);
  // A new run is followed from its first moment: no await before its events are listened to.
  const session = 'then' in begun ? await begun : begun;
  if (session === null) {
    followed.still?.();
    return interrupts.seen ? exitCode.cancelled : exitCode.completed;
  }
  if (session.resident) void finishWhenAnswered(session, cloister);
  let isTeam = false;
  const outcome = await follow(session, followed.request, desk, {
    stopping,
    redact: (text) => cloister.redact(text),
    seen: (event) => void (isTeam ||= isOfTeam(event, cloister)),
  });

  const code = await tell({ ...followed, cloister, outcome, isTeam: isTeam && followed.isPlan !== true }, desk);
  return interrupts.seen ? exitCode.cancelled : code;
};

/** A team that has not come to its tasks is told by its definition. */
const isOfTeam = (event: RunEvent, { agents }: Cloister): boolean =>
  event.type === 'task' ||
  (event.type === 'session-start' &&
    event.parent === null &&
    agents.some(({ name, team }) => name === event.agent && (team ?? null) !== null));

type Ended = FollowRunOptions & { readonly cloister: Cloister; readonly outcome: RunOutcome; readonly isTeam: boolean };

const tell = async (ended: Ended, desk: CommandContext): Promise<ExitCode> => {
  const { request, isDemo = false, cloister, outcome } = ended;
  const { output } = desk;
  const also = ended.also?.() ?? {};
  if (request.jsonl) output.jsonLine({ type: 'outcome', ...cliOutcomeJson(outcome), ...also });
  // The answer first: whatever goes wrong below, it has been given.
  else if (!request.json) (ended.tellAnswer ?? tellUsually(ended, desk))(outcome);
  const { said, failed } = (await ended.finish?.(outcome, cloister)) ?? { said: [], failed: [] };
  output.err.print(...failed.map((line) => `error: ${sanitizeLine(sanitizeAll(line))}`));
  const all = { audit: null, wasFinished: failed.length === 0 };
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
      ...also,
      ...checked,
    });
  } else if (!request.jsonl) tellFigures(ended, sanitizeAll({ report, audit, tasks, said }), desk);

  return exitOf(outcome, { ...all, audit });
};

/** What was asked for besides the answer counts when there is nothing worse. */
const exitOf = (
  outcome: RunOutcome,
  { audit, wasFinished }: { readonly audit: AuditReport | null; readonly wasFinished: boolean },
): ExitCode => {
  const code = exitOfOutcome(outcome);
  return code === exitCode.completed && (audit?.ok === false || !wasFinished) ? exitCode.config : code;
};

/** The data of a team's answer are its tasks, which are told apart. */
const tellUsually =
  ({ isTeam }: Ended, desk: CommandContext) =>
  (outcome: RunOutcome): void =>
    printAnswer(isTeam ? { output: outcome.output, data: null } : outcome, desk);

type Figures = {
  readonly report: RunReport;
  readonly audit: AuditReport | null;
  readonly tasks: readonly TaskReport[];
  readonly said: readonly string[];
};

/** Except in the demo, stdout holds the answer alone. */
const tellFigures = (
  { request, isDemo, cloister, outcome, further }: Ended,
  { report, audit, tasks, said }: Figures,
  { output }: CommandContext,
): void => {
  const page: Page = isDemo === true ? output.out : output.err;
  page.print('', ...summaryLines(report, page, request.verbose));
  if (tasks.length > 0) page.print('', ...taskLines(tasks, page));
  else if (outcome.missing.length > 0) page.print(`missing: ${sanitizeLine(outcome.missing.join(', '))}`);
  if (outcome.failure !== null) output.err.print(...errorLines(cliFailureJson(outcome.failure)));
  if (audit !== null) page.print('', ...auditLines(audit, report.events, page.paint));
  if (said.length > 0) page.print('', ...said.map((line) => sanitizeLine(line)));
  if (cloister.workspace === null) return;
  const where = { folder: sanitizeAll(cloister.workspace), given: request.workspace };
  page.print('', ...furtherLines(report, { ...where, tasks, also: further?.(outcome.run) ?? [] }));
};
