// Draws a graph: boxes with thick walls, and lines that enter them through doors.
import type { ComponentChildren } from 'preact';
import { inside } from './graph-layout.ts';
import type { GraphLayout, PlacedEdge, PlacedNode, Point } from './graph-layout.ts';

export type EdgeLook = {
  /** A colour of the page: goal, mail. */
  readonly colour: string;
  readonly label?: string;
  readonly isDim?: boolean;
  /** It may happen, and has not. */
  readonly isPlanned?: boolean;
};

export type NodeLook = {
  readonly isSelected: boolean;
  readonly isDim: boolean;
  readonly body: ComponentChildren;
};

type GraphDrawingProps = {
  readonly layout: GraphLayout;
  readonly label: string;
  readonly columns?: readonly string[];
  readonly edgeLook: (edge: PlacedEdge) => EdgeLook;
  readonly nodeLook: (node: PlacedNode) => NodeLook;
  readonly onSelect: (id: string) => void;
};

export const GraphDrawing = ({ layout, label, columns = [], edgeLook, nodeLook, onSelect }: GraphDrawingProps) => {
  const edges = layout.edges.map((edge) => ({ edge, look: edgeLook(edge) }));
  const byDim = [...edges.filter(({ look }) => look.isDim), ...edges.filter(({ look }) => !look.isDim)];
  const { nodes, width, height } = layout;
  return (
    <div class="graph" role="group" aria-label={label} style={{ width: `${width}px`, height: `${height}px` }}>
      {columns.map((title, column) => {
        const first = nodes.find((node) => node.column === column);
        if (first === undefined) return null;
        return (
          <span key={column} class="graph-column" style={{ left: `${first.x}px`, maxWidth: `${first.width}px` }}>
            {title}
          </span>
        );
      })}
      {nodes.map((node) => (
        <Box key={node.id} node={node} look={nodeLook(node)} onSelect={onSelect} />
      ))}
      <svg class="graph-lines" width={width} height={height} aria-hidden="true">
        {byDim.map(({ edge, look }) => (
          <EdgeLine key={edge.id} edge={edge} look={look} nodes={nodes} />
        ))}
      </svg>
    </div>
  );
};

type BoxProps = { readonly node: PlacedNode; readonly look: NodeLook; readonly onSelect: (id: string) => void };

const Box = ({ node: { id, x, y, width, height }, look, onSelect }: BoxProps) => (
  <button
    type="button"
    class={`graph-box ${look.isDim ? 'is-dim' : ''}`}
    aria-pressed={look.isSelected}
    style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }}
    onClick={() => onSelect(id)}
  >
    {look.body}
  </button>
);

type EdgeLineProps = {
  readonly edge: PlacedEdge;
  readonly look: EdgeLook;
  readonly nodes: readonly PlacedNode[];
};

const EdgeLine = ({ edge: { points, label: at, from }, look, nodes }: EdgeLineProps) => {
  const [start, next, end] = [points[0]!, points[1]!, points.at(-1)!];
  const line = [...points.slice(0, -1), [end[0] - 6, end[1]] as const];
  const sender = nodes.find(({ id }) => id === from)!;
  const isUp = start[0] === next[0] && next[1] < start[1];
  const leaves: Point = isUp ? [start[0], sender.y] : [sender.x + sender.width, start[1]];
  return (
    <g class={`graph-line hue-${look.colour} ${look.isDim ? 'is-dim' : ''} ${look.isPlanned ? 'is-planned' : ''}`}>
      <Door at={leaves} isUp={isUp} />
      <Door at={[end[0] - inside, end[1]]} isUp={false} isLeft />
      <path d={`M${line.map((point) => point.join(' ')).join('L')}`} />
      <circle cx={start[0]} cy={start[1]} r="3.5" />
      <path class="line-head" d={`M${end[0]} ${end[1]}l-9 -5v10z`} />
      {look.label === undefined ? null : (
        <text x={at[0]} y={at[1]} text-anchor="end">
          {look.label}
        </text>
      )}
    </g>
  );
};

/** A gap in the wall. */
const Door = ({ at: [x, y], isUp, isLeft = false }: { at: Point; isUp: boolean; isLeft?: boolean }) =>
  isUp ? (
    <rect class="door" x={x - 8} y={y - 1} width="16" height="6" />
  ) : (
    <rect class="door" x={isLeft ? x - 1 : x - 5} y={y - 8} width="6" height="16" />
  );
