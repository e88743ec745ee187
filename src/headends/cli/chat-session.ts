// The session of a chat: shows progress while it works on a message; in between, only what its agents say unasked.
import type { AgentMessage, Answer, Cloister, RunEvent, RunSession } from '#contracts';
import { newRunProgress, applyEvent } from './shared/run-progress.ts';
import type { RunProgress } from './shared/run-progress.ts';
import type { Lines } from './shared/cli-world.ts';
import type { CommandContext } from './shared/define-command.ts';
import { QuestionAsker } from './shared/question-asker.ts';
import { describeStrayError } from './shared/follow-run.ts';
import { describeTotal, openProgress, progressMode } from './shared/progress.ts';
import type { Progress } from './shared/progress.ts';
import { openAnswerView } from './shared/answer-view.ts';
import type { AnswerFlags, AnswerView } from './shared/answer-view.ts';
import type { OutputFlags } from './shared/define-command.ts';
import { sanitizeAll, sanitizeLine, truncateColumns } from './shared/sanitize-text.ts';

export type ChatSession = {
  readonly session: RunSession;
  /** Shows progress until the answer arrives or the run ends. */
  showWhileWorking(answer: Promise<Answer>): Promise<Answer>;
  /** Without an answer, what was streamed is marked as not finished. */
  readonly printAnswer: AnswerView['print'];
  /** Prints a line without disturbing the progress display. */
  notice(words: string): void;
  /** Asks what waits for a person. While no answer is awaited, it must be called for that. */
  readonly questions: QuestionAsker;
  /** Settles when all events and messages of the session have been shown. */
  readonly ended: Promise<unknown>;
};

type ChatSessionOptions = {
  /** How many events were recorded before the chat took the session over; they are not shown again. */
  readonly eventsBefore: number;
  readonly redact: (text: string) => string;
  /** Lets a message be printed while a line is typed. */
  readonly printAbove: (print: () => void) => void;
  readonly cloister: Pick<Cloister, 'answer'>;
  readonly workspace: string;
  /** Null: nobody can be asked here. */
  readonly openLines: (() => Lines) | null;
  /** Prints what an agent says when no answer of it is awaited. */
  readonly printMessage: (message: AgentMessage) => void;
};

export const openChatSession = (
  session: RunSession,
  request: OutputFlags & AnswerFlags,
  context: CommandContext,
  { eventsBefore, redact, printAbove, printMessage, ...asking }: ChatSessionOptions,
): ChatSession => {
  const runProgress = newRunProgress();
  const mode = progressMode({ ...request, jsonl: false }, context);
  const answered = new Set<string>();
  let [progress, onAnswer]: [Progress?, (() => void)?] = [];
  let eventsLeft = eventsBefore;
  const view = openAnswerView(request, context);
  const open = (): Progress => openProgress(mode, context, { runProgress, answer: view.text });
  const lines = mode === 'tree' ? undefined : openProgress(mode, context, { runProgress });
  let isAwaited = true;
  const notice = (words: string): void =>
    progress === undefined ? context.output.err.print(words) : progress.notice(words);
  const questions = new QuestionAsker(
    {
      ...asking,
      session,
      pause: () => progress?.pause() ?? (() => undefined),
      canAsk: () => progress !== undefined,
      announce: (words) => printAbove(() => context.output.err.print(words)),
    },
    context,
  );
  const note = (event: RunEvent): void => {
    questions.note(event);
    const isOld = eventsLeft > 0 && 'id' in event;
    if (isOld) eventsLeft--;
    if (isAwaited || event.type === 'session-start') view.note(event);
    const shown = isOld ? undefined : (progress ?? lines);
    if (shown !== undefined) shown.note(event);
    else if ('id' in event) applyEvent(runProgress, sanitizeAll(event));
    if (event.type !== 'mail' || event.kind !== 'answer') return;
    answered.add(event.message);
    onAnswer?.();
  };
  const showMessage = (message: AgentMessage): void =>
    (progress ?? { printAbove }).printAbove(() => printMessage(message));
  const stopListening = context.system.onStrayError((error) => notice(sanitizeLine(redact(describeStrayError(error)))));
  const ended = forwardAll(session, note).finally(stopListening);
  // The answer may arrive before the events that led to it.
  const waitUntilShown = async (id: string): Promise<void> => {
    while (!answered.has(id)) {
      const { promise, resolve } = Promise.withResolvers<'answered'>();
      onAnswer = () => resolve('answered');
      if ((await Promise.race([promise, ended])) !== 'answered') return;
    }
  };
  const working = async (answer: Promise<Answer>): Promise<Answer> => {
    progress = lines === undefined || view.text !== null ? open() : lines;
    // It may be in the middle of something else.
    if (!isAwaited) view.skip();
    isAwaited = true;
    const restored = context.interrupts.onLeave(() => progress?.close());
    questions.look();
    try {
      const given = await answer;
      await waitUntilShown(given.id);
      return given;
    } catch (error) {
      await ended;
      throw error;
    } finally {
      progress.erase();
      progress = undefined;
      restored();
    }
  };
  return {
    session,
    printAnswer: (outcome) => {
      view.print(outcome);
      isAwaited = false;
      if (mode === 'tree') printTotal(runProgress, context);
    },
    showWhileWorking: working,
    notice,
    questions,
    ended: Promise.all([ended, forwardAll(session.messages(), showMessage)]),
  };
};

/** In place of the tree, which was erased. */
const printTotal = (runProgress: RunProgress, { output: { err }, system }: CommandContext): void =>
  err.print(err.paint('dim', truncateColumns(describeTotal(runProgress, system.now()), err.columns)));

/** A message counts as delivered once the next one is asked for: after it was shown. Never rejects: the outcome says why. */
const forwardAll = async <T>(items: AsyncIterable<T>, show: (item: T) => void): Promise<void> => {
  try {
    for await (const item of items) show(item);
  } catch {
    // The run could not be recorded, or its records could not be read.
  }
};
