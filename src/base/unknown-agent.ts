// The error for an agent name that does not exist.
import { CloisterError } from './errors/index.ts';
import { nearestName } from './nearest-name.ts';

const [namesMax, charsMax] = [20, 80];

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
