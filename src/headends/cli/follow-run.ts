// A run shown while it goes on, and told when it has ended: what `run`, `demo`, `resume` and `fork` have in common.
import { CloisterError } from '#base';
import type { JsonObject, RunId } from '#base';
import type { AuditReport, Cloister, Outcome, RunEvent, RunOutcome, RunReport, RunSession } from '#contracts';
import { auditLines } from './audit-lines.ts';
import type { Desk } from './desk.ts';
import { errorLines, failureValue } from './error-value.ts';
import { exitCode, exitOfOutcome } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { finLines } from './fin-lines.ts';
import { furtherLines } from './further-lines.ts';
import type { Page } from './output.ts';
import type { Common } from './request.ts';
import { openProgress } from './progress.ts';
import type { Progress, ProgressMode } from './progress.ts';
import { block, cleanCopy, oneLine } from './text.ts';

export type Followed = {
  readonly request: Common & { readonly jsonl: boolean };
  open(): Promise<Cloister>;
  begin(cloister: Cloister): RunSession | Promise<RunSession>;
  /** It is all for people: told on stdout, and audited. */
  readonly isDemo?: boolean;
  /** What the JSON value has besides. */
  readonly also?: JsonObject;
  /** Commands to go on with, besides the usual ones. */
  readonly further?: (run: RunId) => readonly string[];
};

export const followRun = async (followed: Followed, desk: Desk): Promise<ExitCode> => {
  const { interrupts } = desk;
  const stopping: Stopping = { session: undefined, progress: undefined };
  interrupts.orderly(() => stopInOrder(stopping, desk));

  await using cloister = await followed.open();
  if (interrupts.seen) throw new CloisterError('cancelled');
  const begun = followed.begin(cloister);
  // A new run is followed from its first moment: no await before its events are listened to.
  const session = 'then' in begun ? await begun : begun;
  const outcome = await follow(session, followed.request, desk, { stopping, redact: (text) => cloister.redact(text) });

  const code = await tell({ ...followed, cloister, outcome }, desk);
  return interrupts.seen ? exitCode.cancelled : code;
};

type Stopping = { session: RunSession | undefined; progress: Progress | undefined };

const stopInOrder = ({ session, progress }: Stopping, { output }: Desk): void => {
  const words = 'stopping… (Ctrl-C again to stop at once)';
  if (progress === undefined) output.err.print(words);
  else progress.notice(words);
  session?.cancel();
};

const follow = async (
  session: RunSession,
  request: Followed['request'],
  desk: Desk,
  { stopping, redact }: { readonly stopping: Stopping; readonly redact: (text: string) => string },
): Promise<RunOutcome> => {
  const progress = openProgress(progressMode(request, desk), desk.output, desk.world);
  desk.interrupts.onLeave(() => progress.close());
  const deaf = desk.world.onStrayError((error) => progress.notice(oneLine(redact(strayWords(error)))));
  stopping.session = session;
  stopping.progress = progress;
  // Ctrl-C may have come while the run was being taken up.
  if (desk.interrupts.seen) session.cancel();
  const note = (event: RunEvent): void => {
    progress.note(event);
    if (request.jsonl) desk.output.jsonLine(event);
  };
  try {
    // Together: an outcome that rejects must be heard even if the events never end.
    const [outcome] = await Promise.all([session.outcome, passOn(session, note)]);
    return outcome;
  } finally {
    deaf();
    progress.close();
  }
};

/** It came from a tool's own timers or sockets: no step waits for it, so the run goes on. */
const strayWords = (error: unknown): string =>
  `an error outside any tool call: ${error instanceof Error ? error.message : String(error)}`;

const passOn = async (session: RunSession, note: (event: RunEvent) => void): Promise<void> => {
  for await (const event of session) note(event);
};

/** Two programs must not draw on one terminal: a stdout that is piped may feed a pager. */
const progressMode = ({ json, jsonl, verbose }: Followed['request'], { world }: Desk): ProgressMode => {
  if (verbose) return 'verbose';
  if (json || jsonl) return 'none';
  return world.stdout.isTTY === true && world.stderr.isTTY === true ? 'tree' : 'lines';
};

type Ended = Followed & { readonly cloister: Cloister; readonly outcome: RunOutcome };

const tell = async (ended: Ended, desk: Desk): Promise<ExitCode> => {
  const { request, isDemo = false, cloister, outcome, also = {} } = ended;
  const { output } = desk;
  if (request.jsonl) output.jsonLine({ type: 'outcome', ...outcomeValue(outcome), ...also });
  // The answer first: whatever goes wrong below, it has been given.
  else if (!request.json) tellAnswer(outcome, desk);
  if (request.jsonl && !isDemo) return exitOfOutcome(outcome);

  const report = await cloister.show(outcome.run);
  const audit = isDemo ? await cloister.audit(outcome.run) : null;
  if (request.json) {
    const checked = audit === null ? {} : { audit, workspace: cloister.workspace };
    output.json({ ...outcomeValue(outcome), cells: report.cells, events: report.events, ...also, ...checked });
  } else if (!request.jsonl) tellFigures(ended, cleanCopy({ report, audit }), desk);

  const code = exitOfOutcome(outcome);
  return code === exitCode.completed && audit?.ok === false ? exitCode.config : code;
};

const tellAnswer = (outcome: Outcome, { world, output }: Desk): void => {
  if (world.stdout.isTTY === true) output.out.print('');
  // An answer that was asked for as JSON is JSON alone, for the program that reads it.
  if (outcome.data !== null) return output.out.print(JSON.stringify(outcome.data, null, 2));
  if (outcome.output !== '') output.out.print(block(outcome.output).trimEnd());
};

/** Except in the demo, stdout holds the answer alone. */
const tellFigures = (
  { request, isDemo, cloister, outcome, further }: Ended,
  { report, audit }: { readonly report: RunReport; readonly audit: AuditReport | null },
  { output }: Desk,
): void => {
  const page: Page = isDemo === true ? output.out : output.err;
  page.print('', ...finLines(report, page, request.verbose));
  if (outcome.missing.length > 0) page.print(`missing: ${oneLine(outcome.missing.join(', '))}`);
  if (outcome.failure !== null) output.err.print(...errorLines(failureValue(outcome.failure)));
  if (audit !== null) page.print('', ...auditLines(audit, report.events, page.paint));
  if (cloister.workspace === null) return;
  const where = { folder: cleanCopy(cloister.workspace), given: request.workspace };
  page.print('', ...furtherLines(report, { ...where, also: further?.(outcome.run) ?? [] }));
};

const outcomeValue = ({ run, status, output, data, failure, spent, missing }: RunOutcome) => ({
  run,
  status,
  output,
  data,
  error: failure === null ? null : failureValue(failure),
  spent,
  missing,
});
