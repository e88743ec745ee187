// Shows a run live.
import type { RunEvent, RunOutcome, RunSession, TeamSession } from '#contracts';
import type { CommandContext } from './command-context.ts';
import { openProgress } from './progress.ts';
import type { Progress, ProgressMode } from './progress.ts';
import type { OutputFlags } from './request.ts';
import { sanitizeLine } from './sanitize-text.ts';

/** What an interrupt stops. */
export type InterruptTarget = { session: RunSession | undefined; progress: Progress | undefined };

export type RunOutputFlags = OutputFlags & { readonly jsonl: boolean };

export const stoppingNotice = 'stopping… (Ctrl-C again to stop immediately)';

export const requestStop = ({ session, progress }: InterruptTarget, { output }: CommandContext): void => {
  if (progress === undefined) output.err.print(stoppingNotice);
  else progress.notice(stoppingNotice);
  session?.cancel();
};

type LiveRunOptions = {
  readonly stopping: InterruptTarget;
  readonly redact: (text: string) => string;
  /** Also called for every event. */
  readonly onEvent?: (event: RunEvent) => void;
};

export const showLiveRun = async (
  session: RunSession,
  request: RunOutputFlags,
  context: CommandContext,
  { stopping, redact, onEvent }: LiveRunOptions,
): Promise<RunOutcome> => {
  const tasks = isTeam(session) ? () => session.queue.tasks() : undefined;
  const progress = openProgress(progressMode(request, context), context.output, context.world, { tasks });
  const restored = context.interrupts.onLeave(() => progress.close());
  const stopListening = context.world.onStrayError((error) =>
    progress.notice(sanitizeLine(redact(describeStrayError(error)))),
  );
  stopping.session = session;
  stopping.progress = progress;
  // Ctrl-C may have come while the run was being opened.
  if (context.interrupts.seen) session.cancel();
  const note = (event: RunEvent): void => {
    onEvent?.(event);
    progress.note(event);
    if (request.jsonl) context.output.jsonLine(event);
  };
  try {
    // Await both: an outcome that rejects must be noticed even if the events never end.
    const [outcome] = await Promise.all([session.outcome, forwardEvents(session, note)]);
    return outcome;
  } finally {
    stopListening();
    progress.close();
    restored();
  }
};

/** A resumed session has no queue; its events show that it is a team's. */
const isTeam = (session: RunSession): session is TeamSession => 'queue' in session;

/** The error came from a tool's own timers or sockets: no step waits for it, so the run continues. */
export const describeStrayError = (error: unknown): string =>
  `an error outside any tool call: ${error instanceof Error ? error.message : String(error)}`;

const forwardEvents = async (session: RunSession, note: (event: RunEvent) => void): Promise<void> => {
  for await (const event of session) note(event);
};

/** Two programs must not draw on one terminal: a stdout that is piped may feed a pager. */
export const progressMode = ({ json, jsonl, verbose }: RunOutputFlags, { world }: CommandContext): ProgressMode => {
  if (verbose) return 'verbose';
  if (json || jsonl) return 'none';
  return world.stdout.isTTY === true && world.stderr.isTTY === true ? 'tree' : 'lines';
};
