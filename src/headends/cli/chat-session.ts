// A session that is talked with over many messages: shown while it works on one, quiet in between.
import type { Answer, RunEvent, RunSession } from '#contracts';
import { newBoard, noteEvent } from './run-progress.ts';
import type { CommandContext } from './command-context.ts';
import { progressMode, strayWords } from './show-live-run.ts';
import { openProgress } from './progress.ts';
import type { Progress } from './progress.ts';
import type { OutputFlags } from './request.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';

export type ChatSession = {
  readonly session: RunSession;
  /** Shows what goes on until the answer is there, or the run has ended. */
  working(answer: Promise<Answer>): Promise<Answer>;
  /** Something to say while it works. */
  notice(words: string): void;
  /** When all that it told has been shown. */
  readonly ended: Promise<void>;
};

export const openChatSession = (
  session: RunSession,
  request: OutputFlags,
  desk: CommandContext,
  redact: (text: string) => string,
): ChatSession => {
  const board = newBoard();
  const mode = progressMode({ ...request, jsonl: false }, desk);
  const answered = new Set<string>();
  let progress: Progress | undefined;
  let told: (() => void) | undefined;
  const open = (): Progress => openProgress(mode, desk.output, desk.world, { board });
  const lines = mode === 'tree' ? undefined : open();
  const notice = (words: string): void =>
    progress === undefined ? desk.output.err.print(words) : progress.notice(words);
  const note = (event: RunEvent): void => {
    const shown = progress ?? lines;
    if (shown !== undefined) shown.note(event);
    else if ('id' in event) noteEvent(board, sanitizeAll(event));
    if (event.type !== 'mail' || event.kind !== 'answer') return;
    answered.add(event.message);
    told?.();
  };
  const passOn = async (): Promise<void> => {
    const deaf = desk.world.onStrayError((error) => notice(sanitizeLine(redact(strayWords(error)))));
    try {
      for await (const event of session) note(event);
    } catch {
      // The outcome says why.
    } finally {
      deaf();
    }
  };
  const ended = passOn();
  /** The answer may be here before the events that led to it. */
  const shownUpTo = async (id: string): Promise<void> => {
    while (!answered.has(id)) {
      const { promise, resolve } = Promise.withResolvers<'told'>();
      told = () => resolve('told');
      if ((await Promise.race([promise, ended])) !== 'told') return;
    }
  };
  const working = async (answer: Promise<Answer>): Promise<Answer> => {
    progress = lines ?? open();
    const restored = desk.interrupts.onLeave(() => progress?.close());
    try {
      const given = await answer;
      await shownUpTo(given.id);
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
  return { session, working, notice, ended };
};
