// One request of a room, with the origin of each of its parts.
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { useLoaded } from '../ui/use-loaded.ts';
import { cellOf, explain, namesIn, seesContents } from './inspected.ts';
import { faultyParts, readRequest } from './origin.ts';

const auditedEventsMax = 20_000;

/** The audit of a run that has ended decides, too, which bytes have an origin. */
export const useRequest = (store: RunStore, cell: string, op: number) => {
  const made = cellOf(store, cell)?.requests.length;
  const explained = useLoaded(
    async () => (seesContents() ? explain(store, cell) : null),
    [store.run, cell, made, store.state.value],
  );
  const audited = useLoaded(async () => {
    const isSmall = store.view.events < auditedEventsMax;
    return isSmall && store.state.value === 'ended' ? source.value.audit(store.run) : null;
  }, [store.run, store.state.value]);
  const { value, error } = explained;
  const faulty = faultyParts(audited.value, cell);
  const request = value?.cell === cell ? readRequest(value, op, namesIn(store.view), faulty) : null;
  return { request, error, audit: audited.value };
};
