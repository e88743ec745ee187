// Rooms on a canvas, with pointer, keys and a table for screen readers. What if shows two of them side by side.
import type { Signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { RunView } from '#headends/run-view';
import { useKeys } from '../ui/keys.ts';
import { Card } from './card.tsx';
import { nextInRoom, nextRoom } from './hit.ts';
import type { Hit, Place } from './hit.ts';
import { Mirror, rowId } from './mirror.tsx';
import { pointerHandlers } from './pointers.ts';
import { Stage } from './stage.ts';
import { crossingWords, whatItSaw } from './words.ts';
import type { Sighting } from './words.ts';

export type RoomsCanvasProps = {
  readonly view: RunView;
  /** Read to be told of new events. */
  readonly version: Signal<number>;
  readonly selection?: Place;
  readonly onSelect?: (place: Place) => void;
  /** Opens what is selected. */
  readonly onOpen?: () => void;
  /** Cells that are shown at 30 %, with what touches them. */
  readonly dimmed?: ReadonlySet<string>;
  /** Whether it takes the keys of the page. Of two beside each other, one does. */
  readonly hasKeys?: boolean;
  readonly label?: string;
  /** Gives access to zoom and size. */
  readonly stage?: Stage;
};

const noCells: ReadonlySet<string> = new Set();
const nothing: Place = {};
/** So that rows of two beside each other have ids of their own. */
let opened = 0;

export const RoomsCanvas = (props: RoomsCanvasProps) => {
  const { view, version, selection = nothing, dimmed = noCells, onSelect, onOpen, hasKeys = true } = props;
  const stage = useMemo(() => props.stage ?? new Stage(), [props.stage]);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const spacer = useRef<HTMLDivElement>(null);
  const { isHeld } = stage;
  const prefix = useMemo(() => `rooms-${++opened}`, []);
  const shown = { cell: selection.cell ?? null, op: selection.op ?? null, crossing: selection.crossing ?? null };
  useLayoutEffect(() => stage.open(box.current!, canvas.current!, spacer.current!), [stage]);
  useLayoutEffect(() => stage.show(view, shown, dimmed), [view, shown.cell, shown.op, shown.crossing, dimmed]);
  useEffect(() => version.subscribe(() => stage.update()), [view, version]);
  useEffect(() => stage.reveal(shown), [shown.cell, shown.op, shown.crossing]);
  useEffect(() => stage.hover.subscribe(() => stage.redraw()), [stage]);
  const choose = (place: Place | null): void => {
    if (place !== null) onSelect?.(place);
  };
  const move = (next: typeof nextRoom, by: 1 | -1) => (): void => {
    if (stage.layout !== null) choose(next(stage.layout, selection, by));
  };
  const hold = (): void => {
    isHeld.value = !isHeld.value && stage.hover.value !== null;
    if (!isHeld.value) stage.hover.value = null;
  };
  useRoomKeys(stage, hasKeys, { move, hold, onOpen });
  const chosen = useRef(choose);
  chosen.current = choose;
  const pointers = useMemo(() => pointerHandlers(stage, isHeld, (place) => chosen.current(place)), [stage]);
  return (
    <div class="rooms-stage">
      <div
        class="rooms-box"
        ref={box}
        role="grid"
        tabIndex={0}
        aria-label={props.label ?? 'Rooms over time'}
        aria-activedescendant={shown.cell === null ? undefined : rowId(prefix, shown.cell)}
        onScroll={() => stage.redraw()}
        {...pointers}
      >
        <canvas ref={canvas} class="rooms-canvas" aria-hidden="true" />
        <div ref={spacer} class="rooms-spacer" aria-hidden="true" />
        <Mirror view={view} version={version} selected={shown.cell} prefix={prefix} />
      </div>
      <HoverCard stage={stage} view={view} isHeld={isHeld} />
    </div>
  );
};

type KeyActions = {
  readonly move: (next: typeof nextRoom, by: 1 | -1) => () => void;
  readonly hold: () => void;
  readonly onOpen: (() => void) | undefined;
};

const useRoomKeys = (stage: Stage, isActive: boolean, { move, hold, onOpen }: KeyActions): void => {
  const [rooms, items, zooms] = ['room', 'request or crossing', 'zoom'].map((about) => ({ about, hint: true }));
  const zoomBy = (factor: number) => (): void => stage.zoomTo(stage.zoom.value * factor);
  useKeys(
    {
      ArrowUp: { ...rooms!, run: move(nextRoom, -1) },
      ArrowDown: { ...rooms!, run: move(nextRoom, 1) },
      ArrowLeft: { ...items!, run: move(nextInRoom, -1) },
      ArrowRight: { ...items!, run: move(nextInRoom, 1) },
      Enter: { about: 'X-ray', hint: true, run: () => onOpen?.() },
      h: { about: 'hold the dimming', hint: true, run: hold },
      '+': { ...zooms!, run: zoomBy(1.4) },
      '-': { ...zooms!, run: zoomBy(1 / 1.4) },
      '=': { about: 'zoom in', run: zoomBy(1.4) },
    },
    isActive,
  );
  // A number comes first in any object, so it has one of its own.
  useKeys({ 0: { about: 'fit', hint: true, run: () => stage.zoomTo(1) } }, isActive);
};

const HoverCard = ({ stage, view, isHeld }: { stage: Stage; view: RunView; isHeld: Signal<boolean> }) => {
  const hit = stage.hover.value;
  if (hit === null) return null;
  const found = sightingOf(stage, view, hit);
  if (found === null) return null;
  const isNarrow = matchMedia('(max-width: 700px)').matches;
  const lit = isNarrow ? null : stage.litBox(hit);
  return <Card sighting={found} lit={lit} sight={stage.sight()} isHeld={isHeld.value} />;
};

const sightingOf = (stage: Stage, view: RunView, { room, crossing }: Hit): Sighting | null => {
  if (crossing !== null) {
    const found = view.crossings.find(({ id }) => id === crossing);
    return found === undefined ? null : crossingWords(view, found);
  }
  if (room === null || stage.layout === null) return null;
  const { rooms } = stage.layout.arrangement.plan;
  const cells = new Set<string>(room.unit.rooms.map((one) => rooms[one]!.cell.cell));
  const title = cells.size === 1 ? room.unit.room.name : `${cells.size} rooms`;
  return whatItSaw(view, cells, title);
};
