// `conversations`: lists, shows, shares and deletes conversations.
import { CloisterError } from '#base';
import { describeAttachment } from '#contracts';
import type { Cloister, Conversation, ConversationRef, ConversationSummary, Entry } from '#contracts';
import { count, dateTime, plural } from '#headends/run-view';
import { defineCommand, defineGroup } from './shared/define-command.ts';
import type { CommandContext, OutputFlags } from './shared/define-command.ts';
import { errorValue, exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { cloisterCommand, shellWord } from './shared/next-commands.ts';
import { listKnownConversations, openToRead, formatConversation, resolveConversation } from './shared/find-and-open.ts';
import {
  agentsOptions,
  flagOption,
  optionalArgument,
  parseAgent,
  parseConversation,
  requiredArgument,
  textOption,
  workspaceOption,
} from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { sanitizeAll, sanitizeLine, truncateColumns, wrapText } from './shared/sanitize-text.ts';
import { tableLines } from './shared/table.ts';
import type { Column } from './shared/table.ts';
import { rowText } from './shared/tree.ts';

const list = defineCommand({
  about: 'list conversations, newest first',
  examples: ['cloister conversations list', 'cloister conversations list --deleted'],
  options: {
    ...workspaceOption,
    agent: textOption('<name>', 'only conversations of this agent'),
    deleted: flagOption('include deleted conversations that can be restored'),
  },
  run: async (given, { runtime, output }) => {
    const { agent, deleted, json } = given;
    const asked = { deleted: true, ...(agent === null ? {} : { agent }) };
    const all = await listKnownConversations(given, runtime, ({ conversations }) => conversations.list(asked));
    const shown = deleted ? all : all.filter(({ deletedAt }) => deletedAt === null);
    output.result(json, shown, (printer) =>
      conversationsLines(sanitizeAll(shown), { agent, deleted: all.length - shown.length }, printer),
    );
    return exitCode.completed;
  },
});

const nameArgument = { name: requiredArgument('a conversation name, or <agent>/<name>') };

const nameOptions = {
  ...workspaceOption,
  agent: textOption('<name>', 'the agent that the conversation belongs to'),
};

/** A conversation as typed, and how to print what was done with it. */
type NamedConversation = OutputFlags & {
  readonly workspace: string;
  readonly name: string;
  readonly agent: string | null;
};

type FoundConversation = {
  readonly conversations: Cloister['conversations'];
  readonly one: ConversationRef;
  /** To print and to paste. */
  readonly name: string;
  /** Prints what was done. */
  readonly done: (action: string, words: string, ...more: readonly string[]) => ExitCode;
};

/** Finds the conversation. `deleted`: prefer deleted ones. */
const withConversation = async (
  given: NamedConversation,
  { runtime, output }: CommandContext,
  act: (found: FoundConversation) => Promise<ExitCode>,
  { deleted = false, open = () => openToRead(given.workspace, runtime) } = {},
): Promise<ExitCode> => {
  const named = conversationArgument(given);
  await using cloister = await open();
  const { agent, name } = await resolveConversation(cloister, named, deleted, runtime);
  const one = { agent, name };
  const done: FoundConversation['done'] = (action, words, ...more) => {
    output.result(given.json, { action, conversation: one }, () => [words, ...more]);
    return exitCode.completed;
  };
  return await act({ conversations: cloister.conversations, one, name: shellWord(formatConversation(one)), done });
};

/** `--agent` means the same as the part before the slash. */
const conversationArgument = ({ name: text, agent }: NamedConversation) => {
  const conversation = parseConversation(text);
  if (conversation === null)
    throw new UsageError(`"${text}" is not a valid conversation name`, 'use <name> or <agent>/<name>');
  if (typeof conversation === 'string') return { name: conversation, agent };
  if (agent !== null && agent !== conversation.agent)
    throw new UsageError(`${text} does not belong to agent ${agent}`, 'omit --agent');
  return conversation;
};

/** A subcommand that takes a conversation and nothing else. */
const onConversation = (
  action: string,
  about: string,
  act: (found: FoundConversation, json: boolean, context: CommandContext) => Promise<ExitCode>,
  deleted = false,
) =>
  defineCommand({
    about,
    examples: [`cloister conversations ${action} trip`],
    arguments: nameArgument,
    options: nameOptions,
    run: (given, context) => withConversation(given, context, (found) => act(found, given.json, context), { deleted }),
  });

const show = onConversation(
  'show',
  'print all messages of a conversation, with their authors',
  async ({ conversations, one }, json, { output }) => {
    const whole = await conversations.show(one);
    output.result(json, whole, (printer) => conversationLines(sanitizeAll(whole), printer));
    return exitCode.completed;
  },
);

const exportToFile = onConversation(
  'export',
  'export a conversation to a file and print the path',
  async ({ conversations, one }, json, { output }) => {
    const path = await conversations.export(one);
    const words = path === null ? 'Nothing is stored on disk (in-memory mode).' : sanitizeLine(path);
    output.result(json, { conversation: one, path }, () => [words]);
    return exitCode.completed;
  },
);

const restore = onConversation(
  'restore',
  'restore a deleted conversation',
  async ({ conversations, one, name, done }) => {
    await conversations.restore(one);
    return done('restore', `Restored ${name}.`);
  },
  true,
);

const purge = onConversation(
  'purge',
  'permanently remove a deleted conversation and its file',
  async ({ conversations, one, name, done }) => {
    await conversations.purge(one);
    return done('purge', `Permanently removed ${name}.`);
  },
  true,
);

const remove = defineCommand({
  about: 'delete a conversation; it can be restored until purged',
  examples: ['cloister conversations delete trip', 'cloister conversations delete lead/trip --force'],
  arguments: nameArgument,
  options: {
    ...nameOptions,
    force: flagOption('do not ask, even if other agents are attached or took turns in it, or it has branches'),
  },
  run: (given, context) =>
    withConversation(given, context, async (found) => {
      const { name, done } = found;
      if (!(await confirmAndDelete(found, given, context))) return exitCode.cancelled;
      const command = cloisterCommand(`conversations restore ${name}`, given.workspace);
      return done('delete', `Deleted ${name}. To restore it:`, `  ${command}`);
    }),
});

/** False if the user at the terminal declined. Without a terminal, a shared conversation is not deleted. */
const confirmAndDelete = async (
  { conversations, one }: FoundConversation,
  { force, json }: { readonly force: boolean; readonly json: boolean },
  { terminal, output, interrupts }: CommandContext,
): Promise<boolean> => {
  try {
    await conversations.delete(one, { force });
    return true;
  } catch (error) {
    if (json || !(error instanceof CloisterError) || error.code !== 'conversation_shared') throw error;
    const lines = terminal.lines();
    try {
      if (!lines.isTerminal) throw error;
      const { err } = output;
      err.print(...wrapText('', errorValue(error).message, err.columns, 0));
      const left = interrupts.onLeave(() => lines.close());
      const answer = await lines.next('Delete it anyway? [y/N] ');
      left();
      if (answer === null || !/^\s*y(?:es)?\s*$/iu.test(answer)) {
        err.print('Nothing was deleted.');
        return false;
      }
    } finally {
      lines.close();
    }
    await conversations.delete(one, { force: true });
    return true;
  }
};

/** The former way to name the other agent. */
const otherOptions = { to: { ...textOption('<agent>', ''), isHidden: true } };

const attach = defineCommand({
  about: 'let another agent take part in a conversation',
  examples: ['cloister conversations attach trip scout'],
  usage: '[options] <name> <other>',
  arguments: { ...nameArgument, other: optionalArgument('the other agent: a name or a file') },
  options: { ...nameOptions, ...otherOptions, ...agentsOptions },
  run: (given, context) => {
    const { agent: to, agents } = parseAgent(otherAgent('attach', given), given.agents);
    return withConversation(
      given,
      context,
      async ({ conversations, one, name, done }) => {
        await conversations.attach(one, to);
        return done('attach', `${sanitizeLine(to)} can now take part in ${name}.`);
      },
      { open: () => openWithAgent({ ...given, to, agents }, context) },
    );
  },
});

const detach = defineCommand({
  about: 'stop another agent from taking part in a conversation',
  examples: ['cloister conversations detach trip scout'],
  usage: '[options] <name> <other>',
  arguments: { ...nameArgument, other: optionalArgument('the name of the other agent') },
  options: { ...nameOptions, ...otherOptions },
  run: (given, context) => {
    const to = otherAgent('detach', given);
    return withConversation(given, context, async ({ conversations, one, name, done }) => {
      await conversations.detach(one, to);
      return done('detach', `${sanitizeLine(to)} can no longer take part in ${name}.`);
    });
  },
});

type GivenOther = { readonly other: string | null; readonly to: string | null };

const otherAgent = (action: string, { other, to }: GivenOther): string => {
  const agent = other ?? to;
  if (agent === null || agent === '')
    throw new UsageError('missing the other agent', `cloister conversations ${action} <name> <other>`);
  if (to !== null && to !== agent)
    throw new UsageError(`two other agents given: ${agent} and ${to}`, 'name only one of them');
  return agent;
};

type AgentToAttach = {
  readonly workspace: string;
  readonly to: string;
  readonly agents: readonly string[];
  readonly config: string | null;
};

/** The agent to attach must exist: it is found as `chat` finds it, but offline. */
const openWithAgent = async (
  { workspace, to: agent, agents, config }: AgentToAttach,
  { runtime }: CommandContext,
): Promise<Cloister> => {
  const cloister = await runtime.open({ workspace, agents, agent, config, offline: true });
  if (cloister.agents.length > 0) return cloister;
  await cloister.close();
  throw new CloisterError('agent_unknown', `Looked for "${agent}": pass its file, or a folder with --agents.`);
};

/** The conversations must be sanitized. */
const conversationsLines = (
  conversations: readonly ConversationSummary[],
  { agent, deleted }: { readonly agent: string | null; readonly deleted: number },
  screen: Screen,
): readonly string[] => {
  const whose = agent === null ? '' : ` of ${sanitizeLine(agent)}`;
  if (conversations.length === 0 && deleted > 0)
    return [
      `No conversations${whose}; ${plural(deleted, 'deleted one')} can be restored:`,
      '  npx cloister conversations list --deleted',
    ];
  if (conversations.length === 0)
    return [
      `No conversations${whose} yet.`,
      'Start one with `cloister chat <agent>` or `cloister run <agent> --conversation <name> "<input>"`.',
    ];
  const [heading = '', ...lines] = tableLines(conversationColumns, conversations, screen);
  return [
    heading,
    ...lines.map((line, index) => (conversations[index]?.deletedAt === null ? line : screen.paint('dim', line))),
  ];
};

const conversationColumns: readonly Column<ConversationSummary>[] = [
  { title: 'agent', shrinksTo: 8, value: ({ agent }) => rowText(agent) },
  { title: 'name', shrinksTo: 10, value: ({ name }) => rowText(name) },
  { title: 'turns', align: 'right', value: ({ turns }) => count(turns) },
  { title: 'last turn', value: ({ newestAt }) => dateTime(newestAt) },
  { title: 'state', value: (one) => describeState(one) },
  { title: 'attached', shrinksTo: 8, value: ({ attached }) => rowText(attached.join(', ')) },
];

const describeState = ({ running, deletedAt }: ConversationSummary): string => {
  if (deletedAt !== null) return 'deleted';
  return running.length > 0 ? 'running' : '';
};

/** The conversation must be sanitized. */
const conversationLines = (one: Conversation, { paint, columns }: Screen): readonly string[] => [
  paint('bold', truncateColumns(sanitizeLine(formatConversation(one)), columns)),
  `started   ${dateTime(one.startedAt)}, ${plural(one.turns, 'turn')}, last turn ${dateTime(one.newestAt)}`,
  ...(one.attached.length === 0 ? [] : wrapText('attached  ', one.attached.join(', '), columns, 10)),
  ...(one.branchedFrom === null ? [] : wrapText('branched  ', `from checkpoint ${one.branchedFrom}`, columns, 10)),
  ...(one.running.length === 0 ? [] : wrapText('running   ', one.running.join(', '), columns, 10)),
  ...(one.deletedAt === null ? [] : [paint('yellow', `deleted   ${dateTime(one.deletedAt)}; can be restored`)]),
  ...one.entries.flatMap((entry) => entryLines(entry, { paint, columns })),
];

const entryLines = (
  { at, agent_id, recipient_id, category, text, attachments = [] }: Entry,
  { paint, columns }: Screen,
): readonly string[] => {
  const context = category === 'CONTEXT' ? ', context' : '';
  const head = `${dateTime(at)}  ${rowText(agent_id)} → ${rowText(recipient_id)}${context}`;
  const files = attachments.map((one) => truncateColumns(`attached: ${rowText(describeAttachment(one))}`, columns));
  return ['', paint('cyan', truncateColumns(head, columns)), ...files, text.trimEnd()];
};

export default defineGroup({
  about: 'list, show, share and delete conversations',
  examples: [
    'cloister conversations list --agent lead',
    'cloister conversations show trip',
    'cloister conversations attach trip scout',
    'cloister conversations delete lead/trip',
  ],
  commands: { list, show, export: exportToFile, restore, purge, delete: remove, attach, detach },
});
