// Layers of a graph: each node is one layer after the last of those that it depends on.

/** From a node to one that depends on it, both as indexes in the list. */
export type GraphEdge = { readonly from: number; readonly to: number };

/** Each dependency once. Unknown ids and a node's own id make no edge. */
export const listEdges = (
  nodes: readonly { readonly id: string; readonly dependsOn: readonly string[] }[],
): readonly GraphEdge[] => {
  const indexById = new Map<string, number>();
  for (const [index, { id }] of nodes.entries()) if (!indexById.has(id)) indexById.set(id, index);
  return nodes.flatMap(({ dependsOn }, to) =>
    [...new Set(dependsOn)].flatMap((id) => {
      const from = indexById.get(id);
      return from === undefined || from === to ? [] : [{ from, to }];
    }),
  );
};

/** Layers of indexes, each in list order. */
export const graphLayers = (count: number, edges: readonly GraphEdge[]): readonly (readonly number[])[] => {
  const layers: number[][] = [];
  for (const [index, depth] of longestPaths(count, edges).entries()) (layers[depth] ??= []).push(index);
  return layers;
};

/** The longest path to each node from one without dependencies. In a cycle, which has no such path, the first node in the list goes first. */
const longestPaths = (count: number, edges: readonly GraphEdge[]): readonly number[] => {
  const depths = Array.from({ length: count }, () => 0);
  const open = Array.from({ length: count }, () => 0);
  const dependents: number[][] = Array.from({ length: count }, () => []);
  for (const { from, to } of edges) {
    dependents[from]?.push(to);
    open[to] = (open[to] ?? 0) + 1;
  }
  const done = new Set<number>();
  const ready: number[] = [];
  const take = (index: number): void => {
    if (done.has(index)) return;
    done.add(index);
    ready.push(index);
  };
  for (let index = 0; index < count; index++) if (open[index] === 0) take(index);
  for (let [next, first] = [0, 0]; done.size < count || next < ready.length; next++) {
    if (next === ready.length) {
      while (done.has(first)) first++;
      take(first);
    }
    const index = ready[next] ?? 0;
    for (const to of dependents[index] ?? []) {
      if (done.has(to)) continue;
      depths[to] = Math.max(depths[to] ?? 0, (depths[index] ?? 0) + 1);
      open[to] = (open[to] ?? 0) - 1;
      if (open[to] === 0) take(to);
    }
  }
  return depths;
};
