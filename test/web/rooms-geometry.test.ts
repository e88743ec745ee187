// The geometry of rooms, on generated runs and on simulated ones.
import { describe, expect, test } from 'vitest';
import type { CellId } from '#base';
import type { DurableEvent } from '#contracts';
import { projectEvents } from '#core/events';
import type { RunView } from '#headends/run-view';
import { runSeed } from '../../sim/index.ts';
import { roomInside } from '../../web/src/rooms/inside.ts';
import { meets, roomLabels } from '../../web/src/rooms/labels.ts';
import { layoutRooms, shaftsBetween } from '../../web/src/rooms/layout.ts';
import type { RoomsLayout, RoomShape } from '../../web/src/rooms/layout.ts';
import { planRooms } from '../../web/src/rooms/plan.ts';
import type { Door, Line, Shaft } from '../../web/src/rooms/shafts.ts';
import { halfLine } from '../../web/src/rooms/texts.ts';
import type { Measure, PlacedText } from '../../web/src/rooms/texts.ts';
import { testRuns } from '../test-seed.ts';
import { generatedView, viewOfEvents } from './generated-run.ts';
import type { Shape } from './generated-run.ts';

const measure: Measure = (text, font) => text.length * (font === 'name' ? 7.2 : 6.1);

const boxOf = ({ left, right, top, bottom }: RoomShape) => ({ left, right, top, bottom });

type Box = ReturnType<typeof boxOf>;

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right - 1e-6 && b.left < a.right - 1e-6 && a.top < b.bottom - 1e-6 && b.top < a.bottom - 1e-6;

/** Small letters are less high than a line of text. */
const halfOf = ({ font }: PlacedText): number => (font === 'figure' ? halfLine - 1.5 : halfLine);

const textBox = (text: PlacedText): Box => ({
  left: text.x,
  right: text.x + text.width,
  top: text.y - halfOf(text),
  bottom: text.y + halfOf(text),
});

const piecesOf = ({ line, rest }: Shaft): readonly Line[] => (rest === null ? [line] : [line, rest]);

/** Rooms near an x, without looking at all of them. */
const roomsAt = (layout: RoomsLayout, left: number, right: number): readonly RoomShape[] =>
  layout.lanes.flatMap((lane) => lane.filter((room) => room.left <= right && room.right >= left));

/** Many thousands of these hold: `expect` would take most of the time. */
const must = (holds: boolean, what: string): void => {
  if (!holds) expect.fail(what);
};

const checkRooms = ({ rooms, lanes, width, axisY }: RoomsLayout): void => {
  for (const [at, lane] of lanes.entries()) {
    for (let next = 1; next < lane.length; next++)
      must(lane[next - 1]!.right <= lane[next]!.left + 1e-6, 'rooms overlap in a lane');
    const [above, own] = [lanes[at - 1]?.[0], lane[0]];
    if (above !== undefined && own !== undefined) must(above.bottom < own.top, 'lanes overlap');
  }
  for (const { left, right, top, bottom } of rooms) {
    must(right >= left && bottom > top, 'a room without a size');
    must(left >= 0 && right <= width + 1e-6 && top > 0 && bottom < axisY, 'a room outside the canvas');
  }
};

const checkShafts = (layout: RoomsLayout): number => {
  const { shafts, width, height } = layout;
  let cuts = 0;
  shafts.forEach((shaft, at) => {
    if (at > 0) must(shaft.x > shafts[at - 1]!.x, 'two shafts share an x');
    if (shaft.rest !== null) cuts++;
    const own = new Set([shaft.from.unit, shaft.to.unit]);
    for (const line of piecesOf(shaft)) {
      const xs = line.filter((_, index) => index % 2 === 0);
      const ys = line.filter((_, index) => index % 2 === 1);
      const [left, right] = [Math.min(...xs), Math.max(...xs)];
      must(left >= 0 && right <= width && Math.min(...ys) >= 0 && Math.max(...ys) <= height, 'outside the canvas');
      for (const room of roomsAt(layout, left, right))
        if (!own.has(room.unit.index)) must(!meets(line, boxOf(room)), `an arrow over ${room.unit.room.name}`);
      for (let index = 0; index + 3 < line.length; index += 2)
        must(line[index] === line[index + 2] || line[index + 1] === line[index + 3], 'a slanted piece');
    }
  });
  return cuts;
};

/** A door lies on the wall that it says, between the corners, and its arrow goes through it. */
const checkDoor = (layout: RoomsLayout, door: Door, [x, y]: Line): void => {
  if (door.unit < 0) return;
  const room = layout.rooms[door.unit]!;
  const wall = { left: room.left, right: room.right, top: room.top, bottom: room.bottom }[door.side];
  const isUpright = door.side === 'left' || door.side === 'right';
  must((isUpright ? door.x : door.y) === wall, 'a door beside its wall');
  if (isUpright) must(door.y > room.top && door.y < room.bottom, 'a door beyond a corner');
  else must(door.x >= room.left && door.x <= room.right, 'a door beyond a corner');
  const isInside = x! >= room.left - 1e-6 && x! <= room.right + 1e-6 && y! >= room.top && y! <= room.bottom;
  must(isInside, 'an arrow that does not end in its room');
};

const checkEnds = (layout: RoomsLayout, view: RunView): void => {
  const { arrangement, shaftOf, personY } = layout;
  const { roomOf } = arrangement.plan;
  const unitAt = (end: string): number => {
    const room = roomOf.get(end as CellId);
    return end === 'outside' ? -1 : room === undefined ? -2 : arrangement.unitOf[room]!;
  };
  let counted = 0;
  for (const { id, from, to, refused } of view.crossings) {
    const made = shaftOf.get(id);
    if (made === undefined) {
      counted++;
      continue;
    }
    if (!('line' in made)) {
      must(refused !== null, 'a granted crossing at a closed wall');
      must(made.door.unit === unitAt(from), 'a refused crossing at another room');
      checkDoor(layout, made.door, made.dot);
      continue;
    }
    must(refused === null, 'a refused crossing as an arrow');
    must(made.from.unit === unitAt(from) && made.to.unit === unitAt(to), 'an arrow between other rooms');
    const end = (made.rest ?? made.line).slice(-2);
    checkDoor(layout, made.from, made.line);
    if (!made.isLost) checkDoor(layout, made.to, end);
    if (made.from.unit === -1) must(made.line[1] === personY, 'not from the person');
    if (made.to.unit === -1) must(end[1] === personY, 'not to the person');
  }
  const merged = layout.rooms.reduce((sum, { unit }) => sum + unit.counted, 0);
  must(counted === merged, `${counted} crossings are not drawn, ${merged} are counted`);
  must(layout.rooms.reduce((sum, { unit }) => sum + unit.rooms.length, 0) === view.cells.size, 'a room is missing');
};

const checkTexts = (layout: RoomsLayout): number => {
  let count = 0;
  const all: PlacedText[] = [];
  for (const room of layout.rooms) {
    const { texts } = roomInside(layout, room, measure);
    const labels = roomLabels(layout, room, measure);
    all.push(...texts, ...labels);
    count += texts.length + labels.length;
    for (const text of texts) {
      const box = textBox(text);
      const isInside = box.left >= room.left && box.right <= room.right && box.bottom <= room.bottom;
      must(isInside && box.top >= room.top - 1, `${text.text} sticks out of ${room.unit.room.name}`);
    }
    for (const label of labels)
      for (const other of roomsAt(layout, label.x, label.x + label.width))
        must(!overlap(textBox(label), boxOf(other)), `${label.text} over ${other.unit.room.name}`);
  }
  all.sort((a, b) => a.x - b.x);
  for (const [at, text] of all.entries()) {
    const box = textBox(text);
    for (let next = at + 1; next < all.length && all[next]!.x < box.right; next++)
      must(!overlap(box, textBox(all[next]!)), `${text.text} over ${all[next]!.text}`);
    for (const shaft of shaftsBetween(layout.shafts, box.left - 40, box.right + 40))
      for (const line of piecesOf(shaft)) must(!meets(line, box), `${text.text} meets an arrow`);
    for (const { door, dot } of layout.marks)
      must(!meets([...dot, door.x, door.y], box), `${text.text} meets a refused crossing`);
  }
  return count;
};

const sizes = [
  { width: 640, height: 420 },
  { width: 1400, height: 760 },
  { width: 370, height: 400 },
  { width: 640, height: 420, zoom: 4 },
];

const checkView = (view: RunView, size: (typeof sizes)[number], now: number | null = null) => {
  const layout = layoutRooms(planRooms(view, now), size);
  must(layout.width <= size.width * (size.zoom ?? 1) + 1, 'wider than what it has');
  checkRooms(layout);
  const cuts = checkShafts(layout);
  checkEnds(layout, view);
  return { layout, cuts, texts: checkTexts(layout) };
};

const families: Readonly<Record<string, (seed: number) => Shape>> = {
  'one level, born together': (seed) => ({ seed, depth: 1, cells: 9, births: 'fan-out' }),
  'one level, born at any time': (seed) => ({ seed, depth: 1, cells: 9, births: 'scattered' }),
  'any depth': (seed) => ({
    seed,
    depth: 2 + (seed % 5),
    cells: 24,
    births: (['fan-out', 'scattered', 'sequence'] as const)[seed % 3]!,
  }),
  'in progress': (seed) => ({ seed, depth: 3, cells: 14, isLive: true, refused: 0.05 }),
  'with refusals': (seed) => ({ seed, depth: 3, cells: 14, refused: 0.3 }),
  'with mail between all': (seed) => ({ seed, depth: 2, cells: 10, mail: 25, refused: 0.1 }),
  'with everything in one millisecond': (seed) => ({ seed, depth: 3, cells: 12, requestMs: 0 }),
  'with long idle times': (seed) => ({ seed, depth: 2, cells: 8, idleMs: 60_000, mail: 4 }),
  'with more rooms than lanes': (seed) => ({
    seed,
    depth: 3,
    cells: 160,
    births: 'fan-out',
    requests: 1,
    refused: 0.01,
  }),
};

const eachFamily = testRuns(750);

// invariants: rooms-columns, rooms-doors, rooms-cut, rooms-labels
describe('in generated runs no arrow lies over a room that it does not enter, every end is at its door, and no text meets anything', () => {
  test.each(Object.keys(families))('%s', (name) => {
    let [cuts, texts, shafts] = [0, 0, 0];
    for (let seed = 1; seed <= eachFamily; seed++) {
      const view = generatedView(families[name]!(seed));
      const found = checkView(
        view,
        sizes[seed % sizes.length]!,
        name === 'in progress' ? (view.lastAt ?? 0) + 300 : null,
      );
      cuts += found.cuts;
      texts += found.texts;
      shafts += found.layout.shafts.length;
    }
    expect([shafts > eachFamily, texts > eachFamily]).toEqual([true, true]);
    if (name.includes('any time') || name.includes('mail')) expect(cuts).toBeGreaterThan(eachFamily);
  });
});

// invariant: rooms-nearest
test('a fan-out needs no cut, and of children born at any time no result is cut', () => {
  for (let seed = 1; seed <= testRuns(900); seed++) {
    const together = checkView(generatedView({ seed, depth: 1, cells: 9, births: 'fan-out' }), sizes[0]!);
    expect(together.cuts).toBe(0);
    const { layout } = checkView(generatedView({ seed, depth: 1, cells: 9 }), sizes[1]!);
    const results = layout.shafts.filter(({ from }) => from.side === 'right');
    expect(results.filter(({ rest }) => rest !== null)).toEqual([]);
  }
});

test('calls one after the other share a lane, however fast they are', () => {
  let most = 0;
  for (let seed = 1; seed <= 40; seed++) {
    const requestMs = seed % 2 === 0 ? 400 : 3;
    const view = generatedView({ seed, depth: 1, cells: 6, births: 'sequence', requestMs, requests: 1 });
    const { layout } = checkView(view, sizes[0]!);
    // Without a result between them, two births within 20 ms are one fan-out.
    if (view.crossings.filter(({ kind }) => kind === 'result').length < view.cells.size) continue;
    expect(layout.lanes.length).toBeLessThanOrEqual(2);
    most = Math.max(most, view.cells.size);
  }
  expect(most).toBeGreaterThan(4);
});

// invariant: rooms-merged
test('where lanes would be too low they merge with a count, but nothing refused, failed or waiting', () => {
  let merged = 0;
  for (let seed = 1; seed <= testRuns(90); seed++) {
    const view = generatedView({ seed, depth: 4, cells: 400, births: 'fan-out', requests: 1, refused: 0.01 });
    const { layout } = checkView(view, { width: 640, height: 300 });
    for (const { unit } of layout.rooms) {
      if (unit.rooms.length === 1) continue;
      merged++;
      for (const room of unit.rooms) expect(layout.arrangement.plan.rooms[room]!.isPlain).toBe(true);
    }
    const plainest = view.crossings.filter(({ refused }) => refused !== null);
    for (const { id } of plainest) expect(layout.shaftOf.has(id)).toBe(true);
    // With room enough, nothing is merged.
    const whole = layoutRooms(planRooms(view), { width: 640, height: 300, zoom: 60 });
    expect(whole.rooms.length).toBe(view.cells.size);
  }
  expect(merged).toBeGreaterThan(30);
});

test('idle time over 1.5 s shrinks to a piece of a fixed width, and the root says how long it was', () => {
  const view = generatedView({ seed: 3, depth: 1, cells: 3, idleMs: 600_000, requests: 6 });
  const layout = layoutRooms(planRooms(view), sizes[1]!);
  const { idles } = layout.scale;
  expect(idles.length).toBeGreaterThan(1);
  expect(new Set(idles.map(({ left, right }) => Math.round(right - left)))).toEqual(new Set([60]));
  const { texts } = roomInside(layout, layout.rooms[0]!, measure);
  expect(texts.filter(({ text }) => text.endsWith('10m00s')).length).toBeGreaterThan(2);
});

test('in simulated runs it holds too', async () => {
  let [rooms, shafts, marks] = [0, 0, 0];
  for (let seed = 300; seed < 325; seed++) {
    const { history } = await runSeed(seed, { keepHistory: true });
    for (const { frames } of history!.runs) {
      const fold = projectEvents('answers', false);
      const events = frames.flatMap((frame) => fold.next(frame)) as readonly DurableEvent[];
      const view = viewOfEvents(events);
      if (view.cells.size === 0) continue;
      for (const size of sizes) {
        const { layout } = checkView(view, size);
        [rooms, shafts, marks] = [
          rooms + layout.rooms.length,
          shafts + layout.shafts.length,
          marks + layout.marks.length,
        ];
      }
    }
  }
  expect([rooms > 200, shafts > 400, marks > 4]).toEqual([true, true, true]);
});
