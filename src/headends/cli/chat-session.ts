// The session of a chat: shows progress while it works on a message; in between, only what its agents say unasked.
import type { AgentMessage, Answer, Cloister, ConversationRef, RunEvent, RunOutcome, RunSession } from '#contracts';
import { applyEvent, newRunView } from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import { cliOutcomeJson, missingAgentLines, spawnedLines } from './shared/answer.ts';
import type { Lines } from './shared/cli-world.ts';
import type { CommandContext } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { formatConversation } from './shared/find-and-open.ts';
import { cloisterCommand, shellWord } from './shared/next-commands.ts';
import { QuestionAsker } from './shared/question-asker.ts';
import { waitingJson, waitingLines } from './shared/question-lines.ts';
import { describeStrayError } from './shared/follow-run.ts';
import { describeTotal, openProgress, progressMode } from './shared/progress.ts';
import type { Progress } from './shared/progress.ts';
import { openAnswerView } from './shared/answer-view.ts';
import type { AnswerFlags, AnswerView } from './shared/answer-view.ts';
import type { OutputFlags } from './shared/define-command.ts';
import { sanitizeAll, sanitizeLine, truncateColumns } from './shared/sanitize-text.ts';

export type ChatSession = {
  readonly session: RunSession;
  /** Shows progress until the answer arrives or the run ends. Null: it waits for a question that was put aside. */
  showWhileWorking(awaited: AwaitedAnswer): Promise<Answer | null>;
  /** Without an answer, what was streamed is marked as not finished. */
  readonly printAnswer: AnswerView['print'];
  /** Prints a line without disturbing the progress display. */
  notice(words: string): void;
  /** Asks what waits for a person. While no answer is awaited, it must be called for that. */
  readonly questions: QuestionAsker;
  /** Settles when all events and messages of the session have been shown. */
  readonly ended: Promise<unknown>;
};

/** `stop`: nobody waits for the answer any more; it comes as a message. */
export type AwaitedAnswer = { readonly answer: Promise<Answer>; readonly stop: () => void };

/** Without a message: to the one that the session was spawned with. */
export const waitForAnswer = (session: RunSession, message?: string): AwaitedAnswer => {
  const stopped = new AbortController();
  const answer = session.answer(message, { confirm: false, signal: stopped.signal });
  return { answer, stop: () => stopped.abort() };
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
  const runView = newRunView();
  const mode = progressMode({ ...request, jsonl: false }, context);
  const answered = new NotedAnswers();
  let progress: Progress | undefined;
  let eventsLeft = eventsBefore;
  const view = openAnswerView(request, context);
  const open = (): Progress => openProgress(mode, context, { runView, answer: view.text });
  const lines = mode === 'tree' ? undefined : openProgress(mode, context, { runView });
  let isAwaited = true;
  const notice = (words: string): void =>
    progress === undefined ? context.output.err.print(words) : progress.notice(words);
  const announce = (words: string): void => printAbove(() => context.output.err.print(words));
  const canAsk = (): boolean => progress !== undefined;
  const pause = (): (() => void) => progress?.pause() ?? (() => undefined);
  let onLater = (): void => undefined;
  const asker = { ...asking, session, pause, canAsk, announce, onLater: () => onLater() };
  const questions = new QuestionAsker(asker, context);
  const note = (event: RunEvent): void => {
    questions.note(event);
    const isOld = eventsLeft > 0 && 'id' in event;
    if (isOld) eventsLeft--;
    if (isAwaited || event.type === 'session-start') view.note(event);
    const shown = isOld ? undefined : (progress ?? lines);
    if (shown !== undefined) shown.note(event);
    else if ('id' in event) applyEvent(runView, sanitizeAll(event));
    if (event.type === 'mail' && event.kind === 'answer') answered.note(event.message);
  };
  const showMessage = (message: AgentMessage): void =>
    (progress ?? { printAbove }).printAbove(() => printMessage(message));
  const stopListening = context.system.onStrayError((error) => notice(sanitizeLine(redact(describeStrayError(error)))));
  const ended = forwardAll(session, note).finally(stopListening);
  const working = async ({ answer, stop }: AwaitedAnswer): Promise<Answer | null> => {
    progress = lines === undefined || view.text !== null ? open() : lines;
    // It may be in the middle of something else.
    if (!isAwaited) view.skip();
    isAwaited = true;
    const restored = context.interrupts.onLeave(() => progress?.close());
    const aside = new Promise<null>((resolve) => void (onLater = () => resolve(null)));
    questions.askAgain();
    try {
      const given = (await Promise.race([answer, aside])) ?? (await stopWaiting({ answer, stop }));
      if (given !== null) await answered.whenNoted(given.id, ended);
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
      if (mode === 'tree') printTotal(runView, context);
    },
    showWhileWorking: working,
    notice,
    questions,
    ended: Promise.all([ended, forwardAll(session.messages(), showMessage)]),
  };
};

/** Null, unless the answer has just arrived. */
const stopWaiting = ({ answer, stop }: AwaitedAnswer): Promise<Answer | null> => {
  stop();
  return answer.catch(() => null);
};

/** The answers whose events have been shown: an answer may arrive before the events that led to it. */
class NotedAnswers {
  readonly #ids = new Set<string>();
  #onNote: (() => void) | undefined;

  note(id: string): void {
    this.#ids.add(id);
    this.#onNote?.();
  }

  async whenNoted(id: string, ended: Promise<void>): Promise<void> {
    while (!this.#ids.has(id)) {
      const { promise, resolve } = Promise.withResolvers<'noted'>();
      const onNote = (): void => resolve('noted');
      this.#onNote = onNote;
      if ((await Promise.race([promise, ended])) !== 'noted') return;
    }
  }
}

/** The session waits for a question that the person has left open. */
export const reportLater = ({ printAnswer }: ChatSession, { output: { err } }: CommandContext): ExitCode => {
  printAnswer({ output: '', data: null });
  err.print(
    'The agent waits for the answer. Press Enter on an empty line to be asked again;',
    '/quit or Ctrl-D ends the chat and keeps the question.',
  );
  return exitCode.completed;
};

type LeftChat = OutputFlags & {
  readonly typedAgent: string;
  readonly conversation: ConversationRef;
  readonly workspace: string;
};

/** The session was left, because it waits for people. */
export const reportLeftChat = (
  { typedAgent, conversation, workspace, json }: LeftChat,
  { session, questions }: ChatSession,
  { output }: CommandContext,
): ExitCode => {
  const waiting = { run: session.run, questions: questions.left ?? [] };
  if (json) output.jsonLine({ conversation, ...waitingJson(waiting, workspace) });
  else {
    const chat = `chat ${shellWord(typedAgent)} --conversation ${shellWord(formatConversation(conversation))}`;
    output.err.print(
      '',
      ...waitingLines(waiting, workspace, output.err),
      'The chat has ended, and its session is kept. Continue it, also to be asked again, with:',
      `  ${cloisterCommand(chat, workspace)}`,
    );
  }
  return exitCode.waiting;
};

/** Every answer has been shown already. What the session's agents wrote since, and what they left unfinished, has not. */
export const reportLeftWork = (
  outcome: RunOutcome,
  request: Pick<LeftChat, 'json' | 'conversation'>,
  output: CommandContext['output'],
): ExitCode => {
  const { status, missing, spawned = [] } = outcome;
  if (spawned.length === 0) return exitCode.completed;
  if (request.json) output.jsonLine({ conversation: request.conversation, ...cliOutcomeJson(outcome) });
  else output.err.print(...missingAgentLines(outcome), ...spawnedLines(outcome));
  return missing.length === 0 || status === 'cancelled' ? exitCode.completed : exitCode.unfinished;
};

/** In place of the tree, which was erased. */
const printTotal = (runView: RunView, { output: { err }, system }: CommandContext): void =>
  err.print(err.paint('dim', truncateColumns(describeTotal(runView, system.now()), err.columns)));

/** A message counts as delivered once the next one is asked for: after it was shown. Never rejects: the outcome says why. */
const forwardAll = async <T>(items: AsyncIterable<T>, show: (item: T) => void): Promise<void> => {
  try {
    for await (const item of items) show(item);
  } catch {
    // The run could not be recorded, or its records could not be read.
  }
};
