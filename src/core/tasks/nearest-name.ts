// Suggests the name that was probably meant, as text to append to a problem.
import { nearestName } from '#base';

/** Bounds the search in large graphs: a suggestion is only a courtesy. */
const candidatesMax = 10_000;

/** ` Did you mean …?`, or nothing. */
export const didYouMean = (name: string, known: Iterable<string>): string => {
  const near = nearestName(name, firstNames(known));
  return near === null ? '' : ` Did you mean ${JSON.stringify(near)}?`;
};

function* firstNames(names: Iterable<string>): Generator<string> {
  let left = candidatesMax;
  for (const name of names) {
    if (left-- === 0) return;
    yield name;
  }
}
