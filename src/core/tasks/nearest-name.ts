// The name that was probably meant. Called only when something is wrong already, and for a few names.

const charsMax = 80;
/** Of a graph of any size: a suggestion is a courtesy. */
const candidatesMax = 10_000;

/** The nearest of the known names, or null when none is near. Case, blanks, dashes and underscores do not count. */
export const nearestName = (name: string, known: Iterable<string>): string | null => {
  const wanted = plain(name.slice(0, charsMax + 1));
  let best: string | null = null;
  let bestDistance = Infinity;
  let seen = 0;
  for (const one of known) {
    if (++seen > candidatesMax) break;
    const candidate = plain(one);
    const allowed = Math.min(Math.max(1, Math.floor(candidate.length / 3)), bestDistance - 1);
    if (one.length > charsMax || Math.abs(candidate.length - wanted.length) > allowed) continue;
    const distance = editDistance(wanted, candidate);
    // A name of one letter is not near to every other name of one letter.
    if (distance > allowed || (distance > 0 && distance >= Math.min(wanted.length, candidate.length))) continue;
    best = one;
    bestDistance = distance;
    if (distance === 0) break;
  }
  return best;
};

/** ` Did you mean …?`, or nothing. */
export const didYouMean = (name: string, known: Iterable<string>): string => {
  const near = nearestName(name, known);
  return near === null ? '' : ` Did you mean ${JSON.stringify(near)}?`;
};

const plain = (name: string): string => name.toLowerCase().replace(/[-_\s]/gu, '');

/** How many letters must be put in, taken out or replaced; two neighbours that changed places count as one. */
const editDistance = (one: string, other: string): number => {
  let before: readonly number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let line = 1; line <= one.length; line++) {
    const next = [line];
    for (let column = 1; column <= other.length; column++) {
      const same = one[line - 1] === other[column - 1];
      const swapped = one[line - 1] === other[column - 2] && one[line - 2] === other[column - 1];
      next.push(
        Math.min(
          row[column - 1]! + (same ? 0 : 1),
          row[column]! + 1,
          next[column - 1]! + 1,
          swapped && line > 1 && column > 1 ? before[column - 2]! + 1 : Infinity,
        ),
      );
    }
    before = row;
    row = next;
  }
  return row[other.length]!;
};
