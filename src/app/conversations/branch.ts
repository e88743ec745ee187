// Plans a branch: the owner and the name of the new conversation, and whether the run continues in it.
import { CloisterError } from '#base';
import { callerNameCharsMax, callerPrefix } from '#contracts';
import type { Checkpoint, ConversationRef } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { checkName, describeConversation, mainName } from './conversation-names.ts';
import { checkMayContinueTurn } from './build-history.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import type { TurnNode } from './entries.ts';

type BranchRequest = {
  readonly checkpoint: Checkpoint;
  readonly ended: boolean;
  /** `caller`: the new conversation is that caller's. */
  readonly options: { readonly name?: string; readonly agent?: string; readonly caller?: string };
  readonly state: WorkspaceState;
};

export type BranchPlan = {
  readonly conversation: ConversationRef | null;
  /** The turn that was branched, if the run belongs to a conversation. */
  readonly origin: { readonly conversation: ConversationState; readonly node: TurnNode } | null;
  /** Whether the run continues; otherwise only the entries are copied. */
  readonly continuesRun: boolean;
};

/** Throws `checkpoint_invalid`, `conversation_deleted`, `conversation_refused`, `branch_refused`, `agent_unknown` or `name_invalid`. */
export const planBranch = (
  { checkpoint, ended, options, state }: BranchRequest,
  ports: ConversationPorts,
): BranchPlan => {
  const origin = findOrigin(checkpoint, state);
  const owner = checkpoint.conversation?.agent ?? checkpoint.agent;
  const agent = options.agent ?? owner;
  if (agent !== owner) checkMayBranchTo(agent, checkpoint, ports);
  // Another agent cannot continue the records of this agent's cells; it starts from the entries.
  const continuesRun = !ended && agent === owner;
  if (continuesRun && origin !== null) checkMayContinueTurn(origin.conversation, ports.agent(origin.node.agent));
  const plain = continuesRun && checkpoint.conversation === null && options.name === undefined;
  if (plain) return { conversation: null, origin, continuesRun };
  const name =
    options.name === undefined
      ? freeName(branchedName(checkpoint, options.caller), agent, state)
      : checkName(options.name);
  const conversation = { agent, name };
  if (state.conversations.has(conversationKey(conversation)))
    throw new CloisterError(
      'name_invalid',
      `The conversation ${describeConversation(conversation)} already exists; choose another name.`,
    );
  return { conversation, origin, continuesRun };
};

const findOrigin = (
  { conversation: ref, run }: Checkpoint,
  { conversations }: WorkspaceState,
): BranchPlan['origin'] => {
  if (ref === null) return null;
  const conversation = conversations.get(conversationKey(ref));
  const node = conversation?.nodes.get(run);
  if (conversation === undefined || node === undefined)
    throw new CloisterError('checkpoint_invalid', `Its conversation, ${describeConversation(ref)}, no longer exists.`);
  if (conversation.deletedAt !== null) throw new CloisterError('conversation_deleted', `${describeConversation(ref)}.`);
  return { conversation, node };
};

/** Entries of one agent's conversation go to another agent only if that agent's definition grants it. */
const checkMayBranchTo = (name: string, { agent: from, id }: Checkpoint, ports: ConversationPorts): void => {
  const agent = ports.agent(name);
  if (agent === undefined) {
    ports.checkAgent(name);
    throw new CloisterError('agent_unknown', `"${name}" is not loaded; pass its file so that its grants are known.`);
  }
  if (!agent.permissions.grants.includes('history'))
    throw new CloisterError('branch_refused', `"${name}" has no grant "history" for checkpoint ${id} of "${from}".`);
};

/** Of the conversation, or of the one that the run could have been a turn of; short enough for a suffix. */
const branchedName = ({ conversation }: Checkpoint, caller: string | undefined): string => {
  if (caller === undefined) return (conversation?.name ?? mainName).slice(0, 80);
  const prefix = callerPrefix(caller);
  const name = conversation?.name ?? mainName;
  const own = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  return prefix + own.slice(0, callerNameCharsMax - suffixCharsMax);
};

const suffixCharsMax = '-branch-999999'.length;

const freeName = (name: string, agent: string, { conversations }: WorkspaceState): string => {
  // The cut may have left half of a character.
  const base = name.toWellFormed();
  for (let nth = 1; ; nth++) {
    const candidate = `${base}-branch${nth === 1 ? '' : `-${nth}`}`;
    if (!conversations.has(conversationKey({ agent, name: candidate }))) return candidate;
  }
};
