// `conversations`: what was said, and who may go on with it.
import { CloisterError } from '#base';
import type { Cloister, ConversationRef } from '#contracts';
import { conversationLines, conversationsLines } from './conversation-lines.ts';
import { conversationWords } from './conversation-name.ts';
import type { CommandContext } from './command-context.ts';
import { errorValue } from './error-value.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { openToRead } from './open-to-read.ts';
import { cloisterCommand } from './cloister-command.ts';
import type { ConversationsRequest } from './request.ts';
import { listKnownConversations, resolveConversation } from './resolve-conversation.ts';
import { shellWord } from './shell-word.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';
import { wrapText } from './wrap-text.ts';

type Named = Exclude<ConversationsRequest, { readonly action: 'list' }>;

export const conversationsCommand = async (request: ConversationsRequest, desk: CommandContext): Promise<ExitCode> => {
  if (request.action === 'list') return listThem(request, desk);
  await using cloister = await openFor(request, desk);
  const deleted = request.action === 'restore' || request.action === 'purge';
  const { agent, name } = await resolveConversation(cloister, request.named, { deleted, world: desk.world });
  return await carryOut(request, { cloister, one: { agent, name } }, desk);
};

/** Who is to be attached must be there: it is looked for as `chat` would, but nothing of it is reached. */
const openFor = async (request: Named, desk: CommandContext): Promise<Cloister> => {
  if (request.action !== 'attach') return openToRead(request.workspace, desk);
  const { workspace, agents, to: agent, config } = request;
  const given = config === null ? {} : { config };
  const cloister = await desk.world.open({ workspace, agents, agent, demo: false, offline: true, ...given });
  if (cloister.agents.length > 0) return cloister;
  await cloister.close();
  throw new CloisterError('agent_unknown', `It was called ${agent}; name its file, or a folder with --agents.`);
};

const listThem = async (
  request: Extract<ConversationsRequest, { action: 'list' }>,
  desk: CommandContext,
): Promise<ExitCode> => {
  const { agent, deleted, json } = request;
  const { output } = desk;
  const asked = { deleted: true, ...(agent === null ? {} : { agent }) };
  const all = await listKnownConversations(request, desk, ({ conversations }) => conversations.list(asked));
  const shown = deleted ? all : all.filter(({ deletedAt }) => deletedAt === null);
  if (json) output.json(shown);
  else
    output.out.print(
      ...conversationsLines(sanitizeAll(shown), { agent, deleted: all.length - shown.length }, output.out),
    );
  return exitCode.completed;
};

type Found = { readonly cloister: Cloister; readonly one: ConversationRef };

const carryOut = async (request: Named, { cloister, one }: Found, desk: CommandContext): Promise<ExitCode> => {
  const { output } = desk;
  const { conversations } = cloister;
  const name = shellWord(conversationWords(one));
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
      else output.out.print(path === null ? 'Nothing is kept on disk here.' : sanitizeLine(path));
      return exitCode.completed;
    }
    case 'attach':
      await conversations.attach(one, request.to);
      return done(`${sanitizeLine(request.to)} may take turns in ${name}.`);
    case 'detach':
      await conversations.detach(one, request.to);
      return done(`${sanitizeLine(request.to)} no longer takes turns in ${name}.`);
    case 'delete':
      if (!(await deleteIt(request, { cloister, one }, desk))) return exitCode.cancelled;
      return done(
        `${name} is deleted. Take it back:`,
        `  ${cloisterCommand(`conversations restore ${name}`, request.workspace)}`,
      );
    case 'restore':
      await conversations.restore(one);
      return done(`${name} is there again.`);
    case 'purge':
      await conversations.purge(one);
      return done(`${name} is gone for good.`);
  }
};

/** False when the person at the terminal thought better of it. Without one, what others refer to stays. */
const deleteIt = async (
  { force, json }: Extract<Named, { action: 'delete' }>,
  { cloister, one }: Found,
  desk: CommandContext,
): Promise<boolean> => {
  try {
    await cloister.conversations.delete(one, { force });
    return true;
  } catch (error) {
    if (json || !(error instanceof CloisterError) || error.code !== 'conversation_shared') throw error;
    const lines = desk.world.lines();
    try {
      if (!lines.isTerminal) throw error;
      const { err } = desk.output;
      err.print(...wrapText('', errorValue(error).message, err.columns, 0));
      const left = desk.interrupts.onLeave(() => lines.close());
      const answer = await lines.next('Delete it all the same? [y/N] ');
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
