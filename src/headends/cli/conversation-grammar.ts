// The grammar of what lasts longer than a run: conversations, and checkpoints to go back to.
import type { Command } from 'commander';
import {
  agentNamed,
  agentOrDefault,
  agentsOf,
  budgetOf,
  command,
  common,
  configOf,
  conversationNamed,
  group,
  withAgents,
  withBudget,
  withEvents,
  withWorkspace,
} from './grammar.ts';
import type { Flags, Take } from './grammar.ts';
import type { ConversationArgument } from './request.ts';
import { UsageError } from './usage-error.ts';

export const addTalkCommands = (program: Command, take: Take): void => {
  addChat(program, take);
  addConversations(program, take);
  addCheckpoints(program, take);
};

const addChat = (program: Command, take: Take): void => {
  const chat = command(
    program,
    'chat',
    'talk with an agent: a line is a message, and it keeps what was said',
    ['cloister chat lead.ai', 'cloister chat lead.ai --conversation trip', 'cloister chat lead --json < questions.txt'],
    'print one JSON value a line: each answer',
  )
    .argument('[agent]', 'a file that ends with .ai, or the name of an agent; else `defaultAgent` of the config')
    .option('--conversation <name>', '`main` unless given; <agent>/<name>: another agent’s', conversationNamed);
  withBudget(withWorkspace(withAgents(chat))).action((given: string | undefined, flags: Flags) =>
    take({
      command: 'chat',
      ...agentOrDefault(given, agentsOf(flags).agents),
      conversation: flags.conversation ?? null,
      ...budgetOf(flags),
      ...configOf(flags),
      ...common(flags),
    }),
  );
};

const aConversation = 'a conversation, or <agent>/<name>';

const addConversations = (program: Command, take: Take): void => {
  const conversations = group(program, 'conversations', 'list, read, share and delete what was said', [
    'cloister conversations list --agent lead',
    'cloister conversations show trip',
    'cloister conversations attach trip scout',
    'cloister conversations delete lead/trip',
  ]);
  const one = (name: string, description: string, examples: readonly string[]): Command =>
    withWorkspace(command(conversations, name, description, examples)).option(
      '--agent <id>',
      'only those of this agent',
    );
  const naming = (name: string, description: string, examples: readonly string[]): Command =>
    one(name, description, examples).argument('<name>', aConversation);

  one('list', 'list conversations, newest first', [
    'cloister conversations list',
    'cloister conversations list --deleted',
  ])
    .option('--deleted', 'also those that can be restored')
    .action((flags: Flags) => {
      const { agent = null, deleted = false } = flags;
      take({ command: 'conversations', action: 'list', agent, deleted, ...common(flags) });
    });
  const plain: readonly (readonly [action: 'show' | 'export' | 'restore' | 'purge', description: string])[] = [
    ['show', 'print all that was said, with who said it'],
    ['export', 'write it to its file, and print the path'],
    ['restore', 'take a deletion back'],
    ['purge', 'remove a deleted conversation for good, with its file'],
  ];
  for (const [action, description] of plain)
    naming(action, description, [`cloister conversations ${action} trip`]).action((name: string, flags: Flags) =>
      take({ command: 'conversations', action, named: namedBy(name, flags), ...common(flags) }),
    );
  naming('delete', 'delete one; it can be restored until it is purged', [
    'cloister conversations delete trip',
    'cloister conversations delete lead/trip --force',
  ])
    .option('--force', 'even if other agents refer to it, and without asking')
    .action((name: string, flags: Flags) => {
      const { force = false } = flags;
      take({ command: 'conversations', action: 'delete', named: namedBy(name, flags), force, ...common(flags) });
    });
  addAttaching(naming, take);
};

type Naming = (name: string, description: string, examples: readonly string[]) => Command;

const addAttaching = (naming: Naming, take: Take): void => {
  const attaching = (action: 'attach' | 'detach', description: string): Command =>
    naming(action, description, [`cloister conversations ${action} trip scout`])
      .argument('[other]', 'the other agent')
      .option('--to <agent>', 'the other agent');
  withAgents(attaching('attach', 'let another agent take turns in it')).action(
    (name: string, other: string | undefined, flags: Flags) => {
      const { agent: to, agents } = agentNamed(otherAgent('attach', other, flags), agentsOf(flags).agents);
      const found = { named: namedBy(name, flags), to, agents, ...configOf(flags) };
      take({ command: 'conversations', action: 'attach', ...found, ...common(flags) });
    },
  );
  attaching('detach', 'no longer let it').action((name: string, other: string | undefined, flags: Flags) => {
    const to = otherAgent('detach', other, flags);
    take({ command: 'conversations', action: 'detach', named: namedBy(name, flags), to, ...common(flags) });
  });
};

const otherAgent = (action: string, other: string | undefined, { to }: Flags): string => {
  const agent = other ?? to;
  if (agent === undefined || agent === '')
    throw new UsageError('the other agent is missing', `cloister conversations ${action} <name> <agent>`);
  if (to !== undefined && to !== agent)
    throw new UsageError(`two other agents are given: ${agent} and ${to}`, 'give one of them');
  return agent;
};

/** `--agent` says the same as the part before the slash. */
const namedBy = (text: string, { agent }: Flags): ConversationArgument => {
  const conversation = namedOrThrow(text);
  if (typeof conversation === 'string') return { name: conversation, agent: agent ?? null };
  if (agent !== undefined && agent !== conversation.agent)
    throw new UsageError(`${text} is not of the agent ${agent}`, 'leave --agent out');
  return conversation;
};

const namedOrThrow = (text: string): ReturnType<typeof conversationNamed> => {
  try {
    return conversationNamed(text);
  } catch {
    throw new UsageError(`"${text}" is no name of a conversation`, 'give its name, or <agent>/<name>');
  }
};

const aCheckpoint = 'a checkpoint, its first characters, its file, or `last`';

const addCheckpoints = (program: Command, take: Take): void => {
  const checkpoints = group(program, 'checkpoints', 'keep places in runs, and go back to them', [
    'cloister checkpoints create last --label "before the trip"',
    'cloister checkpoints list --agent lead',
    'cloister checkpoints branch last --name other-way',
  ]);
  const one = (name: string, description: string, examples: readonly string[]): Command =>
    withWorkspace(command(checkpoints, name, description, examples)).option('--agent <id>', 'only those of this agent');
  const among = (flags: Flags) => ({ command: 'checkpoints', agent: flags.agent ?? null, ...common(flags) }) as const;

  one('list', 'list checkpoints, newest first', ['cloister checkpoints list']).action((flags: Flags) =>
    take({ action: 'list', ...among(flags) }),
  );
  one('create', 'keep this place of a run, whether it goes on or has ended', [
    'cloister checkpoints create last --label "before the trip"',
  ])
    .argument('<run>', 'a run, its first characters, or `last`')
    .option('--label <text>', 'what to remember it by')
    .action((run: string, flags: Flags) =>
      take({ action: 'create', run, label: flags.label ?? null, ...among(flags) }),
    );
  one('diff', 'say what is not the same in two checkpoints; exit 1 when something is not', [
    'cloister checkpoints diff 4f2a last',
  ])
    .argument('<id>', aCheckpoint)
    .argument('<other>', 'another one')
    .action((id: string, other: string, flags: Flags) => take({ action: 'diff', id, other, ...among(flags) }));
  addGoingBack(one, (flags, request) => take({ ...among(flags), ...request }));
};

type GoingBack = {
  readonly action: 'restore' | 'branch';
  readonly id: string;
  readonly name: string | null;
  readonly to: string | null;
  readonly agents: readonly string[];
  readonly config: string | null;
  readonly jsonl: boolean;
};

const addGoingBack = (one: Naming, take: (flags: Flags, request: GoingBack) => void): void => {
  const request = (action: GoingBack['action'], id: string, flags: Flags): GoingBack => {
    const { name = null, jsonl = false } = flags;
    const { agents } = agentsOf(flags);
    const given = flags.to === undefined ? { agent: null, agents } : agentNamed(flags.to, agents);
    return { action, id, name, to: given.agent, agents: given.agents, jsonl, ...configOf(flags) };
  };
  const restore = one('restore', 'set its conversation back to it; what was under way there goes on', [
    'cloister checkpoints restore 4f2a',
  ]).argument('<id>', aCheckpoint);
  withEvents(withAgents(restore)).action((id: string, flags: Flags) => take(flags, request('restore', id, flags)));
  const branch = one('branch', 'go on from it apart; what it was taken from stays as it is', [
    'cloister checkpoints branch 4f2a --name other-way',
    'cloister checkpoints branch last --to scout.ai',
  ])
    .argument('<id>', aCheckpoint)
    .option('--name <name>', 'the name of the new conversation')
    .option('--to <agent>', 'the agent that goes on with it: its name, or its file');
  withEvents(withAgents(branch)).action((id: string, flags: Flags) => take(flags, request('branch', id, flags)));
};
