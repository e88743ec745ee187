// The operations of a run, read from its events, in the form that `fork --at` takes.
import type { CellId } from '#base';
import type { DurableEvent } from '#contracts';
import { formatDuration } from '#headends/run-view';
import type { Screen } from './output.ts';
import { tableLines } from './table.ts';
import { excerpt } from './sanitize-text.ts';

export type OperationView = {
  readonly cell: CellId;
  readonly op: number;
  /** For example `turn 2: model openai/gpt-5`. */
  readonly what: string;
  /** How it ended. */
  readonly end: string;
  readonly isOpen: boolean;
};

/** `<cell>/<operation>`. */
export const operationRef = ({ cell, op }: Pick<OperationView, 'cell' | 'op'>): string => `${cell}/${op}`;

/** In the order in which they began; one that ran again after a crash appears once. */
export const listOperations = (events: readonly DurableEvent[]): readonly OperationView[] => {
  const operations = new Map<string, OperationView>();
  for (const event of events) {
    if (!('op' in event)) continue;
    const { cell, op } = event;
    const known = operations.get(operationRef(event)) ?? { cell, op, what: '', end: '', isOpen: false };
    operations.set(operationRef(event), { ...known, ...operationUpdate(event) });
  }
  return [...operations.values()];
};

/** A heading and one line per operation; the reference is never cut, so that it can be pasted. The operations must be sanitized. */
export const operationLines = (operations: readonly OperationView[], screen: Screen): readonly string[] =>
  operations.length === 0
    ? []
    : tableLines<OperationView>(
        [
          { title: 'cell/operation', value: (one) => operationRef(one) },
          { title: 'operation', shrinksTo: 12, value: ({ what }) => excerpt(what, 60) },
          { title: 'result', value: ({ end }) => end },
        ],
        operations,
        screen,
      );

type OperationEvent = Extract<DurableEvent, { readonly op: number }>;

const operationUpdate = (event: OperationEvent): Partial<OperationView> => {
  switch (event.type) {
    case 'model-start':
      return { what: `turn ${event.turn}: model ${event.model}`, ...openOperation };
    case 'tool-start':
      return { what: `tool ${event.tool} ${event.args}`, ...openOperation };
    case 'child-start':
      return { what: `agent ${event.childAgent} in ${event.child}`, ...openOperation };
    case 'question':
      return { what: `ask ${event.tool} ${JSON.stringify(event.args)}`, ...openOperation };
    // It belongs to the question.
    case 'ruling':
      return {};
    case 'question-end':
      return { end: event.state, isOpen: false };
    case 'wait-start':
      return { what: event.for === undefined ? `wait ${formatDuration(event.ms)}` : 'wait for spawned agents' };
    case 'model-end':
    case 'tool-end':
      return { end: `${event.ok ? 'ok' : 'failed'} ${formatDuration(event.ms)}`, isOpen: false };
    case 'child-end':
      return { end: `${event.status} ${formatDuration(event.ms)}`, isOpen: false };
    // It belongs to the request that follows.
    case 'window-trim':
      return {};
  }
};

const openOperation = { end: 'not settled', isOpen: true };
