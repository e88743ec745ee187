// One run shown while it goes on.
import type { RunEvent, RunOutcome, RunSession, TeamSession } from '#contracts';
import type { CommandContext } from './command-context.ts';
import { openProgress } from './progress.ts';
import type { Progress, ProgressMode } from './progress.ts';
import type { OutputFlags } from './request.ts';
import { sanitizeLine } from './sanitize-text.ts';

/** What an interrupt stops. */
export type InterruptTarget = { session: RunSession | undefined; progress: Progress | undefined };

export type RunOutputFlags = OutputFlags & { readonly jsonl: boolean };

export const stoppingWords = 'stopping… (Ctrl-C again to stop at once)';

export const stopInOrder = ({ session, progress }: InterruptTarget, { output }: CommandContext): void => {
  if (progress === undefined) output.err.print(stoppingWords);
  else progress.notice(stoppingWords);
  session?.cancel();
};

type Following = {
  readonly stopping: InterruptTarget;
  readonly redact: (text: string) => string;
  /** Told of every event too. */
  readonly seen?: (event: RunEvent) => void;
};

export const follow = async (
  session: RunSession,
  request: RunOutputFlags,
  desk: CommandContext,
  { stopping, redact, seen }: Following,
): Promise<RunOutcome> => {
  const tasks = isTeam(session) ? () => session.queue.tasks() : undefined;
  const progress = openProgress(progressMode(request, desk), desk.output, desk.world, { tasks });
  const restored = desk.interrupts.onLeave(() => progress.close());
  const deaf = desk.world.onStrayError((error) => progress.notice(sanitizeLine(redact(strayWords(error)))));
  stopping.session = session;
  stopping.progress = progress;
  // Ctrl-C may have come while the run was being taken up.
  if (desk.interrupts.seen) session.cancel();
  const note = (event: RunEvent): void => {
    seen?.(event);
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
    restored();
  }
};

/** One that is gone on with is not known as a team's before its events tell. */
const isTeam = (session: RunSession): session is TeamSession => 'queue' in session;

/** It came from a tool's own timers or sockets: no step waits for it, so the run goes on. */
export const strayWords = (error: unknown): string =>
  `an error outside any tool call: ${error instanceof Error ? error.message : String(error)}`;

const passOn = async (session: RunSession, note: (event: RunEvent) => void): Promise<void> => {
  for await (const event of session) note(event);
};

/** Two programs must not draw on one terminal: a stdout that is piped may feed a pager. */
export const progressMode = ({ json, jsonl, verbose }: RunOutputFlags, { world }: CommandContext): ProgressMode => {
  if (verbose) return 'verbose';
  if (json || jsonl) return 'none';
  return world.stdout.isTTY === true && world.stderr.isTTY === true ? 'tree' : 'lines';
};
