// Whether a workspace takes writes now: only a write can tell.
import type { RunId } from '#base';
import type { Clock, Ids, Store } from '#contracts';

type WritePorts = { readonly store: Store; readonly clock: Clock; readonly ids: Ids };

/** Writes something and removes it again. Rejects with what the store rejects with. */
export const checkWritable = async ({ store, clock, ids }: WritePorts): Promise<void> => {
  const probe = { run: 'writable' as RunId, id: ids.random(), by: 'operator', at: clock.now(), body: {} };
  await store.putSignal(probe);
  await store.removeSignal(probe.run, probe.id);
};
