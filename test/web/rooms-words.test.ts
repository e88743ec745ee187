// What rooms say in words, what is under a pointer, and where the card stands.
import { expect, test } from 'vitest';
import type { RunView } from '#headends/run-view';
import { detailsOf } from '../../web/src/rooms/details.ts';
import { hitAt, nextInRoom, nextRoom } from '../../web/src/rooms/hit.ts';
import { layoutRooms } from '../../web/src/rooms/layout.ts';
import { placeCard } from '../../web/src/rooms/place-card.ts';
import { planRooms } from '../../web/src/rooms/plan.ts';
import { roomNames, roomWords, runSentence, whatItSaw } from '../../web/src/rooms/words.ts';
import { generatedView } from './generated-run.ts';
import { crossed, ended, started, viewOf } from './view.ts';
import type { Given } from './view.ts';

const refused = (kind: string, from: string, to: string, bytes: number): Given => ({
  type: 'crossing-refused',
  kind,
  from,
  to,
  bytes,
  reason: 'no-grant',
});

const request = (cell: string, op: number): readonly Given[] => [
  { type: 'model-start', cell, op, turn: 1, model: 'm', promptBytes: 10 },
  { type: 'model-end', cell, op, ok: true, calls: 0, inputTokens: 5, outputTokens: 2, usd: 0, ms: 1, error: null },
];

const opening = [
  started('lead', null),
  crossed('goal', 'outside', 'lead', 57),
  ...request('lead', 0),
  started('engineer', 'lead'),
  crossed('goal', 'lead', 'engineer', 63),
  started('analyst', 'lead'),
  crossed('goal', 'lead', 'analyst', 70),
  ...request('engineer', 1),
  ...request('analyst', 2),
];

const closing = [ended('engineer'), ended('analyst'), crossed('result', 'lead', 'outside', 838), ended('lead')];

const result = (from: string, bytes: number): Given => crossed('result', from, 'lead', bytes);

const sentence = (view: RunView): string => {
  const { lead, refused: red, rest } = runSentence(view);
  return `${lead}${red}${red === '' ? '' : '.'} ${rest}`.trim();
};

const whole = viewOf([...opening, result('engineer', 365), result('analyst', 274), ...closing]);
const cut = viewOf([...opening, refused('result', 'engineer', 'lead', 365), result('analyst', 274), ...closing]);

test('the sentence counts what crossed, and says what stayed', () => {
  expect(sentence(whole)).toBe('3 rooms, 6 crossings, all granted. Nothing else passed between them.');
  expect(sentence(cut)).toBe('3 rooms, 5 crossings granted, 1 refused. engineer’s result stayed in its room.');
  const both = [refused('result', 'engineer', 'lead', 365), refused('result', 'analyst', 'lead', 9)];
  expect(sentence(viewOf([...opening, ...both, ...closing]))).toBe(
    '3 rooms, 4 crossings granted, 2 refused. engineer’s result and 1 other stayed where they were.',
  );
  expect(sentence(viewOf(opening))).toBe('3 rooms, 3 crossings so far.');
  expect(sentence(viewOf([...opening, refused('result', 'engineer', 'lead', 365)]))).toBe(
    '3 rooms, 3 crossings so far, 1 refused. engineer’s result stayed in its room.',
  );
});

const question = (cell: string): Given => ({
  type: 'question',
  cell,
  op: 9,
  question: cell,
  tool: 'mail__send',
  args: {},
  sha256: 'ab',
  why: 'tool',
  need: 1,
  until: 0,
});

test('while a person is asked, the sentence says who stands at its door, and only what is true of it', () => {
  expect(sentence(viewOf([...opening, question('engineer')]))).toBe(
    '1 question open. engineer stands at its door; nothing has left its room since request 1.',
  );
  const sent = crossed('message', 'engineer', 'analyst', 5);
  expect(sentence(viewOf([...opening, sent, question('engineer')]))).toBe(
    '1 question open. engineer stands at its door.',
  );
  expect(sentence(viewOf([...opening, question('engineer'), question('analyst')]))).toBe(
    '2 questions open. engineer and analyst stand at their doors.',
  );
});

test('a room saw what crossed its own walls, and the card names what it never saw', () => {
  const { title, seen, never } = whatItSaw(cut, new Set(['engineer']), 'engineer');
  expect(title).toBe('engineer saw 2 of 6 crossings');
  expect(seen.map(({ kind, way, terms }) => `${kind} ${way}: ${terms}`)).toEqual([
    'goal from lead: 63 B, grant goal',
    'result to lead: 365 B refused, no grant',
  ]);
  expect(never).toBe('Never saw: analyst, your question, the answer.');
  expect(whatItSaw(cut, new Set(['lead']), 'lead').never).toBe('It saw everything that crossed.');
});

test('screen readers hear of a room what it did and what came in and went out', () => {
  const cell = cut.cells.get('engineer' as never)!;
  const own = cut.crossings.filter(({ from, to }) => from === cell.cell || to === cell.cell);
  expect(roomWords('engineer', cell, own, roomNames(cut))).toBe(
    'engineer, 1 request, completed. In: goal from lead, 63 bytes. Out: result refused, no grant.',
  );
});

const measure = (text: string): number => text.length * 6;

test('a pointer finds rooms, requests and arrows where they are drawn', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const layout = layoutRooms(planRooms(generatedView({ seed, depth: 2, cells: 8, mail: 4 })), {
      width: 1400,
      height: 900,
    });
    const details = detailsOf(layout, measure);
    for (const shaft of layout.shafts) {
      const { line, x } = shaft;
      const y = (line.at(-1)! + line.at(-3)!) / 2;
      expect(hitAt(layout, details, line.at(-2) === x ? x : line.at(-4)!, y, 3).crossing).toBe(shaft.stop.crossing.id);
    }
    for (const room of layout.rooms) {
      const { bars, barTop, barBottom } = details.inside(room);
      const middle = (barTop + barBottom) / 2;
      for (const bar of bars.filter(({ what, left, right }) => what === 'work' && right - left > 12))
        expect(hitAt(layout, details, (bar.left + bar.right) / 2, middle, 0)).toMatchObject({ op: bar.op, room });
    }
    expect(hitAt(layout, details, 1, layout.height - 1, 6)).toEqual({ room: null, op: null, crossing: null });
  }
});

test('keys reach every room, and every request and crossing of a room', () => {
  const view = generatedView({ seed: 4, depth: 3, cells: 12, mail: 6 });
  const layout = layoutRooms(planRooms(view), { width: 900, height: 700 });
  const rooms = [];
  for (let place = nextRoom(layout, {}, 1); place !== null; place = nextRoom(layout, place, 1)) rooms.push(place.cell);
  expect(new Set(rooms)).toEqual(new Set(view.cells.keys()));
  for (const cell of view.cells.values()) {
    const seen: string[] = [];
    for (let place = nextInRoom(layout, { cell: cell.cell }, 1); place !== null; place = nextInRoom(layout, place, 1))
      seen.push(place.crossing ?? `op ${place.op}`);
    const own = view.crossings.filter(({ from, to }) => from === cell.cell || to === cell.cell);
    expect(seen.sort()).toEqual([...own.map(({ id }) => id), ...cell.requests.map(({ op }) => `op ${op}`)].sort());
  }
});

test('the card stands in sight and never over the lit room', () => {
  const sight = { width: 690, height: 440 };
  const card = { width: 320, height: 140 };
  let placed = 0;
  for (let left = 0; left < 600; left += 23)
    for (let top = 20; top < 400; top += 19)
      for (const width of [40, 240, 600]) {
        const lit = { left, top, right: Math.min(left + width, 690), bottom: top + 70 };
        const place = placeCard(lit, sight, card);
        if (place === null) continue;
        placed++;
        const [right, bottom] = [place.left + card.width, place.top + card.height];
        const isApart = right <= lit.left || place.left >= lit.right || bottom <= lit.top || place.top >= lit.bottom;
        expect(isApart && place.left >= 0 && place.top >= 0 && right <= 690 && bottom <= 440).toBe(true);
      }
  expect(placed).toBeGreaterThan(500);
});
