// `conversations`: lists, shows, shares and deletes conversations.
import { CloisterError } from '#base';
import type { Cloister, ConversationRef } from '#contracts';
import { conversationLines, conversationsLines } from './conversation-lines.ts';
import { formatConversation, resolveConversation } from './shared/resolve-name.ts';
import type { CommandContext } from './shared/command-context.ts';
import { errorValue, exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { listKnownConversations, openToRead } from './shared/open-run.ts';
import { cloisterCommand, shellWord } from './shared/next-commands.ts';
import type { ConversationsRequest } from './shared/request.ts';
import { sanitizeAll, sanitizeLine, wrapText } from './shared/sanitize-text.ts';

type NamedRequest = Exclude<ConversationsRequest, { readonly action: 'list' }>;

export const conversationsCommand = async (
  request: ConversationsRequest,
  context: CommandContext,
): Promise<ExitCode> => {
  if (request.action === 'list') return listConversations(request, context);
  await using cloister = await openForAction(request, context);
  const deleted = request.action === 'restore' || request.action === 'purge';
  const { agent, name } = await resolveConversation(cloister, request.named, { deleted, world: context.world });
  return await runAction(request, { cloister, one: { agent, name } }, context);
};

/** The agent to attach must exist: it is found as `chat` finds it, but offline. */
const openForAction = async (request: NamedRequest, context: CommandContext): Promise<Cloister> => {
  if (request.action !== 'attach') return openToRead(request.workspace, context);
  const { workspace, agents, to: agent, config } = request;
  const given = config === null ? {} : { config };
  const cloister = await context.world.open({ workspace, agents, agent, demo: false, offline: true, ...given });
  if (cloister.agents.length > 0) return cloister;
  await cloister.close();
  throw new CloisterError('agent_unknown', `Looked for "${agent}": pass its file, or a folder with --agents.`);
};

const listConversations = async (
  request: Extract<ConversationsRequest, { action: 'list' }>,
  context: CommandContext,
): Promise<ExitCode> => {
  const { agent, deleted, json } = request;
  const { output } = context;
  const asked = { deleted: true, ...(agent === null ? {} : { agent }) };
  const all = await listKnownConversations(request, context, ({ conversations }) => conversations.list(asked));
  const shown = deleted ? all : all.filter(({ deletedAt }) => deletedAt === null);
  if (json) output.json(shown);
  else
    output.out.print(
      ...conversationsLines(sanitizeAll(shown), { agent, deleted: all.length - shown.length }, output.out),
    );
  return exitCode.completed;
};

type ResolvedConversation = { readonly cloister: Cloister; readonly one: ConversationRef };

const runAction = async (
  request: NamedRequest,
  { cloister, one }: ResolvedConversation,
  context: CommandContext,
): Promise<ExitCode> => {
  const { output } = context;
  const { conversations } = cloister;
  const name = shellWord(formatConversation(one));
  const done = (words: string, ...more: readonly string[]): ExitCode => {
    if (request.json) output.json({ action: request.action, conversation: one });
    else output.out.print(words, ...more);
    return exitCode.completed;
  };
  switch (request.action) {
    case 'show': {
      const whole = await conversations.show(one);
      if (request.json) output.json(whole);
      else output.out.print(...conversationLines(sanitizeAll(whole), output.out));
      return exitCode.completed;
    }
    case 'export': {
      const path = await conversations.export(one);
      if (request.json) output.json({ conversation: one, path });
      else output.out.print(path === null ? 'Nothing is stored on disk (in-memory mode).' : sanitizeLine(path));
      return exitCode.completed;
    }
    case 'attach':
      await conversations.attach(one, request.to);
      return done(`${sanitizeLine(request.to)} can now take part in ${name}.`);
    case 'detach':
      await conversations.detach(one, request.to);
      return done(`${sanitizeLine(request.to)} can no longer take part in ${name}.`);
    case 'delete':
      if (!(await confirmAndDelete(request, { cloister, one }, context))) return exitCode.cancelled;
      return done(
        `Deleted ${name}. To restore it:`,
        `  ${cloisterCommand(`conversations restore ${name}`, request.workspace)}`,
      );
    case 'restore':
      await conversations.restore(one);
      return done(`Restored ${name}.`);
    case 'purge':
      await conversations.purge(one);
      return done(`Permanently removed ${name}.`);
  }
};

/** False if the user at the terminal declined. Without a terminal, a shared conversation is not deleted. */
const confirmAndDelete = async (
  { force, json }: Extract<NamedRequest, { action: 'delete' }>,
  { cloister, one }: ResolvedConversation,
  context: CommandContext,
): Promise<boolean> => {
  try {
    await cloister.conversations.delete(one, { force });
    return true;
  } catch (error) {
    if (json || !(error instanceof CloisterError) || error.code !== 'conversation_shared') throw error;
    const lines = context.world.lines();
    try {
      if (!lines.isTerminal) throw error;
      const { err } = context.output;
      err.print(...wrapText('', errorValue(error).message, err.columns, 0));
      const left = context.interrupts.onLeave(() => lines.close());
      const answer = await lines.next('Delete it anyway? [y/N] ');
      left();
      if (answer === null || !/^\s*y(?:es)?\s*$/iu.test(answer)) {
        err.print('Nothing was deleted.');
        return false;
      }
    } finally {
      lines.close();
    }
    await cloister.conversations.delete(one, { force: true });
    return true;
  }
};
