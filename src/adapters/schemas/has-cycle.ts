/** Whether the directed graph has a cycle. */
export const hasCycle = <T>(edges: ReadonlyMap<T, readonly T[]>): boolean => {
  const done = new Set<T>();
  for (const start of edges.keys()) {
    const path = new Set<T>();
    const stack: { readonly node: T; readonly leave: boolean }[] = [{ node: start, leave: false }];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { node, leave } = next;
      if (leave) {
        path.delete(node);
        done.add(node);
        continue;
      }
      if (path.has(node)) return true;
      if (done.has(node)) continue;
      path.add(node);
      stack.push({ node, leave: true }, ...(edges.get(node) ?? []).map((other) => ({ node: other, leave: false })));
    }
  }
  return false;
};
