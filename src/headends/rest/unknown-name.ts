// Refuses unknown names: a misspelt budget must not mean no budget.
import { CloisterError, nearestName } from '#base';

type KnownNames = { readonly what: 'field' | 'parameter'; readonly known: readonly string[]; readonly path?: string };

/** Throws for the first unknown name. */
export const refuseUnknown = (names: Iterable<string>, { what, known, path = '' }: KnownNames): void => {
  for (const name of names) {
    if (known.includes(name)) continue;
    const near = nearestName(name, known);
    const other = known.length === 0 ? 'None is allowed here.' : `Known: ${known.join(', ')}.`;
    throw new CloisterError(
      'request_invalid',
      `Unknown ${what} ${JSON.stringify(`${path}${name.slice(0, 80)}`)}. ${near === null ? other : `Did you mean ${path}${near}?`}`,
    );
  }
};
