// Finds conversations by name, and checkpoints by a prefix of their id.
import { CloisterError } from '#base';
import type { Checkpoint, Cloister, ConversationSummary } from '#contracts';
import type { CliWorld } from './cli-world.ts';
import { formatConversation } from './conversation-name.ts';
import type { CommandContext } from './command-context.ts';
import { openToRead } from './open-to-read.ts';
import type { ConversationArgument } from './request.ts';
import { ambiguousError, listNames, matchPrefix } from './resolve-name.ts';
import { UsageError } from './usage-error.ts';

/** Lists from the workspace alone. An agent without records there must exist: it is found as `chat` finds it. */
export const listKnownConversations = async <T>(
  { workspace, agent }: { readonly workspace: string; readonly agent: string | null },
  context: CommandContext,
  list: (cloister: Cloister) => Promise<T>,
): Promise<T> => {
  await using cloister = await openToRead(workspace, context);
  try {
    return await list(cloister);
  } catch (error) {
    if (agent === null || !(error instanceof CloisterError) || error.code !== 'agent_unknown') throw error;
    await using other = await context.world.open({ workspace, agents: [], agent, demo: false, offline: true });
    if (other.agents.length === 0) throw error;
    return await list(other);
  }
};

/**
 * If several agents have a conversation of that name, the default agent's. `deleted`: prefer deleted ones. Also finds
 * conversations that the command will refuse: the runtime says why.
 */
export const resolveConversation = async (
  cloister: Cloister,
  { name, agent }: ConversationArgument,
  { deleted, world }: { readonly deleted: boolean; readonly world: Pick<CliWorld, 'defaultAgent'> },
): Promise<ConversationSummary> => {
  const all = await cloister.conversations.list({ deleted: true });
  const fitting = all.filter((one) => one.name === name && (agent === null || one.agent === agent));
  const meant = fitting.filter(({ deletedAt }) => (deletedAt !== null) === deleted);
  const [found, ...others] = meant.length === 0 ? fitting : meant;
  if (found === undefined) throw unknownConversationError(all);
  if (others.length === 0) return found;
  const ofDefault = await world.defaultAgent(undefined);
  const own = [found, ...others].find((one) => one.agent === ofDefault);
  if (own !== undefined) return own;
  const names = [found, ...others].map(formatConversation);
  throw new UsageError(
    `more than one agent has a conversation "${name}": ${listNames(names)}`,
    `include the agent: ${names[0]}`,
  );
};

const unknownConversationError = (all: readonly ConversationSummary[]): CloisterError =>
  new CloisterError(
    'conversation_unknown',
    all.length === 0
      ? 'This workspace has no conversations.'
      : `The newest are: ${listNames(all.map(formatConversation))}.`,
  );

export type ResolvedCheckpoint = {
  /** In the form that the runtime takes. */
  readonly ref: string;
  /** Null for a file that names no checkpoint of this workspace: the runtime says what is wrong with it. */
  readonly checkpoint: Checkpoint | null;
};

export const findCheckpointByName = async (
  cloister: Cloister,
  { id, agent }: { readonly id: string; readonly agent: string | null },
  world: Pick<CliWorld, 'readText' | 'defaultAgent'>,
): Promise<ResolvedCheckpoint> => {
  const checkpoints = await cloister.checkpoints.list(agent === null ? {} : { agent });
  if (!isFile(id)) {
    const checkpoint = await resolveCheckpoint(checkpoints, { id, agent }, world);
    return { ref: checkpoint.id, checkpoint };
  }
  const named = await readCheckpointId(id, world);
  return { ref: id, checkpoint: checkpoints.find((one) => one.id === named) ?? null };
};

const isFile = (id: string): boolean => /[/\\]|\.json$/u.test(id);

const readCheckpointId = async (path: string, { readText }: Pick<CliWorld, 'readText'>): Promise<unknown> => {
  try {
    return (JSON.parse(await readText(path)) as Partial<Checkpoint> | null)?.id;
  } catch {
    return undefined;
  }
};

/** `last` stands for the newest one. */
const resolveCheckpoint = async (
  checkpoints: readonly Checkpoint[],
  { id, agent }: { readonly id: string; readonly agent: string | null },
  world: Pick<CliWorld, 'defaultAgent'>,
): Promise<Checkpoint> => {
  if (id === 'last' && checkpoints[0] !== undefined) return checkpoints[0];
  const ids = checkpoints.map((one) => one.id);
  const fitting = matchPrefix(id, ids, (one) => one.startsWith(id));
  const found = fitting.length > 1 ? await preferDefaultAgent(checkpoints, fitting, world) : fitting;
  if (found.length > 1) throw ambiguousError('checkpoint', id, found);
  const checkpoint = checkpoints.find((one) => one.id === found[0]);
  if (checkpoint !== undefined) return checkpoint;
  const whose = agent === null ? '' : ` of ${agent}`;
  throw new CloisterError(
    'checkpoint_unknown',
    ids.length === 0 ? `This workspace has no checkpoints${whose}.` : `The newest${whose} are: ${listNames(ids)}.`,
  );
};

/** Only those of the default agent, if it has any of them. */
const preferDefaultAgent = async (
  checkpoints: readonly Checkpoint[],
  ids: readonly string[],
  { defaultAgent }: Pick<CliWorld, 'defaultAgent'>,
): Promise<readonly string[]> => {
  const agent = await defaultAgent(undefined);
  const own = checkpoints.flatMap((one) => (one.agent === agent && ids.includes(one.id) ? [one.id] : []));
  return own.length === 0 ? ids : own;
};
