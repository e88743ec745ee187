// Where an arrow key leads in a drawing of boxes.
import type { PlacedNode } from './graph-layout.ts';

type ArrowKey = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

/** Up and down stay in the column; left and right go to the box at the nearest height in the next column that has one. */
export const nodeInDirection = (nodes: readonly PlacedNode[], id: string, key: ArrowKey): string | undefined => {
  const from = nodes.find((node) => node.id === id);
  if (from === undefined) return nodes[0]?.id;
  const middle = ({ y, height }: PlacedNode): number => y + height / 2;
  const away = (node: PlacedNode): number => Math.abs(middle(node) - middle(from));
  const nearest = (candidates: readonly PlacedNode[]): string | undefined =>
    candidates.toSorted((one, other) => away(one) - away(other))[0]?.id;
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    const sign = key === 'ArrowUp' ? -1 : 1;
    return nearest(nodes.filter((node) => node.column === from.column && sign * (middle(node) - middle(from)) > 0));
  }
  const sign = key === 'ArrowLeft' ? -1 : 1;
  const beyond = nodes.filter(({ column }) => sign * (column - from.column) > 0);
  const next = Math.min(...beyond.map(({ column }) => Math.abs(column - from.column)));
  return nearest(beyond.filter(({ column }) => Math.abs(column - from.column) === next));
};
