// Which agents anything is known of: those that are here, those that the book names, and those that have worked.
import { unknownAgentError } from '#base';
import type { WorkspaceState } from './workspace-state.ts';
import type { ConversationPorts } from './conversation-ports.ts';

/** Throws `agent_unknown`, with the name that was probably meant. */
export const checkKnown = async (agent: string, state: WorkspaceState, keeping: ConversationPorts): Promise<void> => {
  const known = new Set([...keeping.agentNames(), ...namesIn(state)]);
  if (known.has(agent) || keeping.agent(agent) !== undefined) return;
  for (const run of await keeping.store.list()) if (run.agent !== '') known.add(run.agent);
  if (!known.has(agent)) throw unknownAgentError(agent, [...known], 'no agent has worked in this workspace yet.');
};

const namesIn = ({ conversations, checkpoints }: WorkspaceState): readonly string[] => [
  ...[...conversations.values()].flatMap(({ ref, attached, nodes }) => [
    ref.agent,
    ...attached,
    ...[...nodes.values()].map(({ agent }) => agent),
  ]),
  ...[...checkpoints.values()].map(({ agent }) => agent),
];
