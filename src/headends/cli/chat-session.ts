// The session of a chat: shows progress while it works on a message, and nothing in between.
import type { Answer, RunEvent, RunSession } from '#contracts';
import { newRunProgress, applyEvent } from './run-progress.ts';
import type { CommandContext } from './command-context.ts';
import { progressMode, describeStrayError } from './show-live-run.ts';
import { openProgress } from './progress.ts';
import type { Progress } from './progress.ts';
import type { OutputFlags } from './request.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';

export type ChatSession = {
  readonly session: RunSession;
  /** Shows progress until the answer arrives or the run ends. */
  showWhileWorking(answer: Promise<Answer>): Promise<Answer>;
  /** Prints a line without disturbing the progress display. */
  notice(words: string): void;
  /** Settles when all events of the session have been shown. */
  readonly ended: Promise<void>;
};

export const openChatSession = (
  session: RunSession,
  request: OutputFlags,
  context: CommandContext,
  redact: (text: string) => string,
): ChatSession => {
  const runProgress = newRunProgress();
  const mode = progressMode({ ...request, jsonl: false }, context);
  const answered = new Set<string>();
  let progress: Progress | undefined;
  let onAnswer: (() => void) | undefined;
  const open = (): Progress => openProgress(mode, context.output, context.world, { runProgress });
  const lines = mode === 'tree' ? undefined : open();
  const notice = (words: string): void =>
    progress === undefined ? context.output.err.print(words) : progress.notice(words);
  const note = (event: RunEvent): void => {
    const shown = progress ?? lines;
    if (shown !== undefined) shown.note(event);
    else if ('id' in event) applyEvent(runProgress, sanitizeAll(event));
    if (event.type !== 'mail' || event.kind !== 'answer') return;
    answered.add(event.message);
    onAnswer?.();
  };
  const forwardEvents = async (): Promise<void> => {
    const stopListening = context.world.onStrayError((error) =>
      notice(sanitizeLine(redact(describeStrayError(error)))),
    );
    try {
      for await (const event of session) note(event);
    } catch {
      // The outcome says why.
    } finally {
      stopListening();
    }
  };
  const ended = forwardEvents();
  /** The answer may arrive before the events that led to it. */
  const waitUntilShown = async (id: string): Promise<void> => {
    while (!answered.has(id)) {
      const { promise, resolve } = Promise.withResolvers<'answered'>();
      onAnswer = () => resolve('answered');
      if ((await Promise.race([promise, ended])) !== 'answered') return;
    }
  };
  const working = async (answer: Promise<Answer>): Promise<Answer> => {
    progress = lines ?? open();
    const restored = context.interrupts.onLeave(() => progress?.close());
    try {
      const given = await answer;
      await waitUntilShown(given.id);
      return given;
    } catch (error) {
      await ended;
      throw error;
    } finally {
      progress.close();
      progress = undefined;
      restored();
    }
  };
  return { session, showWhileWorking: working, notice, ended };
};
