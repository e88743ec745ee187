// Conversations by their names, and checkpoints by their first characters.
import { CloisterError } from '#base';
import type { Checkpoint, Cloister, ConversationSummary } from '#contracts';
import type { CliWorld } from './cli-world.ts';
import { conversationWords } from './conversation-words.ts';
import type { Named } from './request.ts';
import { ambiguous, listed, pick } from './resolve-name.ts';
import { UsageError } from './usage-error.ts';

/** `deleted`: which of two would be meant. What a command cannot be done with is found too: the runtime says why. */
export const resolveConversation = async (
  cloister: Cloister,
  { name, agent }: Named,
  deleted: boolean,
): Promise<ConversationSummary> => {
  const all = await cloister.conversations.list({ deleted: true });
  const fitting = all.filter((one) => one.name === name && (agent === null || one.agent === agent));
  const meant = fitting.filter(({ deletedAt }) => (deletedAt !== null) === deleted);
  const [found, ...others] = meant.length === 0 ? fitting : meant;
  if (found === undefined) throw unknown(all);
  if (others.length === 0) return found;
  const names = [found, ...others].map(conversationWords);
  throw new UsageError(
    `more than one agent has a conversation "${name}": ${listed(names)}`,
    `name it with its agent: ${names[0]}`,
  );
};

const unknown = (all: readonly ConversationSummary[]): CloisterError =>
  new CloisterError(
    'conversation_unknown',
    all.length === 0 ? 'There are none yet.' : `The newest are: ${listed(all.map(conversationWords))}.`,
  );

export type FoundCheckpoint = {
  /** As the runtime takes it. */
  readonly asked: string;
  /** Null for a file that does not name one of this workspace: the runtime says what is wrong with it. */
  readonly checkpoint: Checkpoint | null;
};

export const findCheckpoint = async (
  cloister: Cloister,
  { id, agent }: { readonly id: string; readonly agent: string | null },
  world: Pick<CliWorld, 'readText'>,
): Promise<FoundCheckpoint> => {
  const checkpoints = await cloister.checkpoints.list(agent === null ? {} : { agent });
  if (!isFile(id)) {
    const checkpoint = resolveCheckpoint(checkpoints, id, agent);
    return { asked: checkpoint.id, checkpoint };
  }
  const named = await idIn(id, world);
  return { asked: id, checkpoint: checkpoints.find((one) => one.id === named) ?? null };
};

const isFile = (id: string): boolean => /[/\\]|\.json$/u.test(id);

const idIn = async (path: string, { readText }: Pick<CliWorld, 'readText'>): Promise<unknown> => {
  try {
    return (JSON.parse(await readText(path)) as Partial<Checkpoint> | null)?.id;
  } catch {
    return undefined;
  }
};

/** `last` names the newest one. */
const resolveCheckpoint = (checkpoints: readonly Checkpoint[], id: string, agent: string | null): Checkpoint => {
  if (id === 'last' && checkpoints[0] !== undefined) return checkpoints[0];
  const ids = checkpoints.map((one) => one.id);
  const found = pick(id, ids, (one) => one.startsWith(id));
  if (found.length > 1) throw ambiguous('checkpoint', id, found);
  const checkpoint = checkpoints.find((one) => one.id === found[0]);
  if (checkpoint !== undefined) return checkpoint;
  const whose = agent === null ? '' : ` of ${agent}`;
  throw new CloisterError(
    'checkpoint_unknown',
    ids.length === 0 ? `There are none${whose} yet.` : `The newest${whose} are: ${listed(ids)}.`,
  );
};
