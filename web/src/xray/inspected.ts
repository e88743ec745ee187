// What the inspectors read: names, explanations, what crossed.
import type { DurableEvent, Explanation } from '#contracts';
import { formatDuration } from '#headends/run-view';
import type { CellView, CrossingView } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { Changes } from '../address.ts';
import { roomNames } from '../rooms/words.ts';
import type { RunStore } from '../run-store.ts';
import { me, source } from '../state.ts';
import type { NameOf } from './origin.ts';

/** The names of the rooms of a run that may go on: who reads them is drawn again when it does. */
export const namesIn = ({ view, version }: RunStore): NameOf => {
  void version.value;
  return roomNames(view);
};

export const cellOf = ({ view }: RunStore, cell: string | undefined): CellView | undefined =>
  view.cells.get(cell as CellView['cell']);

export const rootOf = ({ view }: RunStore): CellView | undefined => view.cells.values().next().value;

/** Since the run began: `0.49 s`. */
export const timeIn = (store: RunStore): ((at: number) => string) => {
  const start = rootOf(store)?.startedAt ?? 0;
  return (at) => {
    const ms = Math.max(0, at - start);
    return ms < 100_000 ? `${(ms / 1000).toFixed(2)} s` : formatDuration(ms);
  };
};

/** Whether this token shows what models saw and said. */
export const seesContents = (): boolean => me.value?.sees === 'contents';

const nothing = { cell: undefined, op: undefined, crossing: undefined, part: undefined, find: undefined };

/** Selects this and nothing else. */
export const pick = (selection: Changes): void => select({ ...nothing, ...selection });

/** As `pick`, and the browser's Back returns. */
export const goTo = (to: Changes): void => go({ ...address.value, ...nothing, ...to });

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
