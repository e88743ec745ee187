// The trail of the selected sentence or part, and where else it is.
import type { RunStore } from '../run-store.ts';
import { Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { explain, goTo, namesIn, outputsIn } from './inspected.ts';
import { wordsOf } from './text-pieces.ts';
import { buildTrail } from './trail.ts';
import type { TrailStart, TrailStop } from './trail.ts';
import { findWhereabouts } from './whereabouts.ts';

type TrailProps = { readonly store: RunStore; readonly start: TrailStart };

const contextOf = (store: RunStore) => ({
  view: store.view,
  nameOf: namesIn(store),
  explain: (cell: string) => explain(store, cell),
  outputOf: outputsIn(store),
});

export const useTrail = (store: RunStore, start: TrailStart) =>
  useLoaded(
    () => (start.segment < 0 ? Promise.resolve([]) : buildTrail(contextOf(store), start)),
    [store.run, start.cell, start.op, start.segment, start.find, store.state.value],
  );

export const Trail = ({ store, start }: TrailProps) => {
  const { value, error } = useTrail(store, start);
  if (error !== null) return <Problem error={error} />;
  return (
    <div class="trail-body">
      <ol class="rows trail">
        {value?.map((stop, at) => (
          <Stop key={at} stop={stop} />
        ))}
      </ol>
      {wordsOf(start.find) === '' ? null : <Elsewhere store={store} start={start} />}
    </div>
  );
};

const open = ({ cell, op, crossing }: TrailStop): void =>
  goTo(crossing === undefined ? { cell, op } : { crossing, xray: undefined });

const Stop = ({ stop }: { readonly stop: TrailStop }) => {
  const { title, about, text, hue, round, cell, crossing } = stop;
  const opens = crossing !== undefined || (cell !== undefined && title !== 'You are here');
  return (
    <li class={`stop hue-${hue}${round ? ' is-round' : ''}`}>
      {opens ? (
        <button type="button" class="plain strong" onClick={() => open(stop)}>
          {title}
        </button>
      ) : (
        <strong>{title}</strong>
      )}
      <div class="muted small">{about}</div>
      {text === undefined ? null : <pre class="part-text">{text.slice(0, 2_000)}</pre>}
    </li>
  );
};

const roomsMax = 24;

/** Over the rooms of the run; of a large run, over the first of them, and it says so. */
const Elsewhere = ({ store, start }: TrailProps) => {
  const words = wordsOf(start.find);
  const all = [...store.view.cells.values()].filter(({ requests }) => requests.length > 0);
  const looked = all.slice(0, roomsMax);
  const { value } = useLoaded(async () => {
    const explanations = [];
    for (const { cell } of looked) explanations.push(await explain(store, cell));
    const { view, nameOf, outputOf } = contextOf(store);
    return findWhereabouts(words, start, { view, explanations, outputOf, nameOf });
  }, [store.run, start.cell, start.op, words, store.state.value]);
  if (value === null) return <p class="elsewhere muted small" aria-busy="true" />;
  const { also, notIn } = value;
  return (
    <p class="elsewhere muted small">
      {also.length === 0 ? 'Nowhere else. ' : null}
      {also.map((one, at) => (
        <>
          {at === 0 ? 'Also in ' : at === also.length - 1 ? ' and ' : ', '}
          <strong>{one}</strong>
        </>
      ))}
      {also.length === 0 ? null : '. '}
      {notIn.length === 0 ? null : `Not in ${notIn.join(', not in ')}.`}
      {all.length > looked.length ? ` Looked in ${looked.length} of ${all.length} rooms.` : null}
    </p>
  );
};
