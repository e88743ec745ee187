// `chat`: one session over many messages, a line each. Whom it starts lives until it ends.
//
//   H4. A message that is refused or fails is told, and the chat goes on; the exit code is that of the last such message.
//   H5. Ctrl-C cancels the work under way, and with it the session: the next message begins another one, which knows the
//       conversation. Where nobody sits at a terminal, and where no work is under way, it ends the chat.
//   H6. At the end the session is asked to finish, and so are those that it has started.
import { CloisterError, unknownAgentError } from '#base';
import type { Json } from '#base';
import type { Answer, Cloister, RunSession } from '#contracts';
import { cliAnswerJson, cliOutcomeJson, printAnswer } from './answer.ts';
import type { AnswerReport } from './answer.ts';
import type { Lines } from './cli-world.ts';
import { conversationWords, fullConversation } from './conversation-name.ts';
import type { CommandContext } from './command-context.ts';
import { errorLines, errorValue, cliFailureJson } from './error-value.ts';
import { exitCode, exitOfError, exitOfOutcome } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { plural } from './format-numbers.ts';
import { stoppingWords } from './show-live-run.ts';
import type { ChatRequest } from './request.ts';
import { openChatSession } from './chat-session.ts';
import type { ChatSession } from './chat-session.ts';
import { sanitizeBlock, sanitizeLine } from './sanitize-text.ts';

export const chatCommand = async (request: ChatRequest, desk: CommandContext): Promise<ExitCode> => {
  const { workspace, agents, agent, config } = request;
  const { world, interrupts } = desk;
  await using cloister = await world.open({
    workspace,
    agents,
    agent,
    demo: false,
    ...(config === null ? {} : { config }),
  });
  if (interrupts.seen) throw new CloisterError('cancelled');
  checkAgent(cloister, agent);
  const lines = world.lines();
  const left = interrupts.onLeave(() => lines.close());
  const chat: Chat = { request, cloister, lines, with: undefined };
  try {
    return await talk(chat, desk);
  } finally {
    left();
    lines.close();
    await finish(chat, desk);
  }
};

/** Before the first message: with no such agent, none could be answered. */
const checkAgent = ({ agents }: Cloister, agent: string): void => {
  const names = agents.map(({ name }) => name);
  if (!names.includes(agent)) throw unknownAgentError(agent, names);
};

type Chat = {
  readonly request: ChatRequest;
  readonly cloister: Cloister;
  readonly lines: Lines;
  /** The session, from the first message until it ends. */
  with: ChatSession | undefined;
};

const talk = async (chat: Chat, desk: CommandContext): Promise<ExitCode> => {
  const { request, lines } = chat;
  const { interrupts, output } = desk;
  const conversation = fullConversation(request.conversation, request.agent);
  if (lines.isTerminal)
    output.err.print(
      sanitizeLine(
        `${request.agent} in ${conversationWords(conversation)} · Ctrl-C cancels the work, Ctrl-D or /quit ends`,
      ),
    );
  let code: ExitCode = exitCode.completed;
  for (;;) {
    interrupts.again();
    interrupts.orderly(() => lines.close());
    const line = await lines.next(`${sanitizeLine(conversation.name)}> `);
    if (interrupts.seen) return exitCode.cancelled;
    if (line === null || (lines.isTerminal && line.trim() === '/quit')) return code;
    if (line.trim() === '') continue;

    const ended = await say(chat, line, desk);
    if (ended !== exitCode.completed) code = ended;
    if (interrupts.seen && !lines.isTerminal) return exitCode.cancelled;
  }
};

const say = async (chat: Chat, line: string, desk: CommandContext): Promise<ExitCode> => {
  desk.interrupts.orderly(() => {
    if (chat.with === undefined) desk.output.err.print(stoppingWords);
    else chat.with.notice(stoppingWords);
    chat.with?.session.cancel();
  });
  let asked: PendingAnswer;
  try {
    asked = await ask(chat, line, desk);
  } catch (error) {
    return tellRefused(error, chat.request, desk);
  }
  try {
    return tellTurn(toldOf(await asked.talked.working(asked.answer), chat, asked.talked.session), chat.request, desk);
  } catch {
    chat.with = undefined;
    return await tellEnd(asked.talked, chat.request, desk);
  }
};

type PendingAnswer = { readonly talked: ChatSession; readonly answer: Promise<Answer> };

/** The first message begins the session, and so does one that comes after its end. */
const ask = async (chat: Chat, line: string, desk: CommandContext): Promise<PendingAnswer> => {
  const { request, cloister } = chat;
  const { agent, budget } = request;
  const known = chat.with;
  const message = known === undefined ? null : sendTo(known, line);
  if (known !== undefined && message !== null) return { talked: known, answer: known.session.answer(message) };
  const conversation = fullConversation(request.conversation, agent);
  const session = await cloister.spawn(agent, { message: line, budget, conversation });
  // No await before its events are listened to.
  chat.with = openChatSession(session, request, desk, (text) => cloister.redact(text));
  if (desk.interrupts.seen) session.cancel();
  return { talked: chat.with, answer: session.answer() };
};

/** Null: it has ended meanwhile. */
const sendTo = ({ session }: ChatSession, line: string): string | null => {
  try {
    return session.send(line);
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'cell_ended') return null;
    throw error;
  }
};

/** The answer of an agent that answers in JSON is a value too. */
const toldOf = (answer: Answer, { cloister, request }: Chat, { run }: RunSession): AnswerReport => {
  const isJson = cloister.agents.find(({ name }) => name === request.agent)?.output?.format === 'json';
  return { ...answer, run, data: isJson ? parsed(answer.text) : null };
};

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
};

const tellTurn = (answer: AnswerReport, request: ChatRequest, desk: CommandContext): ExitCode => {
  const { status, text, data, error } = answer;
  const failure = error === null ? null : { code: error };
  if (request.json) desk.output.jsonLine({ ...inConversation(request), ...cliAnswerJson(answer) });
  else {
    printAnswer({ output: text, data }, desk);
    if (failure !== null) desk.output.err.print(...errorLines(cliFailureJson(failure)));
  }
  return exitOfOutcome({ status, failure });
};

const inConversation = ({ conversation, agent }: ChatRequest) => ({
  conversation: fullConversation(conversation, agent),
});

/** No answer came: the session has ended. */
const tellEnd = async ({ session }: ChatSession, request: ChatRequest, desk: CommandContext): Promise<ExitCode> => {
  const { output } = desk;
  try {
    const outcome = await session.outcome;
    if (request.json) output.jsonLine({ ...inConversation(request), ...cliOutcomeJson(outcome) });
    else if (outcome.failure !== null) output.err.print(...errorLines(cliFailureJson(outcome.failure)));
    return exitOfOutcome(outcome);
  } catch (error) {
    return tellRefused(error, request, desk);
  }
};

const tellRefused = (error: unknown, request: ChatRequest, { output }: CommandContext): ExitCode => {
  const value = errorValue(error);
  if (request.json) output.jsonLine({ ...inConversation(request), error: value });
  else output.err.print(...errorLines(value));
  if (request.verbose && error instanceof Error && error.stack !== undefined)
    output.err.print(sanitizeBlock(error.stack));
  return exitOfError(error);
};

/** After Ctrl-C there is no time to ask. */
const finish = async (
  { with: talked, lines, request }: Chat,
  { interrupts, output }: CommandContext,
): Promise<void> => {
  if (talked === undefined) return;
  const { session, ended } = talked;
  if (interrupts.seen) session.cancel();
  else {
    interrupts.orderly(() => session.cancel());
    const others = session.agents().length - 1;
    if (others > 0 && lines.isTerminal && !request.json)
      output.err.print(`${plural(others, 'agent')} that it started ${others === 1 ? 'is' : 'are'} asked to finish…`);
    session.finish();
  }
  await Promise.allSettled([session.outcome, ended]);
};
