/** The known key that was probably meant; null when none is near. */
export const nearestKey = (key: string, known: readonly string[]): string | null => {
  if (key.length > 64) return null;
  let best: string | null = null;
  let bestDistance = Infinity;
  for (const one of known) {
    const distance = editDistance(key.toLowerCase(), one.toLowerCase());
    if (distance < bestDistance && distance <= Math.max(2, one.length / 3) && distance < one.length) {
      best = one;
      bestDistance = distance;
    }
  }
  return best;
};

const editDistance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
};
