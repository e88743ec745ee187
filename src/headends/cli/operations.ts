// The operations of a run, as `fork --at` takes them: read from its events.
import type { CellId } from '#base';
import type { DurableEvent } from '#contracts';
import { duration } from './format-numbers.ts';
import type { Page } from './output.ts';
import { tableLines } from './table.ts';
import { excerpt } from './sanitize-text.ts';

export type OperationView = {
  readonly cell: CellId;
  readonly op: number;
  /** What it is: `turn 2: model openai/gpt-5`. */
  readonly what: string;
  /** How it ended. */
  readonly end: string;
  readonly isOpen: boolean;
};

/** `<cell>/<operation>`. */
export const operationRef = ({ cell, op }: Pick<OperationView, 'cell' | 'op'>): string => `${cell}/${op}`;

/** In the order in which they began; one that ran again after a crash stands once. */
export const listOperations = (events: readonly DurableEvent[]): readonly OperationView[] => {
  const operations = new Map<string, OperationView>();
  for (const event of events) {
    if (!('op' in event)) continue;
    const { cell, op } = event;
    const known = operations.get(operationRef(event)) ?? { cell, op, what: '', end: '', isOpen: false };
    operations.set(operationRef(event), { ...known, ...told(event) });
  }
  return [...operations.values()];
};

/** A heading and a line each; the place is never cut, so that it can be pasted. They must be harmless. */
export const operationLines = (
  operations: readonly OperationView[],
  { paint, columns }: Pick<Page, 'paint' | 'columns'>,
): readonly string[] => {
  const rows = operations.map((one) => [operationRef(one), excerpt(one.what, 60), one.end]);
  const [heading = '', ...lines] = tableLines(
    [{ title: 'cell/operation' }, { title: 'what', shrinksTo: 12 }, { title: 'end' }],
    rows,
    columns,
  );
  return rows.length === 0 ? [] : [paint('dim', heading), ...lines];
};

type OperationEvent = Extract<DurableEvent, { readonly op: number }>;

const told = (event: OperationEvent): Partial<OperationView> => {
  switch (event.type) {
    case 'model-start':
      return { what: `turn ${event.turn}: model ${event.model}`, ...open };
    case 'tool-start':
      return { what: `tool ${event.tool} ${event.args}`, ...open };
    case 'child-start':
      return { what: `agent ${event.childAgent} in ${event.child}`, ...open };
    case 'wait-start':
      return { what: `waits ${duration(event.ms)}` };
    case 'model-end':
    case 'tool-end':
      return { end: `${event.ok ? 'ok' : 'failed'} ${duration(event.ms)}`, isOpen: false };
    case 'child-end':
      return { end: `${event.status} ${duration(event.ms)}`, isOpen: false };
    // Of the request that follows it.
    case 'window-trim':
      return {};
  }
};

const open = { end: 'not settled', isOpen: true };
