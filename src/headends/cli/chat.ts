// `chat`: one session for many messages, one message per line. Agents that the session starts live until it ends.
//
//   chat-goes-on. If a message is refused or fails, the chat reports it and continues; the exit code is that of the last such
//       message.
//   chat-cancel-one-turn. Ctrl-C cancels the current turn and with it the session: the next message starts a new session that
//       gets the conversation. Without a terminal, or when no turn is in flight, Ctrl-C ends the chat.
//   chat-commands-stay-here. On a terminal, a line that starts with `/` and a word is a command. No model is ever sent one.
//   chat-end-finishes-agents. At the end, the session and the agents it started are asked to finish. Work that they leave
//       unfinished is reported, and the exit code says so.
//   chat-survives-later. At a terminal, a question that is left open does not end the chat: the session waits, the question is asked
//       again with the next message or on an empty line, and the answer to the message is printed when it comes.
//   chat-continues-killed. A session that a killed chat has left in the conversation is continued, with its agents. What they
//       said that nobody has seen is shown first.
import { CloisterError, unknownAgentError } from '#base';
import type { AgentMessage, Budget, Cloister, ConversationRef, RunSession } from '#contracts';
import { dateTime, plural } from '#headends/run-view';
import { chatCommandIn, chatCommandLines } from './chat-commands.ts';
import { waitForAnswer, openChatSession, reportLater, reportLeftChat, reportLeftWork } from './chat-session.ts';
import type { AwaitedAnswer, ChatSession } from './chat-session.ts';
import {
  cliAnswerJson,
  cliOutcomeJson,
  jsonOrNull,
  missingAgentLines,
  printedOutcome,
  printMessage,
  spawnedLines,
} from './shared/answer.ts';
import type { AnswerReport } from './shared/answer.ts';
import type { AnswerFlags } from './shared/answer-view.ts';
import { causeLines } from './shared/cause-lines.ts';
import type { Lines } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext, OutputFlags } from './shared/define-command.ts';
import { cliFailureJson, errorLines, errorValue, exitCode, exitOfError, exitOfOutcome } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { stoppingNotice } from './shared/follow-run.ts';
import {
  agentArgument,
  agentsOptions,
  answerOptions,
  budgetOf,
  budgetOptions,
  conversationOption,
  workspaceOption,
  agentOrDefault,
} from './shared/options.ts';
import { isInteractive } from './shared/question-asker.ts';
import { formatConversation, fullConversation } from './shared/find-and-open.ts';
import { sanitizeBlock, sanitizeLine } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'chat with an agent, one message per line; the conversation is saved, and a chat that was killed is continued',
  examples: [
    'cloister chat lead.ai',
    'cloister chat lead.ai --conversation trip',
    'cloister chat lead --json < questions.txt',
  ],
  jsonLines: 'print one JSON value per answer',
  arguments: agentArgument,
  options: {
    ...conversationOption('conversation name (default: `main`)'),
    ...answerOptions,
    ...agentsOptions,
    ...workspaceOption,
    ...budgetOptions,
  },
  run: async (given, context) => {
    const { runtime, terminal, interrupts } = context;
    const { workspace, config } = given;
    const { agent, agents } = await agentOrDefault(given, 'cloister chat <agent>', runtime);
    await using cloister = await runtime.open({ workspace, agents, agent, config });
    if (interrupts.seen) throw new CloisterError('cancelled');
    checkAgent(cloister, agent);
    const lines = terminal.lines();
    const left = interrupts.onLeave(() => lines.close());
    const conversation = fullConversation(given.conversation, agent);
    const request = { ...given, agent, typedAgent: given.agent ?? agent, conversation, budget: budgetOf(given) };
    const chat: Chat = { request, cloister, lines, current: undefined, causesTold: 0 };
    let atEnd: ExitCode = exitCode.completed;
    let code: ExitCode;
    try {
      await continueInterruptedSession(chat, context);
      code = await chatLoop(chat, context);
    } finally {
      left();
      lines.close();
      atEnd = await finish(chat, context);
    }
    return code === exitCode.completed ? atEnd : code;
  },
});

type ChatRequest = OutputFlags &
  AnswerFlags & {
    readonly workspace: string;
    readonly agent: string;
    /** As it was given: a name or a file. */
    readonly typedAgent: string;
    readonly conversation: ConversationRef;
    readonly budget: Budget;
  };

/** Fails before the first message: an unknown agent cannot answer any. */
const checkAgent = ({ agents }: Cloister, agent: string): void => {
  const names = agents.map(({ name }) => name);
  if (!names.includes(agent)) throw unknownAgentError(agent, names);
};

type Chat = {
  readonly request: ChatRequest;
  readonly cloister: Cloister;
  readonly lines: Lines;
  /** The session, from the first message until it ends. */
  current: ChatSession | undefined;
  /** How many causes of its failures were printed. */
  causesTold: number;
};

const chatLoop = async (chat: Chat, context: CommandContext): Promise<ExitCode> => {
  const { request, lines } = chat;
  const { interrupts, output } = context;
  const { conversation } = request;
  if (lines.isTerminal)
    output.err.print(
      sanitizeLine(
        `${request.agent} in ${formatConversation(conversation)} · Ctrl-C cancels the turn, Ctrl-D exits, /help says more`,
      ),
    );
  let code: ExitCode = exitCode.completed;
  for (;;) {
    interrupts.reset();
    interrupts.onFirst(() => lines.close());
    const line = await lines.next(`${sanitizeLine(conversation.name)}> `);
    if (interrupts.seen) return exitCode.cancelled;
    if (line === null || (lines.isTerminal && line.trim() === '/quit')) return code;
    const command = lines.isTerminal ? chatCommandIn(line) : null;
    if (command !== null) output.err.print(...chatCommandLines(command, chat.request));
    else if (line.trim() === '') await chat.current?.questions.askNow();
    if (command !== null || line.trim() === '') continue;

    const ended = await sendAndShow(chat, line, context);
    if (ended !== exitCode.completed) code = ended;
    // The session waits for people, and nobody can be asked here: the next chat continues it.
    if (ended === exitCode.waiting) return ended;
    if (interrupts.seen && !lines.isTerminal) return exitCode.cancelled;
  }
};

const sendAndShow = async (chat: Chat, line: string, context: CommandContext): Promise<ExitCode> => {
  context.interrupts.onFirst(() => {
    if (chat.current === undefined) context.output.err.print(stoppingNotice);
    else chat.current.notice(stoppingNotice);
    chat.current?.questions.close();
    chat.current?.session.cancel();
  });
  let pending: PendingAnswer;
  try {
    pending = await sendOrStart(chat, line, context);
  } catch (error) {
    return reportRefusal(error, chat.request, context);
  }
  try {
    const { chatSession } = pending;
    const given = await chatSession.showWhileWorking(pending);
    if (given === null) return reportLater(chatSession, context);
    const report = answerReport({ ...given, unasked: false }, chat, chatSession.session);
    const code = printTurn(report, chatSession, chat.request, context);
    chatSession.session.confirm(given.id);
    await printCauses(chat, chatSession, context);
    return code;
  } catch {
    chat.current = undefined;
    return await reportEnd(chat, pending.chatSession, context);
  }
};

type PendingAnswer = AwaitedAnswer & { readonly chatSession: ChatSession };

/** Starts a session for the first message, and for a message that comes after the session ended. */
const sendOrStart = async (chat: Chat, line: string, context: CommandContext): Promise<PendingAnswer> => {
  const { request, cloister } = chat;
  const { agent, budget, conversation } = request;
  const current = chat.current;
  const message = current === undefined ? null : sendTo(current, line);
  if (current !== undefined && message !== null)
    return { chatSession: current, ...waitForAnswer(current.session, message) };
  const session = await cloister.spawn(agent, { message: line, budget, conversation });
  // No await before somebody listens to the events: they would be lost.
  chat.current = openSession(chat, session, 0, context);
  chat.causesTold = 0;
  if (context.interrupts.seen) session.cancel();
  return { chatSession: chat.current, ...waitForAnswer(session) };
};

const openSession = (chat: Chat, session: RunSession, eventsBefore: number, context: CommandContext): ChatSession =>
  openChatSession(session, chat.request, context, {
    eventsBefore,
    redact: (text) => chat.cloister.redact(text),
    cloister: chat.cloister,
    workspace: chat.request.workspace,
    // The chat reads on from the same lines.
    openLines: isInteractive(chat.request, context) ? () => ({ ...chat.lines, close: () => {} }) : null,
    printAbove: (print) => chat.lines.printAbove(print),
    printMessage: (message) => printUnawaitedMessage(message, chat, session, context),
  });

const printUnawaitedMessage = (
  message: AgentMessage,
  chat: Chat,
  session: RunSession,
  context: CommandContext,
): void => {
  const { output } = context;
  if (chat.request.json)
    return output.jsonLine({
      conversation: chat.request.conversation,
      ...cliAnswerJson(answerReport(message, chat, session)),
    });
  if (message.text !== '') printMessage(message, context, chat.request.plain);
  if (message.error !== null) output.err.print(...errorLines(cliFailureJson({ code: message.error })));
};

/** Continues the session that a killed chat has left in the conversation, if there is one. */
const continueInterruptedSession = async (chat: Chat, context: CommandContext): Promise<void> => {
  const { request, cloister } = chat;
  const { err } = context.output;
  const { agent, conversation } = request;
  try {
    const session = await cloister.resumeConversation(agent, { conversation });
    if (session === null) return;
    const { events, startedAt, causes } = await cloister.show(session.run);
    const others = session.agents().filter(({ parent }) => parent !== null);
    const names = others.map(({ sub_agent_id: name }) => name).join(', ');
    const otherAgents = others.length === 0 ? '' : ` with ${plural(others.length, 'agent')}: ${names}`;
    err.print(sanitizeLine(`continuing the session of ${dateTime(startedAt)}${otherAgents}`));
    chat.current = openSession(chat, session, events.length, context);
    chat.causesTold = causes.length;
  } catch (error) {
    err.print(
      ...errorLines(errorValue(error)),
      'The session that was left in this conversation cannot be continued. Your next message starts a new one.',
    );
  }
};

/** Null: the session has ended in the meantime. */
const sendTo = ({ session }: ChatSession, line: string): string | null => {
  try {
    return session.send(line);
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'cell_ended') return null;
    throw error;
  }
};

/** If the agent answers in JSON, `data` is the parsed answer. */
const answerReport = (answer: AgentMessage, { cloister, request }: Chat, { run }: RunSession): AnswerReport => {
  const isJson = cloister.agents.find(({ name }) => name === request.agent)?.signature.output?.format === 'json';
  return { ...answer, run, data: isJson ? jsonOrNull(answer.text) : null };
};

const printTurn = (
  answer: AnswerReport,
  { printAnswer }: ChatSession,
  request: ChatRequest,
  context: CommandContext,
): ExitCode => {
  const { status, text, data, error } = answer;
  const failure = error === null ? null : { code: error };
  if (request.json) context.output.jsonLine({ conversation: request.conversation, ...cliAnswerJson(answer) });
  else {
    printAnswer({ output: text, data });
    if (failure !== null) context.output.err.print(...errorLines(cliFailureJson(failure)));
  }
  return exitOfOutcome({ status, failure });
};

/** What has failed since it was last said. With --json, standard output has the answers alone. */
const printCauses = async (
  chat: Chat,
  { session }: ChatSession,
  { output: { err } }: CommandContext,
): Promise<void> => {
  const { workspace, verbose } = chat.request;
  const causes = await session.causes();
  err.print(...causeLines(causes.slice(chat.causesTold), { run: session.run, workspace, verbose }, err));
  chat.causesTold = causes.length;
};

/** The session ended without an answer. */
const reportEnd = async (chat: Chat, chatSession: ChatSession, context: CommandContext): Promise<ExitCode> => {
  if (chatSession.questions.left !== null) return reportLeftChat(chat.request, chatSession, context);
  const { output } = context;
  const { request } = chat;
  try {
    const outcome = await printedOutcome(await chatSession.session.outcome, chat.cloister);
    if (!request.json) chatSession.printAnswer({ output: '', data: null });
    await printCauses(chat, chatSession, context);
    if (request.json) output.jsonLine({ conversation: request.conversation, ...cliOutcomeJson(outcome) });
    else {
      output.err.print(...missingAgentLines(outcome), ...spawnedLines(outcome));
      if (outcome.failure !== null) output.err.print(...errorLines(cliFailureJson(outcome.failure)));
    }
    return exitOfOutcome(outcome);
  } catch (error) {
    return reportRefusal(error, request, context);
  }
};

const reportRefusal = (error: unknown, request: ChatRequest, { output }: CommandContext): ExitCode => {
  const value = errorValue(error);
  if (request.json) output.jsonLine({ conversation: request.conversation, error: value });
  else output.err.print(...errorLines(value));
  if (request.verbose && error instanceof Error && error.stack !== undefined)
    output.err.print(sanitizeBlock(error.stack));
  return exitOfError(error);
};

/** Asks the session to finish; after Ctrl-C there is no time for that, so cancels it. */
const finish = async (
  { current: talked, lines, request, cloister }: Chat,
  context: CommandContext,
): Promise<ExitCode> => {
  const { interrupts, output } = context;
  if (talked === undefined) return exitCode.completed;
  const { session, ended, questions } = talked;
  if (interrupts.seen) session.cancel();
  else {
    interrupts.onFirst(() => session.cancel());
    const others = session.agents().length - 1;
    if (others > 0 && lines.isTerminal && !request.json)
      output.err.print(`shutting down ${plural(others, 'agent')} started in this chat…`);
    questions.leaveOpen();
    session.finish();
  }
  const [end] = await Promise.allSettled([session.outcome, ended]);
  questions.close();
  if (questions.left !== null) return reportLeftChat(request, talked, context);
  if (end.status === 'rejected') return exitCode.completed;
  return reportLeftWork(await printedOutcome(end.value, cloister), request, output);
};
