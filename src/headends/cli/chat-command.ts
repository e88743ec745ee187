// `chat`: one turn in a conversation for each line.
//
//   H4. A turn that is refused or fails is told, and the chat goes on; the exit code is that of the last such turn.
//   H5. Ctrl-C cancels the turn under way. Where nobody sits at a terminal, and where no turn is under way, it ends the chat.
import { CloisterError } from '#base';
import type { Cloister, RunOutcome } from '#contracts';
import { outcomeValue, tellAnswer } from './answer.ts';
import type { Lines } from './cli-world.ts';
import { conversationWords, fullConversation } from './conversation-words.ts';
import type { Desk } from './desk.ts';
import { errorLines, errorValue, failureValue } from './error-value.ts';
import { exitCode, exitOfError, exitOfOutcome } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { follow, stopInOrder } from './follow.ts';
import type { Stopping } from './follow.ts';
import type { ChatRequest } from './request.ts';
import { listed } from './resolve-name.ts';
import { block, oneLine } from './text.ts';

export const chatCommand = async (request: ChatRequest, desk: Desk): Promise<ExitCode> => {
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
  try {
    return await talk({ request, cloister, lines }, desk);
  } finally {
    left();
    lines.close();
  }
};

/** Before the first message: with no such agent, none could be answered. */
const checkAgent = ({ agents }: Cloister, agent: string): void => {
  const names = agents.map(({ name }) => name);
  if (!names.includes(agent))
    throw new CloisterError(
      'agent_unknown',
      `It was called ${agent}${names.length === 0 ? '' : `; there is ${listed(names)}`}.`,
    );
};

type Chat = { readonly request: ChatRequest; readonly cloister: Cloister; readonly lines: Lines };

const talk = async (chat: Chat, desk: Desk): Promise<ExitCode> => {
  const { request, lines } = chat;
  const { interrupts, output } = desk;
  const conversation = fullConversation(request.conversation, request.agent);
  if (lines.isTerminal)
    output.err.print(
      oneLine(`${request.agent} in ${conversationWords(conversation)} · Ctrl-C cancels a turn, Ctrl-D or /quit ends`),
    );
  let code: ExitCode = exitCode.completed;
  for (;;) {
    interrupts.again();
    interrupts.orderly(() => lines.close());
    const line = await lines.next(`${oneLine(conversation.name)}> `);
    if (interrupts.seen) return exitCode.cancelled;
    if (line === null || (lines.isTerminal && line.trim() === '/quit')) return code;
    if (line.trim() === '') continue;

    const ended = await takeTurn(chat, line, desk);
    if (ended !== exitCode.completed) code = ended;
    if (interrupts.seen && !lines.isTerminal) return exitCode.cancelled;
  }
};

const takeTurn = async ({ request, cloister }: Chat, line: string, desk: Desk): Promise<ExitCode> => {
  const { agent, budget, conversation } = request;
  const stopping: Stopping = { session: undefined, progress: undefined };
  desk.interrupts.orderly(() => stopInOrder(stopping, desk));
  const redact = (text: string): string => cloister.redact(text);
  try {
    const session = await cloister.runTurn(agent, line, { budget, ...(conversation === null ? {} : { conversation }) });
    const outcome = await follow(session, { ...request, jsonl: false }, desk, { stopping, redact });
    tellTurn(outcome, request, desk);
    return exitOfOutcome(outcome);
  } catch (error) {
    tellRefused(error, request, desk);
    return exitOfError(error);
  }
};

const inConversation = ({ conversation, agent }: ChatRequest) => ({
  conversation: fullConversation(conversation, agent),
});

const tellTurn = (outcome: RunOutcome, request: ChatRequest, desk: Desk): void => {
  const { output } = desk;
  if (request.json) return output.jsonLine({ ...inConversation(request), ...outcomeValue(outcome) });
  tellAnswer(outcome, desk);
  if (outcome.missing.length > 0) output.err.print(`missing: ${oneLine(outcome.missing.join(', '))}`);
  if (outcome.failure !== null) output.err.print(...errorLines(failureValue(outcome.failure)));
};

const tellRefused = (error: unknown, request: ChatRequest, { output }: Desk): void => {
  const value = errorValue(error);
  if (request.json) output.jsonLine({ ...inConversation(request), error: value });
  else output.err.print(...errorLines(value));
  if (request.verbose && error instanceof Error && error.stack !== undefined) output.err.print(block(error.stack));
};
