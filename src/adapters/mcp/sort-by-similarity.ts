/** Sorts names by similarity to `target`, most similar first, measured by common letter pairs. */
export const sortBySimilarity = (target: string, names: readonly string[]): readonly string[] => {
  const pairs = letterPairs(target);
  const similarityOf = (name: string): number => {
    const own = letterPairs(name);
    return (2 * [...own].filter((pair) => pairs.has(pair)).length) / (own.size + pairs.size);
  };
  return names
    .map((name) => ({ name, like: similarityOf(name) }))
    .sort((one, other) => other.like - one.like)
    .map(({ name }) => name);
};

const letterPairs = (name: string): ReadonlySet<string> => {
  const letters = `^${name.toLowerCase()}$`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
};
