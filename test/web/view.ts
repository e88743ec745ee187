// A view of a run, from events of which only what matters is given.
import type { DurableEvent } from '#contracts';
import { applyEvent, newRunView } from '#headends/run-view';
import type { RunView } from '#headends/run-view';

export type Given = { readonly type: DurableEvent['type']; readonly at?: number; readonly cell?: string } & Record<
  string,
  unknown
>;

export const viewOf = (events: readonly Given[]): RunView => {
  const view = newRunView();
  for (const [nth, event] of events.entries())
    applyEvent(view, { id: `e${nth}`, run: 'r', cell: 'root', agent: 'root', at: nth, ...event } as never);
  return view;
};

export const started = (cell: string, parent: string | null, more: Record<string, unknown> = {}): Given => ({
  type: 'session-start',
  cell,
  agent: cell,
  parent,
  depth: parent === null ? 0 : 1,
  goal: 'Do it.',
  tool: parent === null ? null : cell,
  ...more,
});

export const ended = (cell: string, more: Record<string, unknown> = {}): Given => ({
  type: 'session-end',
  cell,
  status: 'completed',
  spent: { ms: 0 },
  error: null,
  ...more,
});

export const crossed = (kind: string, from: string, to: string, bytes: number, more: object = {}): Given => ({
  type: 'crossing',
  kind,
  from,
  to,
  bytes,
  grant: kind,
  sha256: 'ab',
  ...more,
});
