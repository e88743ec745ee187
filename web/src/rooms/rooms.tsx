// Cells as walled rooms over time, with the sentence that says what the picture shows, and every crossing below.
import { useMemo } from 'preact/hooks';
import { address, select } from '../address.ts';
import { Crossings, Legend } from '../panes/crossings.tsx';
import type { RunStore } from '../run-store.ts';
import { RoomsCanvas } from './canvas.tsx';
import type { Place } from './hit.ts';
import { Stage } from './stage.ts';
import { runSentence } from './words.ts';

export const Rooms = ({ store }: { readonly store: RunStore }) => {
  const stage = useMemo(() => new Stage(), [store]);
  const { cell, op, crossing } = address.value;
  const selection = useMemo(() => ({ cell, op, crossing }), [cell, op, crossing]);
  const choose = (place: Place): void =>
    select({ cell: place.cell, op: place.op, crossing: place.crossing, part: undefined, find: undefined });
  const open = (): void => {
    if (cell !== undefined) select({ xray: true });
  };
  return (
    <div class="rooms">
      <div class="rooms-head">
        <RunSentence store={store} />
        <p class="rooms-legend" aria-label="Colours">
          <Legend />
        </p>
        <ZoomControl stage={stage} />
      </div>
      <div class="rooms-sized" style={{ flexBasis: `${stage.naturalHeight.value}px` }}>
        <RoomsCanvas
          view={store.view}
          version={store.version}
          selection={selection}
          onSelect={choose}
          onOpen={open}
          stage={stage}
        />
      </div>
      <Crossings store={store} />
    </div>
  );
};

const RunSentence = ({ store }: { readonly store: RunStore }) => {
  void store.version.value;
  if (store.view.cells.size === 0) return <p class="rooms-sentence" aria-busy="true" />;
  const { lead, refused, rest } = runSentence(store.view);
  return (
    <div class="rooms-sentence">
      <h1>
        {lead}
        {refused === '' ? null : (
          <>
            <span class="hue-text hue-stop">{refused}</span>.
          </>
        )}
      </h1>{' '}
      <span class="muted">{rest}</span>
    </div>
  );
};

const ZoomControl = ({ stage }: { readonly stage: Stage }) => {
  const [zoom, full] = [stage.zoom.value, stage.fullZoom.value];
  const isFit = zoom === 1 && full > 1;
  return (
    <div class={`switch rooms-zoom ${zoom === 1 && full === 1 ? 'is-needless' : ''}`} role="group" aria-label="Zoom">
      <button type="button" aria-pressed={isFit} onClick={() => stage.zoomTo(1)}>
        Fit
      </button>
      <button type="button" aria-pressed={!isFit} onClick={() => stage.zoomTo(full)}>
        {isFit ? 100 : Math.round((zoom / full) * 100)} %
      </button>
    </div>
  );
};
