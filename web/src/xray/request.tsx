// One request of a room: its parts with their origins, and the trail of the selected one.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { count, plural } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { useLoaded } from '../ui/use-loaded.ts';
import { cellOf, explain, namesIn, seesContents } from './inspected.ts';
import { faultyParts, readRequest } from './origin.ts';
import type { RequestView } from './origin.ts';
import { Part, revealPart } from './parts-list.tsx';
import { Head, Refused } from './pieces.tsx';
import { Trail, useTrail } from './trail-box.tsx';
import { shortTrail } from './trail.ts';

const auditedEventsMax = 20_000;

/** The audit of a run that has ended decides, too, which bytes have an origin. */
export const useRequest = (store: RunStore, cell: string, op: number) => {
  const state = store.state.value;
  const { value, error } = useLoaded(
    async () => (seesContents() ? explain(store, cell) : null),
    [store.run, cell, cellOf(store, cell)?.requests.length, state],
  );
  const audit = useLoaded(async () => {
    const isSmall = store.view.events < auditedEventsMax;
    return isSmall && state === 'ended' ? source.value.audit(store.run) : null;
  }, [store.run, state]);
  const request = value?.cell === cell ? readRequest(value, op, namesIn(store), faultyParts(audit.value, cell)) : null;
  return { request, error };
};

/** Computed from the record; a failing audit says the same in words. */
export const Unattributed = ({ request }: { readonly request: RequestView }) => {
  const { unattributed, agent, no } = request;
  return unattributed > 0 ? (
    <span role="alert">
      <Refused>
        {plural(unattributed, 'byte')} of {agent}, request {no} have no origin.
      </Refused>
    </span>
  ) : (
    <span class="is-sound">0 unattributed</span>
  );
};

type PartsProps = { readonly store: RunStore; readonly request: RequestView; readonly whole: boolean };

/** `whole`: with all their text, in which one can click. */
export const Parts = ({ store, request, whole }: PartsProps) => {
  const { part: chosen, find = '' } = address.value;
  const { cell, op, parts } = request;
  useEffect(() => {
    if (chosen !== undefined) revealPart(chosen);
  }, [chosen, find, op]);
  return (
    <ul class="rows">
      {parts.map((part) => (
        <Part
          key={part.id}
          part={part}
          isSelected={part.no === chosen}
          whole={whole}
          find={find}
          onPick={(text) => select({ cell, op, part: part.no, find: text.slice(0, 500) || undefined })}
        >
          {part.no === chosen && !whole ? <ShortTrail store={store} start={{ cell, op, segment: part.id }} /> : null}
        </Part>
      ))}
    </ul>
  );
};

type ShortProps = {
  readonly store: RunStore;
  readonly start: { readonly cell: string; readonly op: number; readonly segment: number };
};

const ShortTrail = ({ store, start }: ShortProps) => {
  const { value } = useTrail(store, { ...start, find: '' });
  const [first, ...rest] = shortTrail(value ?? []);
  return (
    <button type="button" class="plain small short-trail" onClick={() => go({ ...address.value, xray: true })}>
      <span class="muted">Trail</span> <strong>{first}</strong>
      {rest.map((one) => (
        <>
          {' '}
          <span class="muted">←</span> {one}
        </>
      ))}
    </button>
  );
};

type TrailProps = {
  readonly store: RunStore;
  readonly request: RequestView | null;
  readonly class: string;
  readonly children: ComponentChildren;
};

/** The trail of what is selected in the request. */
export const TrailPart = ({ store, request, class: name, children }: TrailProps) => {
  const { part, find = '' } = address.value;
  const picked = request?.parts.find(({ no }) => no === part);
  return (
    <section class={name} aria-label="Trail">
      <Head title="Trail" about={picked && `of the selected ${find === '' ? 'part' : 'sentence'}`}>
        {children}
      </Head>
      {picked === undefined ? (
        <p class="pane-empty">Click any text to follow it back to where it came from.</p>
      ) : (
        <Trail store={store} start={{ cell: request!.cell, op: request!.op, segment: picked.id, find }} />
      )}
    </section>
  );
};

export const sizeOf = ({ parts, bytes }: RequestView): string =>
  `${plural(parts.length, 'part')}, ${count(bytes)} bytes`;
