// The name that was probably meant, as words after a problem.
import { nearestName } from '#base';

/** Of a graph of any size: a suggestion is a courtesy. */
const candidatesMax = 10_000;

/** ` Did you mean …?`, or nothing. */
export const didYouMean = (name: string, known: Iterable<string>): string => {
  const near = nearestName(name, firstOf(known));
  return near === null ? '' : ` Did you mean ${JSON.stringify(near)}?`;
};

function* firstOf(names: Iterable<string>): Generator<string> {
  let left = candidatesMax;
  for (const name of names) {
    if (left-- === 0) return;
    yield name;
  }
}
