// Where a branch goes: whose conversation it becomes, under which name, and whether a run goes on with it.
import { CloisterError } from '#base';
import type { Checkpoint, ConversationRef } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { checkName, inWords, mainName } from './conversation-names.ts';
import { checkMayContinueTurn } from './build-history.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import type { TurnNode } from './turn-chain.ts';

export type BranchRequest = {
  readonly checkpoint: Checkpoint;
  readonly ended: boolean;
  readonly options: { readonly name?: string; readonly agent?: string };
  readonly state: WorkspaceState;
};

export type BranchPlan = {
  readonly conversation: ConversationRef | null;
  /** What it begins with, if the run was of a conversation. */
  readonly origin: { readonly conversation: ConversationState; readonly node: TurnNode } | null;
  /** Whether the run goes on; else only what was said is taken over. */
  readonly goesOn: boolean;
};

/** Throws `checkpoint_invalid`, `conversation_deleted`, `conversation_refused`, `branch_refused`, `agent_unknown` or `name_invalid`. */
export const planBranch = (
  { checkpoint, ended, options, state }: BranchRequest,
  keeping: ConversationPorts,
): BranchPlan => {
  const origin = originOf(checkpoint, state);
  const owner = checkpoint.conversation?.agent ?? checkpoint.agent;
  const agent = options.agent ?? owner;
  if (agent !== owner) checkMayTake(agent, checkpoint, keeping);
  // The records of one agent's cells cannot go on as another's: that one begins with what was said.
  const goesOn = !ended && agent === owner;
  if (goesOn && origin !== null) checkMayContinueTurn(origin.conversation, keeping.agent(origin.node.agent));
  const plain = goesOn && checkpoint.conversation === null && options.name === undefined;
  if (plain) return { conversation: null, origin, goesOn };
  const name =
    options.name === undefined
      ? freeName(checkpoint.conversation?.name ?? mainName, agent, state)
      : checkName(options.name);
  const conversation = { agent, name };
  if (state.conversations.has(conversationKey(conversation)))
    throw new CloisterError(
      'name_invalid',
      `There is a conversation ${inWords(conversation)} already: choose another name.`,
    );
  return { conversation, origin, goesOn };
};

const originOf = ({ conversation: ref, run }: Checkpoint, { conversations }: WorkspaceState): BranchPlan['origin'] => {
  if (ref === null) return null;
  const conversation = conversations.get(conversationKey(ref));
  const node = conversation?.nodes.get(run);
  if (conversation === undefined || node === undefined)
    throw new CloisterError('checkpoint_invalid', `Its conversation, ${inWords(ref)}, is gone.`);
  if (conversation.deletedAt !== null) throw new CloisterError('conversation_deleted', `${inWords(ref)}.`);
  return { conversation, node };
};

/** What was said to one agent goes to another only if its own definition lets it in. */
const checkMayTake = (name: string, { agent: from, id }: Checkpoint, keeping: ConversationPorts): void => {
  const agent = keeping.agent(name);
  if (agent === undefined) {
    keeping.checkAgent(name);
    throw new CloisterError('agent_unknown', `"${name}" is not here: name its file, so that its grants are known.`);
  }
  if (!agent.grants.includes('history'))
    throw new CloisterError('branch_refused', `"${name}" has no grant "history" for checkpoint ${id} of "${from}".`);
};

const freeName = (name: string, agent: string, { conversations }: WorkspaceState): string => {
  for (let nth = 1; ; nth++) {
    const tried = `${name.slice(0, 80)}-branch${nth === 1 ? '' : `-${nth}`}`;
    if (!conversations.has(conversationKey({ agent, name: tried }))) return tried;
  }
};
