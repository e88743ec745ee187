// The known agents: loaded ones, those in the workspace log, and those that have run.
import { unknownAgentError } from '#base';
import type { WorkspaceState } from './workspace-state.ts';
import type { ConversationPorts } from './conversation-ports.ts';

/** Throws `agent_unknown`, with the closest known name. */
export const checkAgentKnown = async (
  agent: string,
  state: WorkspaceState,
  ports: ConversationPorts,
): Promise<void> => {
  const known = new Set([...ports.agentNames(), ...agentNamesIn(state)]);
  if (known.has(agent) || ports.agent(agent) !== undefined) return;
  for (const run of await ports.store.list()) if (run.agent !== '') known.add(run.agent);
  if (!known.has(agent)) throw unknownAgentError(agent, [...known], 'No agent has run in this workspace yet.');
};

const agentNamesIn = ({ conversations, checkpoints }: WorkspaceState): readonly string[] => [
  ...[...conversations.values()].flatMap(({ ref, attached, nodes }) => [
    ref.agent,
    ...attached,
    ...[...nodes.values()].map(({ agent }) => agent),
  ]),
  ...[...checkpoints.values()].map(({ agent }) => agent),
];
