// What a request becomes: a run, a turn in one of the caller's conversations, or an agent that lives on.
import { CloisterError } from '#base';
import type { AgentRequest, Budget, Caller, Cloister, ConversationRef, RunSession, ToolDefinition } from '#contracts';
import { conversationOf } from './caller-conversation.ts';

export type StartOptions = {
  readonly caller: string;
  readonly budget?: Budget;
  readonly tools?: readonly ToolDefinition[];
};

/** Throws, or rejects with, what is wrong with it. */
export const startServedRun = (
  cloister: Cloister,
  caller: Caller,
  { agent, input, context, history, conversation, resident, format, schema }: AgentRequest,
  options: StartOptions,
): RunSession | Promise<RunSession> => {
  const given = { ...options, ...(context === undefined ? {} : { context }) };
  const kept = conversation === undefined ? {} : { conversation: conversationOf(caller, conversation) };
  if (history !== undefined && history.length > 0 && conversation !== undefined)
    throw new CloisterError('request_invalid', 'history: a conversation has its own; give one of the two.');
  const form = { ...(format === undefined ? {} : { format }), ...(schema === undefined ? {} : { schema }) };
  const before = history === undefined ? {} : { history };
  if (resident === true) {
    if (Object.keys(form).length > 0)
      throw new CloisterError('request_invalid', 'format: a resident answers in its own; leave it out, and schema.');
    return cloister.spawn(agent, { ...given, ...kept, ...before, message: input });
  }
  if (conversation !== undefined) return cloister.runTurn(agent, input, { ...given, ...form, ...kept });
  return cloister.run(agent, input, { ...given, ...form, ...before });
};

/** The conversation that it takes part in, if it does. */
export const requestedConversation = (
  caller: Caller,
  { agent, conversation }: AgentRequest,
): ConversationRef | undefined =>
  conversation === undefined ? undefined : { agent, name: conversationOf(caller, conversation) };
