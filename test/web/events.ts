// Events of made-up runs, for tests of the page: only the fields that the view reads.
import type { CellId, RunId } from '#base';
import type { DurableEvent, RunEvent } from '#contracts';
import { applyEvent, newRunView } from '#headends/run-view';
import type { RunView } from '#headends/run-view';

export const cellId = (name: string): CellId => name as CellId;

const run = 'r1' as RunId;
let numbered = 0;

/** An event of a cell, at a time in milliseconds. */
export const event = (type: DurableEvent['type'], cell: string, at: number, fields: object = {}): DurableEvent =>
  ({ type, id: `${cell}/${numbered++}`, run, cell, agent: cell, at, ...fields }) as unknown as DurableEvent;

export const live = (type: 'text-delta' | 'text-reset' | 'text-lag', cell: string, text = ''): RunEvent => ({
  type,
  run,
  cell: cellId(cell),
  agent: cell,
  text,
});

export const start = (cell: string, at: number, parent: string | null = null, goal = `goal of ${cell}`): DurableEvent =>
  event('session-start', cell, at, { parent, tool: parent === null ? null : cell, depth: 0, goal });

export const asks = (cell: string, at: number, op: number): DurableEvent =>
  event('model-start', cell, at, { op, turn: 1, model: 'm', promptBytes: 1 });

export const replies = (cell: string, at: number, op: number, calls = 0): DurableEvent =>
  event('model-end', cell, at, { op, ok: true, calls, inputTokens: 1, outputTokens: 1, usd: 0, ms: 1, error: null });

export const calls = (cell: string, at: number, op: number, child: string): readonly DurableEvent[] => [
  event('child-start', cell, at, { op, child, childAgent: child, tool: child }),
  start(child, at, cell),
];

export const ends = (cell: string, at: number): DurableEvent =>
  event('session-end', cell, at, { status: 'completed', spent: { ms: at }, error: null });

export const viewOf = (...events: readonly (RunEvent | readonly RunEvent[])[]): RunView => {
  const view = newRunView();
  for (const one of events.flat()) applyEvent(view, one);
  return view;
};
