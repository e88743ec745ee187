// What is said wherever an agent is asked for by a name that none has.
import { CloisterError } from './errors/index.ts';
import { nearestName } from './nearest.ts';

const [namesMax, charsMax] = [20, 80];

/** `known`: those that whoever asks may know of. `none`: what is said when these are none. */
export const unknownAgentError = (name: string, known: readonly string[], none = 'There is none.'): CloisterError => {
  if (known.length === 0) return new CloisterError('agent_unknown', `"${name.slice(0, charsMax)}": ${none}`);
  return new CloisterError('agent_unknown', unknownNameText(name, known));
};

/** In words, with what there is and what was probably meant. */
export const unknownNameText = (name: string, known: readonly string[]): string => {
  const given = name.slice(0, charsMax);
  const listed = known.slice(0, namesMax).join(', ') + (known.length > namesMax ? ' and others' : '');
  const meant = nearestName(given, known);
  return `"${given}" is not one of: ${listed}.${meant === null ? '' : ` Did you mean "${meant}"?`}`;
};
