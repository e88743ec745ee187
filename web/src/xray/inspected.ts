// What the inspectors read: names, explanations, what crossed.
import type { CrossingEnd, DurableEvent, Explanation } from '#contracts';
import { cellName, formatDuration } from '#headends/run-view';
import type { CellView, CrossingView, RunView } from '#headends/run-view';
import { address, go } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { me, source } from '../state.ts';
import type { NameOf } from './hues.ts';

export const namesIn =
  (view: RunView): NameOf =>
  (end: CrossingEnd) => {
    const agent = end === 'outside' ? 'you' : view.cells.get(end)?.agent;
    return agent === undefined || end === 'outside' ? (agent ?? end) : cellName(view, agent, agent, end);
  };

export const cellOf = ({ view }: RunStore, cell: string | undefined): CellView | undefined =>
  cell === undefined ? undefined : view.cells.get(cell as CellView['cell']);

export const rootOf = ({ view }: RunStore): CellView | undefined => view.cells.values().next().value;

/** Since the run began: `0.49 s`. */
export const timeSince = (start: number, at: number): string => {
  const ms = Math.max(0, at - start);
  return ms < 100_000 ? `${(ms / 1000).toFixed(2)} s` : formatDuration(ms);
};

/** Whether this token shows what models saw and said. */
export const seesContents = (): boolean => me.value?.sees === 'contents';

export const withheld = 'This token does not show contents. What the agents saw, wrote and passed on is withheld.';

const explanationsMax = 64;
const explanations = new Map<string, Promise<Explanation>>();

/** Read again when the cell has made another request. */
export const explain = (store: RunStore, cell: string): Promise<Explanation> => {
  const key = `${store.run} ${cell} ${cellOf(store, cell)?.requests.length}`;
  const known = explanations.get(key);
  if (known !== undefined) return known;
  const read = source.value.explain(store.run, cell);
  explanations.set(key, read);
  read.catch(() => explanations.delete(key));
  for (const old of explanations.keys()) if (explanations.size > explanationsMax) explanations.delete(old);
  return read;
};

/** Exactly what crossed; null: the event is gone. */
export const readCrossing = async ({ run }: RunStore, { id, after }: CrossingView): Promise<string | null> => {
  const page = await source.value.eventPage(run, { after: after ?? undefined, limit: 1, details: true });
  const found = page.events.find((event): event is DurableEvent & { type: 'crossing' } => event.id === id);
  return found?.details?.content ?? null;
};

/** What a room answered, as far as the report of the run has it. */
export const outputsIn = ({ facts }: RunStore): ((cell: string) => string | undefined) => {
  const outputs = new Map<string, string | undefined>(
    facts.value?.cells.map(({ cell, outcome }) => [cell, outcome?.output]),
  );
  return (cell) => outputs.get(cell);
};

export const forkHere = (cell: string, op?: number): void => {
  const { part: _part, find: _find, xray: _xray, crossing: _crossing, ...rest } = address.value;
  go({ ...rest, cell, ...(op === undefined ? {} : { op }), with: '' });
};
