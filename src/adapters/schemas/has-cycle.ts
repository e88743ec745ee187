/** Whether some way along these arrows comes back to where it was. */
export const hasCycle = <T>(arrows: ReadonlyMap<T, readonly T[]>): boolean => {
  const done = new Set<T>();
  for (const start of arrows.keys()) {
    const way = new Set<T>();
    const open: { readonly node: T; readonly leave: boolean }[] = [{ node: start, leave: false }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { node, leave } = next;
      if (leave) {
        way.delete(node);
        done.add(node);
        continue;
      }
      if (way.has(node)) return true;
      if (done.has(node)) continue;
      way.add(node);
      open.push({ node, leave: true }, ...(arrows.get(node) ?? []).map((other) => ({ node: other, leave: false })));
    }
  }
  return false;
};
