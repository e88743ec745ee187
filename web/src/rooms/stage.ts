// The canvas of rooms and what moves on it: size, zoom, scrolling, hover, frames.
//
// It is drawn once a frame at most, and a large run is laid out again only as often as that takes little of the time.
import { signal } from '@preact/signals';
import type { RunView } from '#headends/run-view';
import { detailsOf } from './details.ts';
import type { Details } from './details.ts';
import { drawScene } from './draw.ts';
import type { Lit, Selection } from './draw.ts';
import { hitAt } from './hit.ts';
import type { Hit } from './hit.ts';
import { layoutRooms, naturalSize } from './layout.ts';
import type { RoomsLayout } from './layout.ts';
import { planRooms } from './plan.ts';
import type { RoomsPlan } from './plan.ts';
import { readTheme } from './theme.ts';
import type { Theme } from './theme.ts';

const orderMs = 200;
const tickMs = 250;
const restFor = 12;
const widest = 4_000_000;

export class Stage {
  /** What the pointer is over; null: nothing. */
  readonly hover = signal<Hit | null>(null);
  /** It stays there when the pointer moves on. */
  readonly isHeld = signal(false);
  readonly zoom = signal(1);
  /** The zoom at which everything has its full size; 1: that fits. */
  readonly fullZoom = signal(1);
  readonly naturalHeight = signal(300);
  layout: RoomsLayout | null = null;
  details: Details | null = null;
  #box: HTMLElement | null = null;
  #canvas: HTMLCanvasElement | null = null;
  #spacer: HTMLElement | null = null;
  #view: RunView | null = null;
  #plan: RoomsPlan | null = null;
  #theme: Theme | null = null;
  #selection: Selection = { cell: null, op: null, crossing: null };
  #dimmed: ReadonlySet<string> = new Set();
  #frame = 0;
  /** What stays where it is while the zoom changes; null: it does not change. */
  #anchor: { readonly x: number; readonly y: number } | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #size = { width: 0, height: 0 };
  /** When the newest event came, by the clock of this page, and how long laying out took. */
  #cameAt = 0;
  #planMs = 0;
  #tookMs = 0;
  /** It must be laid out again before it is drawn. */
  #isStale = false;
  #laidOutAt = 0;
  #lanes = new Map<string, number>();
  #fade: { readonly image: HTMLCanvasElement; readonly from: number } | null = null;

  open(box: HTMLElement, canvas: HTMLCanvasElement, spacer: HTMLElement): () => void {
    [this.#box, this.#canvas, this.#spacer] = [box, canvas, spacer];
    const resized = new ResizeObserver(() => this.#resize());
    resized.observe(box);
    const restyle = (): void => {
      this.#theme = null;
      this.#makeStale();
    };
    const media = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) => matchMedia(query));
    for (const one of media) one.addEventListener('change', restyle);
    return () => {
      resized.disconnect();
      for (const one of media) one.removeEventListener('change', restyle);
      cancelAnimationFrame(this.#frame);
      clearTimeout(this.#timer);
      this.#box = null;
    };
  }

  show(view: RunView, selection: Selection, dimmed: ReadonlySet<string>): void {
    if (view !== this.#view) this.#lanes.clear();
    this.#view = view;
    this.#selection = selection;
    this.#dimmed = dimmed;
    this.redraw();
  }

  /** After new events. */
  update(): void {
    this.#cameAt = performance.now();
    // After the last event comes no other, so there is nothing to wait for.
    const wait = this.#isLive() ? this.#laidOutAt + this.#tookMs * restFor - this.#cameAt : 0;
    clearTimeout(this.#timer);
    if (wait > 0) this.#timer = setTimeout(() => this.#replan(), wait);
    else this.#replan();
  }

  /** `at`: a place in sight that stays where it is. */
  zoomTo(zoom: number, at = { x: this.#size.width / 2, y: this.#size.height / 2 }): void {
    const most = Math.min(Math.max(16, 2 * this.fullZoom.value), widest / Math.max(1, this.#size.width));
    this.zoom.value = Math.min(most, Math.max(1, zoom));
    this.#anchor = at;
    this.redraw();
  }

  #applyZoom(at: { readonly x: number; readonly y: number }): void {
    const box = this.#box;
    if (box === null || this.layout === null) return;
    const part = {
      x: (box.scrollLeft + at.x) / this.layout.width,
      y: (box.scrollTop + at.y) / this.layout.height,
    };
    this.#layOut();
    box.scrollLeft = part.x * this.layout.width - at.x;
    box.scrollTop = part.y * this.layout.height - at.y;
  }

  hitAt(clientX: number, clientY: number, reach: number): Hit | null {
    const box = this.#box;
    if (box === null || this.layout === null || this.details === null) return null;
    const { left, top } = box.getBoundingClientRect();
    return hitAt(this.layout, this.details, clientX - left + box.scrollLeft, clientY - top + box.scrollTop, reach);
  }

  sight(): { readonly width: number; readonly height: number } {
    return this.#size;
  }

  /** Where a lit room, or both rooms of an arrow, are in sight; null: nothing is. */
  litBox({ room, crossing }: Hit): { left: number; right: number; top: number; bottom: number } | null {
    const [box, layout] = [this.#box, this.layout];
    if (box === null || layout === null) return null;
    const arrow = crossing === null ? undefined : layout.shaftOf.get(crossing);
    const ends = arrow === undefined ? [] : 'line' in arrow ? [arrow.from.unit, arrow.to.unit] : [arrow.door.unit];
    const rooms =
      room === null ? ends.flatMap((unit) => layout.rooms[unit] ?? []) : [layout.rooms[room.unit.index] ?? room];
    if (rooms.length === 0) return null;
    return {
      left: Math.min(...rooms.map(({ left }) => left)) - box.scrollLeft,
      right: Math.max(...rooms.map(({ right }) => right)) - box.scrollLeft,
      top: Math.min(...rooms.map(({ top }) => top)) - box.scrollTop,
      bottom: Math.max(...rooms.map(({ bottom }) => bottom)) - box.scrollTop,
    };
  }

  /** Scrolls a room or an arrow into sight. */
  reveal({ cell, crossing }: Pick<Selection, 'cell' | 'crossing'>): void {
    const [box, layout] = [this.#box, this.layout];
    if (box === null || layout === null) return;
    const arrow = crossing === null ? undefined : layout.shaftOf.get(crossing);
    const unit =
      cell === null ? undefined : layout.arrangement.unitOf[layout.arrangement.plan.roomOf.get(cell as never) ?? -1];
    const room = unit === undefined ? undefined : layout.rooms[unit];
    const { clientWidth: width, clientHeight: height } = box;
    if (arrow !== undefined && (arrow.x < box.scrollLeft + 10 || arrow.x > box.scrollLeft + width - 10))
      box.scrollLeft = arrow.x - width / 2;
    else if (room !== undefined && (room.left > box.scrollLeft + width - 60 || room.right < box.scrollLeft + 60))
      box.scrollLeft = room.left - 40;
    if (room !== undefined && (room.top < box.scrollTop || room.bottom > box.scrollTop + height - 26))
      box.scrollTop = room.top - height / 3;
  }

  redraw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const anchor = this.#anchor;
      this.#anchor = null;
      if (anchor !== null) this.#applyZoom(anchor);
      else if (this.#isStale) this.#layOut();
      this.#draw();
    });
  }

  #makeStale(): void {
    this.#isStale = true;
    this.redraw();
  }

  #isLive(): boolean {
    return this.#view?.cells.values().next().value?.status === null;
  }

  #resize(): void {
    const box = this.#box;
    if (box === null) return;
    const { clientWidth: width, clientHeight: height } = box;
    if (width === this.#size.width && height === this.#size.height) return;
    this.#size = { width, height };
    this.#makeStale();
  }

  #replan(): void {
    if (this.#view === null) return;
    const before = performance.now();
    const { lastAt } = this.#view;
    const now = lastAt === null ? null : lastAt + (before - this.#cameAt);
    const isLive = this.#isLive();
    this.#plan = planRooms(this.#view, isLive ? now : null);
    this.#planMs = performance.now() - before;
    this.#makeStale();
    // Bars under way grow; a clock that stands still needs no frames.
    const isWorking = isLive && [...this.#view.cells.values()].some(({ wait }) => wait.ownWork);
    clearTimeout(this.#timer);
    if (isWorking && !document.hidden)
      this.#timer = setTimeout(() => this.#replan(), Math.max(tickMs, this.#tookMs * restFor));
  }

  #layOut(): void {
    const canvas = this.#canvas;
    if (this.#plan === null || canvas === null || this.#size.width === 0) return;
    this.#isStale = false;
    const before = performance.now();
    this.#theme ??= readTheme(canvas);
    this.layout = layoutRooms(this.#plan, { ...this.#size, zoom: this.zoom.value });
    this.details = detailsOf(this.layout, this.#theme.measure);
    const natural = naturalSize(this.#plan, this.#size);
    this.fullZoom.value = natural.zoom;
    this.naturalHeight.value = natural.height;
    this.#noteOrder(this.layout);
    const style = this.#spacer?.style;
    if (style !== undefined) {
      style.width = `${Math.floor(this.layout.width)}px`;
      style.height = `${Math.floor(this.layout.height)}px`;
    }
    this.#laidOutAt = performance.now();
    this.#tookMs = this.#planMs + this.#laidOutAt - before;
  }

  /** Where rooms have changed places, the old picture fades into the new one. */
  #noteOrder({ rooms }: RoomsLayout): void {
    const lanes = new Map(rooms.map(({ unit }) => [unit.room.cell.cell as string, unit.lane]));
    const hasMoved = [...this.#lanes].some(([cell, lane]) => (lanes.get(cell) ?? lane) !== lane);
    this.#lanes = lanes;
    const canvas = this.#canvas;
    if (!hasMoved || canvas === null || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const image = document.createElement('canvas');
    [image.width, image.height] = [canvas.width, canvas.height];
    if (image.width === 0 || image.height === 0) return;
    image.getContext('2d')?.drawImage(canvas, 0, 0);
    this.#fade = { image, from: performance.now() };
  }

  #lit(): Lit | null {
    const layout = this.layout;
    if (layout === null) return null;
    const { stops, unitOf, plan } = layout.arrangement;
    const hit = this.hover.value;
    if (hit?.crossing != null) {
      const found = stops.find(({ crossing }) => crossing.id === hit.crossing);
      const units = new Set(
        found === undefined ? [] : [found.from, found.to].filter((one) => one >= 0).map((one) => unitOf[one]!),
      );
      return { room: (unit) => units.has(unit), crossing: (id) => id === hit.crossing };
    }
    if (hit?.room != null) {
      const { index, rooms } = hit.room.unit;
      const cells = new Set<string>(rooms.map((one) => plan.rooms[one]!.cell.cell));
      const own = new Set(
        plan.view.crossings.filter(({ from, to }) => cells.has(from) || cells.has(to)).map(({ id }) => id),
      );
      return { room: (unit) => unit === index, crossing: (id) => own.has(id) };
    }
    if (this.#dimmed.size === 0) return null;
    const dimmed = this.#dimmed;
    const hidden = new Set(
      plan.view.crossings.filter(({ from, to }) => dimmed.has(from) || dimmed.has(to)).map(({ id }) => id),
    );
    return {
      room: (unit) => !dimmed.has(layout.rooms[unit]!.unit.room.cell.cell),
      crossing: (id) => !hidden.has(id),
    };
  }

  #draw(): void {
    const [canvas, box, layout, details, theme] = [this.#canvas, this.#box, this.layout, this.details, this.#theme];
    if (canvas === null || box === null || layout === null || details === null || theme === null) return;
    const ratio = Math.min(3, devicePixelRatio || 1);
    const { width, height } = this.#size;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    const context = canvas.getContext('2d')!;
    const sight = { left: box.scrollLeft, top: box.scrollTop, width, height };
    drawScene(context, { layout, details, theme, sight, ratio, selection: this.#selection, lit: this.#lit() });
    const fade = this.#fade;
    if (fade === null) return;
    const left = 1 - (performance.now() - fade.from) / orderMs;
    if (left <= 0) this.#fade = null;
    else {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.globalAlpha = left;
      context.drawImage(fade.image, 0, 0);
      context.globalAlpha = 1;
      this.redraw();
    }
  }
}
