// What is not known is refused by its name: a misspelt budget must not be none.
import { CloisterError, nearestName } from '#base';

type Named = { readonly what: 'field' | 'parameter'; readonly known: readonly string[]; readonly path?: string };

/** Throws for the first of the names that is not known. */
export const refuseUnknown = (names: Iterable<string>, { what, known, path = '' }: Named): void => {
  for (const name of names) {
    if (known.includes(name)) continue;
    const near = nearestName(name, known);
    const other = known.length === 0 ? 'None is taken here' : `There are ${known.join(', ')}`;
    throw new CloisterError(
      'request_invalid',
      `There is no ${what} ${JSON.stringify(`${path}${name.slice(0, 80)}`)}. ${near === null ? other : `Did you mean ${path}${near}?`}`,
    );
  }
};
