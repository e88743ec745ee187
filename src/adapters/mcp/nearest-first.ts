/** Names, those most like the one that was meant first: by the pairs of letters they have in common. */
export const nearestFirst = (meant: string, names: readonly string[]): readonly string[] => {
  const pairs = pairsOf(meant);
  const likeness = (name: string): number => {
    const own = pairsOf(name);
    return (2 * [...own].filter((pair) => pairs.has(pair)).length) / (own.size + pairs.size);
  };
  return names
    .map((name) => ({ name, like: likeness(name) }))
    .sort((one, other) => other.like - one.like)
    .map(({ name }) => name);
};

const pairsOf = (name: string): ReadonlySet<string> => {
  const letters = `^${name.toLowerCase()}$`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
};
