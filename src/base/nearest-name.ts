// Guesses which name was meant. Only called after a lookup has failed, so speed does not matter.

const charsMax = 128;

/** The nearest known name, or null if none is near. Ignores case, dashes and underscores. */
export const nearestName = (name: string, known: Iterable<string>): string | null => {
  const wanted = simplify(name);
  let best: string | null = null;
  let bestDistance = Infinity;
  for (const one of known) {
    const candidate = simplify(one);
    const allowed = Math.min(Math.max(candidate.length < 4 ? 1 : 2, candidate.length / 3), bestDistance - 1);
    if (candidate === '' || one.length > charsMax || Math.abs(candidate.length - wanted.length) > allowed) continue;
    const distance = editDistance(wanted, candidate);
    // Without this, every two-letter name would be near every other.
    if (distance <= allowed && distance < Math.max(wanted.length, candidate.length)) {
      best = one;
      bestDistance = distance;
    }
  }
  return best;
};

const simplify = (name: string): string => name.toLowerCase().replace(/[-_]/gu, '');

/** Counts insertions, deletions and replacements; swapping two neighbours counts as one edit. */
const editDistance = (a: string, b: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
};
