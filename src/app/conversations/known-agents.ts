// Which agents anything is known of: those that are here, those that the book names, and those that have worked.
import { CloisterError, nearest } from '#base';
import type { BookState } from './book-state.ts';
import type { Keeping } from './keeping.ts';

const namesMax = 20;

/** Throws `agent_unknown`, with the name that was probably meant. */
export const checkKnown = async (agent: string, state: BookState, keeping: Keeping): Promise<void> => {
  const known = new Set([...keeping.agentNames(), ...namesIn(state)]);
  if (known.has(agent) || keeping.agent(agent) !== undefined) return;
  for (const run of await keeping.store.list()) if (run.agent !== '') known.add(run.agent);
  if (!known.has(agent)) throw new CloisterError('agent_unknown', unknownWords(agent.slice(0, 80), [...known]));
};

const namesIn = ({ conversations, checkpoints }: BookState): readonly string[] => [
  ...[...conversations.values()].flatMap(({ ref, attached, nodes }) => [
    ref.agent,
    ...attached,
    ...[...nodes.values()].map(({ agent }) => agent),
  ]),
  ...[...checkpoints.values()].map(({ agent }) => agent),
];

const unknownWords = (agent: string, known: readonly string[]): string => {
  if (known.length === 0) return `"${agent}": no agent has worked in this workspace yet.`;
  const meant = nearest(agent, known);
  const more = known.length > namesMax ? ' and others' : '';
  const words = `"${agent}" is not one of: ${known.slice(0, namesMax).join(', ')}${more}.`;
  return meant === null ? words : `${words} Did you mean "${meant}"?`;
};
