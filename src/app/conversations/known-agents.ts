// Which agents anything is known of: those that are here, those that the book names, and those that have worked.
import { unknownAgent } from '#base';
import type { BookState } from './book-state.ts';
import type { Keeping } from './keeping.ts';

/** Throws `agent_unknown`, with the name that was probably meant. */
export const checkKnown = async (agent: string, state: BookState, keeping: Keeping): Promise<void> => {
  const known = new Set([...keeping.agentNames(), ...namesIn(state)]);
  if (known.has(agent) || keeping.agent(agent) !== undefined) return;
  for (const run of await keeping.store.list()) if (run.agent !== '') known.add(run.agent);
  if (!known.has(agent)) throw unknownAgent(agent, [...known], 'no agent has worked in this workspace yet.');
};

const namesIn = ({ conversations, checkpoints }: BookState): readonly string[] => [
  ...[...conversations.values()].flatMap(({ ref, attached, nodes }) => [
    ref.agent,
    ...attached,
    ...[...nodes.values()].map(({ agent }) => agent),
  ]),
  ...[...checkpoints.values()].map(({ agent }) => agent),
];
