// The geometry of rooms, on generated runs and on simulated ones.
import { describe, expect, test } from 'vitest';
import type { DurableEvent } from '#contracts';
import { projectEvents } from '#core/events';
import type { RunView } from '#headends/run-view';
import { runSeed } from '../../sim/index.ts';
import { roomInside } from '../../web/src/rooms/inside.ts';
import { meets, roomLabels } from '../../web/src/rooms/labels.ts';
import { layoutRooms } from '../../web/src/rooms/layout.ts';
import type { RoomsLayout, RoomShape } from '../../web/src/rooms/layout.ts';
import { planRooms } from '../../web/src/rooms/plan.ts';
import type { Door, Line, Shaft } from '../../web/src/rooms/shafts.ts';
import { halfLine } from '../../web/src/rooms/texts.ts';
import type { Measure, PlacedText } from '../../web/src/rooms/texts.ts';
import { generatedView, viewOfEvents } from './generated-run.ts';
import type { Shape } from './generated-run.ts';

const measure: Measure = (text, font) => text.length * (font === 'name' ? 7.2 : 6.1);

const boxOf = ({ left, right, top, bottom }: RoomShape) => ({ left, right, top, bottom });

type Box = ReturnType<typeof boxOf>;

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right - 1e-6 && b.left < a.right - 1e-6 && a.top < b.bottom - 1e-6 && b.top < a.bottom - 1e-6;

const textBox = ({ x, y, width }: PlacedText): Box => ({
  left: x,
  right: x + width,
  top: y - halfLine,
  bottom: y + halfLine,
});

const piecesOf = ({ line, rest }: Shaft): readonly Line[] => (rest === null ? [line] : [line, rest]);

/** Rooms near an x, without looking at all of them. */
const roomsAt = (layout: RoomsLayout, left: number, right: number): readonly RoomShape[] =>
  layout.lanes.flatMap((lane) => lane.filter((room) => room.left <= right && room.right >= left));

const checkRooms = ({ rooms, lanes, width, axisY }: RoomsLayout): void => {
  for (const lane of lanes)
    for (const [at, room] of lane.entries())
      if (at > 0) expect(lane[at - 1]!.right, 'siblings in one lane').toBeLessThanOrEqual(room.left + 1e-6);
  for (let at = 1; at < lanes.length; at++)
    if (lanes[at]!.length > 0 && lanes[at - 1]!.length > 0)
      expect(lanes[at - 1]![0]!.bottom).toBeLessThan(lanes[at]![0]!.top);
  for (const { left, right, top, bottom } of rooms) {
    expect(right).toBeGreaterThanOrEqual(left);
    expect(bottom).toBeGreaterThan(top);
    expect([left >= 0, right <= width + 1e-6, top > 0, bottom < axisY]).toEqual([true, true, true, true]);
  }
};

const checkShafts = (layout: RoomsLayout): number => {
  const { shafts, width, height } = layout;
  let cuts = 0;
  shafts.forEach((shaft, at) => {
    if (at > 0) expect(shaft.x, 'two shafts share an x').toBeGreaterThan(shafts[at - 1]!.x);
    if (shaft.rest !== null) cuts++;
    const own = new Set([shaft.from.unit, shaft.to.unit]);
    for (const line of piecesOf(shaft)) {
      const xs = line.filter((_, index) => index % 2 === 0);
      const ys = line.filter((_, index) => index % 2 === 1);
      const [left, right] = [Math.min(...xs), Math.max(...xs)];
      expect([left >= 0, right <= width, Math.min(...ys) >= 0, Math.max(...ys) <= height]).toEqual([
        true,
        true,
        true,
        true,
      ]);
      for (const room of roomsAt(layout, left, right))
        if (!own.has(room.unit.index)) expect(meets(line, boxOf(room)), `over ${room.unit.room.name}`).toBe(false);
      for (let index = 0; index + 3 < line.length; index += 2)
        expect(line[index] === line[index + 2] || line[index + 1] === line[index + 3], 'a slanted piece').toBe(true);
    }
  });
  return cuts;
};

/** A door lies on the wall that it says, between the corners, and its arrow goes through it. */
const checkDoor = (layout: RoomsLayout, door: Door, from: Line): void => {
  if (door.unit < 0) return;
  const room = layout.rooms[door.unit]!;
  const wall = { left: room.left, right: room.right, top: room.top, bottom: room.bottom }[door.side];
  const isUpright = door.side === 'left' || door.side === 'right';
  expect(isUpright ? door.x : door.y).toBe(wall);
  if (isUpright) expect(door.y > room.top && door.y < room.bottom).toBe(true);
  else expect(door.x >= room.left && door.x <= room.right, `${door.side} door at ${door.x}`).toBe(true);
  expect(
    from[0]! >= room.left - 1e-6 && from[0]! <= room.right + 1e-6 && from[1]! >= room.top && from[1]! <= room.bottom,
  ).toBe(true);
};

const checkEnds = (layout: RoomsLayout, view: RunView): void => {
  const { arrangement, shaftOf } = layout;
  const { roomOf } = arrangement.plan;
  const unitAt = (end: string): number =>
    end === 'outside' ? -1 : roomOf.has(end as never) ? arrangement.unitOf[roomOf.get(end as never)!]! : -2;
  let counted = 0;
  for (const crossing of view.crossings) {
    const made = shaftOf.get(crossing.id);
    if (made === undefined) {
      counted++;
      continue;
    }
    if (!('line' in made)) {
      expect(crossing.refused, 'only refused ones end at the wall').not.toBeNull();
      checkDoor(layout, made.door, made.dot);
      expect([unitAt(crossing.from), unitAt(crossing.to)]).toContain(made.door.unit);
      continue;
    }
    expect(crossing.refused).toBeNull();
    expect([made.from.unit, made.to.unit]).toEqual([unitAt(crossing.from), unitAt(crossing.to)]);
    checkDoor(layout, made.from, made.line);
    if (!made.isLost) checkDoor(layout, made.to, (made.rest ?? made.line).slice(-2));
    if (made.from.unit === -1) expect(made.line[1]).toBe(layout.personY);
    if (made.to.unit === -1) expect((made.rest ?? made.line).at(-1)).toBe(layout.personY);
  }
  expect(counted, 'neither drawn nor counted').toBe(layout.rooms.reduce((sum, { unit }) => sum + unit.counted, 0));
  const shown = layout.rooms.reduce((sum, { unit }) => sum + unit.rooms.length, 0);
  expect(shown).toBe(view.cells.size);
};

const checkTexts = (layout: RoomsLayout): number => {
  let count = 0;
  const above: PlacedText[] = [];
  for (const room of layout.rooms) {
    const { texts } = roomInside(layout, room, measure);
    const labels = roomLabels(layout, room, measure);
    const boxes = [...texts, ...labels].map((one) => ({ ...textBox(one), text: one.text }));
    above.push(...labels);
    count += boxes.length;
    for (const [at, box] of boxes.entries())
      for (const other of boxes.slice(0, at)) expect(overlap(box, other), `${box.text} over ${other.text}`).toBe(false);
    for (const text of texts) {
      const box = textBox(text);
      expect(
        [box.left >= room.left, box.right <= room.right, box.top >= room.top - 1, box.bottom <= room.bottom],
        text.text,
      ).toEqual([true, true, true, true]);
    }
  }
  above.sort((a, b) => a.x - b.x);
  for (const [at, label] of above.entries()) {
    const box = textBox(label);
    for (let next = at + 1; next < above.length && above[next]!.x < box.right; next++)
      expect(overlap(box, textBox(above[next]!)), `${label.text} over ${above[next]!.text}`).toBe(false);
    for (const shaft of layout.shafts)
      if (shaft.x > box.left - 1 && shaft.x < box.right + 1)
        for (const line of piecesOf(shaft)) expect(meets(line, box), `${label.text} meets an arrow`).toBe(false);
    for (const room of layout.lanes.flatMap((lane) =>
      lane.filter((one) => one.left < box.right && one.right > box.left),
    ))
      expect(overlap(box, boxOf(room)), `${label.text} over ${room.unit.room.name}`).toBe(false);
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
  'under way': (seed) => ({ seed, depth: 3, cells: 14, isLive: true, refused: 0.05 }),
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

const eachFamily = 250;

// invariant: rooms-columns rooms-doors rooms-cut rooms-labels
describe('in generated runs no arrow lies over a room that it does not enter, every end is at its door, and no text meets anything', () => {
  test.each(Object.keys(families))('%s', (name) => {
    let [cuts, texts, shafts] = [0, 0, 0];
    for (let seed = 1; seed <= eachFamily; seed++) {
      const view = generatedView(families[name]!(seed));
      const found = checkView(
        view,
        sizes[seed % sizes.length]!,
        name === 'under way' ? (view.lastAt ?? 0) + 300 : null,
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
  for (let seed = 1; seed <= 400; seed++) {
    const together = checkView(generatedView({ seed, depth: 1, cells: 9, births: 'fan-out' }), sizes[0]!);
    expect(together.cuts).toBe(0);
    const { layout } = checkView(generatedView({ seed, depth: 1, cells: 9 }), sizes[1]!);
    const results = layout.shafts.filter(({ from }) => from.side === 'right');
    expect(results.filter(({ rest }) => rest !== null)).toEqual([]);
  }
});

test('calls one after the other share a lane', () => {
  const view = generatedView({ seed: 5, depth: 1, cells: 6, births: 'sequence' });
  expect(view.cells.size).toBeGreaterThan(3);
  expect(checkView(view, sizes[0]!).layout.lanes.length).toBe(2);
});

// invariant: rooms-merged
test('where lanes would be too low they merge with a count, but nothing refused, failed or waiting', () => {
  let merged = 0;
  for (let seed = 1; seed <= 60; seed++) {
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
  expect(merged).toBeGreaterThan(60);
});

test('idle time over 1.5 s shrinks to a fixed piece', () => {
  const view = generatedView({ seed: 3, depth: 1, cells: 3, idleMs: 600_000, requests: 6 });
  const { scale } = layoutRooms(planRooms(view), sizes[1]!);
  expect(scale.idles.length).toBeGreaterThan(1);
  for (const { left, right } of scale.idles) expect(right - left).toBeLessThan(90);
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
