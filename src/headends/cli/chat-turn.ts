// One turn of a chat: what is printed of its answer and its failures.
import type { Json } from '#base';
import type { AgentMessage, Budget, Cloister, ConversationRef, RunSession } from '#contracts';
import type { ChatSession } from './chat-session.ts';
import { cliAnswerJson } from './shared/answer.ts';
import type { AnswerReport } from './shared/answer.ts';
import type { AnswerFlags } from './shared/answer-view.ts';
import { causeLines } from './shared/cause-lines.ts';
import type { Lines } from './shared/cli-world.ts';
import type { CommandContext, OutputFlags } from './shared/define-command.ts';
import { cliFailureJson, errorLines, exitOfOutcome } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';

export type ChatRequest = OutputFlags &
  AnswerFlags & {
    readonly workspace: string;
    readonly agent: string;
    /** As it was given: a name or a file. */
    readonly typedAgent: string;
    readonly conversation: ConversationRef;
    readonly budget: Budget;
  };

export type Chat = {
  readonly request: ChatRequest;
  readonly cloister: Cloister;
  readonly lines: Lines;
  /** The session, from the first message until it ends. */
  current: ChatSession | undefined;
  /** How many causes of its failures were printed. */
  causesTold: number;
};

/** If the agent answers in JSON, `data` is the parsed answer. */
export const answerReport = (answer: AgentMessage, { cloister, request }: Chat, { run }: RunSession): AnswerReport => {
  const isJson = cloister.agents.find(({ name }) => name === request.agent)?.signature.output?.format === 'json';
  return { ...answer, run, data: isJson ? parseJson(answer.text) : null };
};

const parseJson = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
};

export const printTurn = (
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
export const printCauses = async (
  chat: Chat,
  { session }: ChatSession,
  { output: { err } }: CommandContext,
): Promise<void> => {
  const { workspace, verbose } = chat.request;
  const causes = await session.causes();
  err.print(...causeLines(causes.slice(chat.causesTold), { run: session.run, workspace, verbose }, err));
  chat.causesTold = causes.length;
};
