// Finds an agent by name, and the error for a name that does not exist.
import { CloisterError } from './errors/index.ts';
import { nearestName } from './nearest-name.ts';

const [namesMax, charsMax] = [20, 80];

/** Throws `agent_unknown`. `agents`: those the requester may see. */
export const agentNamed = <T extends { readonly name: string }>(
  agents: readonly T[],
  name: string,
  emptyText?: string,
): T => {
  const found = agents.find((agent) => agent.name === name);
  if (found !== undefined) return found;
  throw unknownAgentError(
    name,
    agents.map((agent) => agent.name),
    emptyText,
  );
};

/** `known`: the names the requester may see. `emptyText`: the detail if there are none. */
export const unknownAgentError = (
  name: string,
  known: readonly string[],
  emptyText = 'There are no agents.',
): CloisterError => {
  if (known.length === 0) return new CloisterError('agent_unknown', `"${name.slice(0, charsMax)}": ${emptyText}`);
  return new CloisterError('agent_unknown', unknownNameText(name, known));
};

/** Lists the known names and suggests the nearest one. */
export const unknownNameText = (name: string, known: readonly string[]): string => {
  const shownName = name.slice(0, charsMax);
  const listed = known.slice(0, namesMax).join(', ') + (known.length > namesMax ? ' and others' : '');
  const suggestion = nearestName(shownName, known);
  return `"${shownName}" is not one of: ${listed}.${suggestion === null ? '' : ` Did you mean "${suggestion}"?`}`;
};
