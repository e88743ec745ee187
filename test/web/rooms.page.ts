// Runs in a browser: draws a large run as a person would look at it, and says how long each frame kept the main thread.
import { detailsOf } from '../../web/src/rooms/details.ts';
import { drawScene } from '../../web/src/rooms/draw.ts';
import type { Lit } from '../../web/src/rooms/draw.ts';
import { layoutRooms, naturalSize } from '../../web/src/rooms/layout.ts';
import type { RoomsLayout } from '../../web/src/rooms/layout.ts';
import { planRooms } from '../../web/src/rooms/plan.ts';
import { readTheme } from '../../web/src/rooms/theme.ts';
import type { Theme } from '../../web/src/rooms/theme.ts';
import { largeRunEvents, viewOfEvents } from './generated-run.ts';

type RoomsFigures = {
  readonly cells: number;
  readonly crossings: number;
  readonly foldMs: number;
  readonly planMs: number;
  readonly layoutMs: number;
  /** Frames while panning and hovering, at several zooms: the median, the 95th of 100, and the longest. */
  readonly frames: readonly {
    readonly zoom: number;
    readonly p50: number;
    readonly p95: number;
    readonly most: number;
  }[];
};

/** So that memory is counted with a layout for each zoom. */
const kept: Record<number, RoomsLayout> = {};

const took = (work: () => void): number => {
  const before = performance.now();
  work();
  return performance.now() - before;
};

const part = (sorted: readonly number[], share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;

const rounds = 5;

/** The same frames several times, each as long as its fastest round: other programs of the machine do not count. */
const measureFrames = (context: CanvasRenderingContext2D, layout: RoomsLayout, theme: Theme, count: number) => {
  const size = { width: context.canvas.width, height: context.canvas.height };
  const fastest = new Float64Array(count).fill(Infinity);
  for (let round = 0; round < rounds; round++) {
    const details = detailsOf(layout, theme.measure);
    for (let frame = 0; frame < count; frame++) {
      const along = frame / count;
      const left = along * Math.max(0, layout.width - size.width);
      const top = along * Math.max(0, layout.height - size.height);
      const sight = { left, top, ...size };
      const unit = Math.floor(along * layout.rooms.length);
      const lit: Lit | null = frame % 2 === 0 ? null : { room: (one) => one === unit, crossing: () => false };
      const selection = { cell: null, op: null, crossing: null };
      const scene = { layout, details, theme, sight, ratio: 1, selection, lit };
      const ms = took(() => {
        drawScene(context, scene);
        // Nothing that was recorded is left to be drawn later.
        context.getImageData(0, 0, 1, 1);
      });
      fastest[frame] = Math.min(fastest[frame] ?? Infinity, ms);
    }
  }
  const times = [...fastest].sort((a, b) => a - b);
  return { p50: part(times, 0.5), p95: part(times, 0.95), most: part(times, 1) };
};

const measureRooms = (events: number, framesEach: number): RoomsFigures => {
  const all = largeRunEvents(events);
  const canvas = document.createElement('canvas');
  document.body.append(canvas);
  const size = { width: 1000, height: 700 };
  [canvas.width, canvas.height] = [size.width, size.height];
  const context = canvas.getContext('2d', { willReadFrequently: true })!;
  const theme = readTheme(canvas);
  let view = viewOfEvents([]);
  const foldMs = took(() => (view = viewOfEvents(all)));
  const plan = planRooms(view);
  const planMs = took(() => planRooms(view));
  const full = naturalSize(plan, size).zoom;
  const layoutMs = took(() => layoutRooms(planRooms(view), size));
  const frames = [full, Math.sqrt(full), 1].map((zoom) => {
    const layout = (kept[zoom] = layoutRooms(plan, { ...size, zoom }));
    return { zoom, ...measureFrames(context, layout, theme, framesEach) };
  });
  return { cells: view.cells.size, crossings: view.crossings.length, foldMs, planMs, layoutMs, frames };
};

Object.assign(globalThis, { measureRooms, kept });
