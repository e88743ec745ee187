// The grammar of `chat`, `conversations` and `checkpoints`.
import type { Command } from 'commander';
import {
  parseAgent,
  agentOrDefault,
  agentsFlag,
  budgetFlag,
  command,
  common,
  configFlag,
  parseConversationName,
  formerOption,
  group,
  withAgents,
  withBudget,
  withEvents,
  withWorkspace,
} from './shared/grammar.ts';
import type { Flags, TakeRequest } from './shared/grammar.ts';
import type { ConversationArgument } from './shared/request.ts';
import { UsageError } from './shared/errors.ts';

export const addConversationCommands = (program: Command, take: TakeRequest): void => {
  addChat(program, take);
  addConversations(program, take);
  addCheckpoints(program, take);
};

const addChat = (program: Command, take: TakeRequest): void => {
  const chat = command(
    program,
    'chat',
    'chat with an agent, one message per line; the conversation is saved, and a chat that was killed is continued',
    ['cloister chat lead.ai', 'cloister chat lead.ai --conversation trip', 'cloister chat lead --json < questions.txt'],
    'print one JSON value per answer',
  )
    .argument('[agent]', 'an .ai file or an agent name (default: `defaultAgent` in the config)')
    .option(
      '--conversation <name>',
      'conversation name (default: `main`); <agent>/<name> for another agent’s',
      parseConversationName,
    );
  withBudget(withWorkspace(withAgents(chat))).action((given: string | undefined, flags: Flags) =>
    take({
      command: 'chat',
      ...agentOrDefault(given, agentsFlag(flags).agents),
      conversation: flags.conversation ?? null,
      ...budgetFlag(flags),
      ...configFlag(flags),
      ...common(flags),
    }),
  );
};

const conversationHelp = 'a conversation name, or <agent>/<name>';

const addConversations = (program: Command, take: TakeRequest): void => {
  const conversations = group(program, 'conversations', 'list, show, share and delete conversations', [
    'cloister conversations list --agent lead',
    'cloister conversations show trip',
    'cloister conversations attach trip scout',
    'cloister conversations delete lead/trip',
  ]);
  const one = (name: string, description: string, examples: readonly string[]): Command =>
    withWorkspace(command(conversations, name, description, examples));
  const naming = (name: string, description: string, examples: readonly string[]): Command =>
    one(name, description, examples)
      .argument('<name>', conversationHelp)
      .option('--agent <name>', 'the agent that the conversation belongs to');

  one('list', 'list conversations, newest first', [
    'cloister conversations list',
    'cloister conversations list --deleted',
  ])
    .option('--agent <name>', 'only conversations of this agent')
    .option('--deleted', 'include deleted conversations that can be restored')
    .action((flags: Flags) => {
      const { agent = null, deleted = false } = flags;
      take({ command: 'conversations', action: 'list', agent, deleted, ...common(flags) });
    });
  const plain: readonly (readonly [action: 'show' | 'export' | 'restore' | 'purge', description: string])[] = [
    ['show', 'print all messages of a conversation, with their authors'],
    ['export', 'export a conversation to a file and print the path'],
    ['restore', 'restore a deleted conversation'],
    ['purge', 'permanently remove a deleted conversation and its file'],
  ];
  for (const [action, description] of plain)
    naming(action, description, [`cloister conversations ${action} trip`]).action((name: string, flags: Flags) =>
      take({ command: 'conversations', action, named: conversationArgument(name, flags), ...common(flags) }),
    );
  naming('delete', 'delete a conversation; it can be restored until purged', [
    'cloister conversations delete trip',
    'cloister conversations delete lead/trip --force',
  ])
    .option('--force', 'do not ask, even if other agents are attached or took turns in it, or it has branches')
    .action((name: string, flags: Flags) => {
      const { force = false } = flags;
      take({
        command: 'conversations',
        action: 'delete',
        named: conversationArgument(name, flags),
        force,
        ...common(flags),
      });
    });
  addAttachAndDetach(naming, take);
};

type AddNamedCommand = (name: string, description: string, examples: readonly string[]) => Command;

const addAttachAndDetach = (naming: AddNamedCommand, take: TakeRequest): void => {
  const attaching = (action: 'attach' | 'detach', description: string, other: string): Command =>
    naming(action, description, [`cloister conversations ${action} trip scout`])
      .usage('[options] <name> <other>')
      .argument('[other]', other)
      .addOption(formerOption('--to <agent>'));
  withAgents(
    attaching('attach', 'let another agent take part in a conversation', 'the other agent: a name or a file'),
  ).action((name: string, other: string | undefined, flags: Flags) => {
    const { agent: to, agents } = parseAgent(otherAgent('attach', other, flags), agentsFlag(flags).agents);
    const found = { named: conversationArgument(name, flags), to, agents, ...configFlag(flags) };
    take({ command: 'conversations', action: 'attach', ...found, ...common(flags) });
  });
  attaching('detach', 'stop another agent from taking part in a conversation', 'the name of the other agent').action(
    (name: string, other: string | undefined, flags: Flags) => {
      const to = otherAgent('detach', other, flags);
      take({
        command: 'conversations',
        action: 'detach',
        named: conversationArgument(name, flags),
        to,
        ...common(flags),
      });
    },
  );
};

const otherAgent = (action: string, other: string | undefined, { to }: Flags): string => {
  const agent = other ?? to;
  if (agent === undefined || agent === '')
    throw new UsageError('missing the other agent', `cloister conversations ${action} <name> <other>`);
  if (to !== undefined && to !== agent)
    throw new UsageError(`two other agents given: ${agent} and ${to}`, 'name only one of them');
  return agent;
};

/** `--agent` means the same as the part before the slash. */
const conversationArgument = (text: string, { agent }: Flags): ConversationArgument => {
  const conversation = parseConversation(text);
  if (typeof conversation === 'string') return { name: conversation, agent: agent ?? null };
  if (agent !== undefined && agent !== conversation.agent)
    throw new UsageError(`${text} does not belong to agent ${agent}`, 'omit --agent');
  return conversation;
};

const parseConversation = (text: string): ReturnType<typeof parseConversationName> => {
  try {
    return parseConversationName(text);
  } catch {
    throw new UsageError(`"${text}" is not a valid conversation name`, 'use <name> or <agent>/<name>');
  }
};

const checkpointHelp = 'a checkpoint id or prefix, its file, or `last`';

const addCheckpoints = (program: Command, take: TakeRequest): void => {
  const checkpoints = group(program, 'checkpoints', 'save the state of runs, and restore it or branch from it', [
    'cloister checkpoints create last --label "before the trip"',
    'cloister checkpoints list --agent lead',
    'cloister checkpoints branch last --name other-way',
  ]);
  const one = (name: string, description: string, examples: readonly string[]): Command =>
    withWorkspace(command(checkpoints, name, description, examples)).option(
      '--agent <name>',
      'only checkpoints of this agent',
    );
  const among = (flags: Flags) => ({ command: 'checkpoints', agent: flags.agent ?? null, ...common(flags) }) as const;

  one('list', 'list checkpoints, newest first', ['cloister checkpoints list']).action((flags: Flags) =>
    take({ action: 'list', ...among(flags) }),
  );
  // Not `one`: a run has its own agent.
  withWorkspace(
    command(checkpoints, 'create', 'save the current state of a running or ended run', [
      'cloister checkpoints create last --label "before the trip"',
    ]),
  )
    .argument('<run>', 'a run id, a prefix of one, or `last`')
    .option('--label <text>', 'description of the checkpoint')
    .action((run: string, flags: Flags) =>
      take({ action: 'create', run, label: flags.label ?? null, ...among(flags) }),
    );
  one('diff', 'compare two checkpoints; exit 1 if they differ', ['cloister checkpoints diff 4f2a last'])
    .argument('<id>', checkpointHelp)
    .argument('<other>', 'the other checkpoint')
    .action((id: string, other: string, flags: Flags) => take({ action: 'diff', id, other, ...among(flags) }));
  addRestoreAndBranch(one, (flags, request) => take({ ...among(flags), ...request }));
};

type CheckpointRunArguments = {
  readonly action: 'restore' | 'branch';
  readonly id: string;
  readonly name: string | null;
  readonly to: string | null;
  readonly agents: readonly string[];
  readonly config: string | null;
  readonly jsonl: boolean;
};

const addRestoreAndBranch = (
  one: AddNamedCommand,
  take: (flags: Flags, request: CheckpointRunArguments) => void,
): void => {
  const request = (action: CheckpointRunArguments['action'], id: string, flags: Flags): CheckpointRunArguments => {
    const { name = null, jsonl = false } = flags;
    const { agents } = agentsFlag(flags);
    const given = flags.to === undefined ? { agent: null, agents } : parseAgent(flags.to, agents);
    return { action, id, name, to: given.agent, agents: given.agents, jsonl, ...configFlag(flags) };
  };
  const restore = one('restore', 'reset the conversation to a checkpoint and continue unfinished work', [
    'cloister checkpoints restore 4f2a',
  ]).argument('<id>', checkpointHelp);
  withEvents(withAgents(restore)).action((id: string, flags: Flags) => take(flags, request('restore', id, flags)));
  const branch = one('branch', 'continue from a checkpoint in a new conversation; the original stays unchanged', [
    'cloister checkpoints branch 4f2a --name other-way',
    'cloister checkpoints branch last --to scout.ai',
  ])
    .argument('<id>', checkpointHelp)
    .option('--name <name>', 'name of the new conversation')
    .option('--to <agent>', 'the agent that continues it: a name or a file');
  withEvents(withAgents(branch)).action((id: string, flags: Flags) => take(flags, request('branch', id, flags)));
};
