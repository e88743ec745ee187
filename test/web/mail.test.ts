// Mail between rooms: how it is grouped and told, and that on generated mail no line runs over a room it does not enter.
import { expect, test } from 'vitest';
import type { CellId } from '#base';
import { labelPlace, linesOf, mailFrame, mailRow, piecesAfter } from '../../web/src/panes/mail-layout.ts';
import type { MailPiece, MailSegment } from '../../web/src/panes/mail-layout.ts';
import {
  mailColumns,
  mailMessages,
  mailSentence,
  seenByPerson,
  textOfCrossing,
} from '../../web/src/panes/mail-messages.ts';
import type { MailColumn, MailMessage } from '../../web/src/panes/mail-messages.ts';
import { testRandom } from './random.ts';
import { crossed, ended, started, viewOf } from './view.ts';
import type { Given } from './view.ts';

const states = ['queued', 'delivered', 'read', 'dead'] as const;

/** Up to nine rooms with lives of their own, and up to thirty messages, some of them from and to nobody. */
const generatedMail = (seed: number): { columns: readonly MailColumn[]; messages: readonly MailMessage[] } => {
  const { below, next } = testRandom(seed);
  const rooms = Array.from({ length: 1 + below(9) }, (_, at): MailColumn => {
    const startedAt = below(60);
    const endedAt = next() < 0.5 ? null : startedAt + below(60);
    return { id: `c${at}` as CellId, name: `c${at}`, cell: { startedAt, endedAt } as never };
  });
  const columns = next() < 0.8 ? [{ id: 'outside' as const, name: 'you', cell: null }, ...rooms] : rooms;
  const anyone = () => (next() < 0.05 ? ('gone' as CellId) : columns[below(columns.length)]!.id);
  const messages = Array.from({ length: 1 + below(30) }, (_, at): MailMessage => {
    const readers = new Set(Array.from({ length: 1 + below(5) }, anyone));
    return {
      id: `m${at}`,
      kind: 'message',
      at: at * 3,
      from: anyone(),
      sender: '',
      topic: null,
      correlation: null,
      text: '',
      crossing: null,
      tokens: null,
      readers: [...readers].map((to) => ({
        to: next() < 0.05 ? null : to,
        name: to,
        state: states[below(4)]!,
        reason: null,
        bytes: 1,
        deliveredAt: null,
        readAt: null,
      })),
    };
  });
  return { columns, messages };
};

const meets = ({ x1, y1, x2, y2 }: MailSegment, { x, y, width, height }: MailPiece): boolean =>
  Math.min(x1, x2) - 1 < x + width && Math.max(x1, x2) + 1 > x && y1 - 1 < y + height && y2 + 1 > y;

const drawings = Array.from({ length: 500 }, (_, seed) => ({
  ...generatedMail(seed),
  width: 300 + testRandom(seed).below(1200),
}));

// invariant: mail-halls
test('no line runs over a room piece that it does not enter, and it enters only by a door', () => {
  let [entered, lines] = [0, 0];
  for (const { columns, messages, width } of drawings) {
    const frame = mailFrame(columns, width, width < 700);
    const pieces = [-1, ...messages.keys()].map((at) => piecesAfter(at, messages, columns, frame));
    for (const [at, message] of messages.entries()) {
      const row = mailRow(message, columns);
      for (const segment of linesOf(at, row, frame)) {
        lines++;
        for (const [index, of] of pieces.entries())
          for (const piece of of.filter((one) => meets(segment, one))) {
            entered++;
            const leaves = index === at && piece.column === row.sender && piece.doorBelow;
            const arrives = index === at + 1 && row.reached.includes(piece.column) && piece.doorAbove;
            expect(leaves || arrives).toBe(true);
          }
      }
    }
  }
  expect([entered > 5_000, lines > 10_000]).toEqual([true, true]);
});

test('every door has a line', () => {
  for (const { columns, messages, width } of drawings) {
    const frame = mailFrame(columns, width, false);
    for (const at of [-1, ...messages.keys()])
      for (const piece of piecesAfter(at, messages, columns, frame)) {
        const [above, below] = [messages[at], messages[at + 1]];
        const lines = (index: number, message: MailMessage | undefined) =>
          message === undefined ? [] : linesOf(index, mailRow(message, columns), frame);
        const has = [lines(at, above), lines(at + 1, below)].map((all) => all.some((line) => meets(line, piece)));
        expect(has).toEqual([piece.doorAbove, piece.doorBelow]);
      }
  }
});

test('the pieces of a row do not touch each other, whatever the width', () => {
  for (const { columns, messages, width } of drawings)
    for (const isNarrow of [true, false]) {
      const frame = mailFrame(columns, width, isNarrow);
      const row = piecesAfter(0, messages, columns, frame).toSorted((one, other) => one.x - other.x);
      for (const [at, piece] of row.slice(1).entries()) expect(piece.x).toBeGreaterThan(row[at]!.x + row[at]!.width);
      expect(row.every(({ x, width: wide }) => x >= 0 && x + wide <= frame.width && wide > 0)).toBe(true);
    }
});

test('the text of a message stands beside its stem, inside the drawing', () => {
  for (const { columns, messages } of drawings) {
    const frame = mailFrame(columns, 900, false);
    for (const message of messages) {
      const { side, x, most } = labelPlace(mailRow(message, columns).sender, frame);
      expect(most).toBeGreaterThan(60);
      expect(side === 'right' ? x + 10 + most <= frame.width : x - 10 - most >= 0).toBe(true);
    }
  }
});

const mail = (message: string, from: string, to: string | null, state: string, more: object = {}): Given => ({
  type: 'mail',
  cell: from,
  message,
  kind: 'broadcast',
  from,
  to,
  sender: from,
  recipient: to ?? 'nobody',
  topic: 'chat',
  correlation: null,
  state,
  reason: null,
  text: null,
  unasked: false,
  ...more,
});

const party: readonly Given[] = [
  started('root', null, { agent: 'master', goal: 'Go in.' }),
  crossed('goal', 'outside', 'root', 6),
  started('a', 'root', { agent: 'fighter' }),
  started('b', 'root', { agent: 'fighter' }),
  crossed('broadcast', 'root', 'a', 20, { at: 9 }),
  crossed('broadcast', 'root', 'b', 21, { at: 9 }),
  mail('m1', 'root', 'a', 'queued', { at: 9 }),
  mail('m1', 'root', 'b', 'queued', { at: 9 }),
  mail('m1', 'root', 'a', 'delivered', { at: 10, cell: 'a' }),
  mail('m1', 'root', 'a', 'read', { at: 12, cell: 'a' }),
  mail('m2', 'a', 'root', 'queued', { at: 20, kind: 'result', topic: null }),
  ended('a', { at: 20 }),
  crossed('result', 'root', 'outside', 30, { at: 30 }),
  mail('m2', 'a', 'root', 'dead', { at: 31, kind: 'result', reason: 'ended' }),
  mail('m3', 'b', null, 'dead', { at: 32, kind: 'message', reason: 'unknown' }),
];

test('a broadcast is one message with several readers, each with its own state, size and times', () => {
  const [goal, broadcast, result, answer, lost] = mailMessages(viewOf(party));
  expect(goal).toMatchObject({ kind: 'goal', sender: 'you', text: 'Go in.', readers: [{ to: 'root', bytes: 6 }] });
  expect(broadcast).toMatchObject({
    sender: 'master',
    readers: [
      { name: 'fighter', state: 'read', bytes: 20, deliveredAt: 10, readAt: 12 },
      { name: 'fighter#2', state: 'queued', bytes: 21, deliveredAt: null },
    ],
  });
  expect(result).toMatchObject({ sender: 'fighter', readers: [{ state: 'dead', reason: 'ended' }] });
  expect(answer).toMatchObject({ kind: 'answer', readers: [{ name: 'you', bytes: 30 }] });
  expect(lost).toMatchObject({ readers: [{ to: null, name: 'nobody', state: 'dead' }] });
});

test('columns are the person and the rooms that write or are written to', () => {
  const view = viewOf([...party, started('idle', 'root')]);
  expect(mailColumns(view, mailMessages(view)).map(({ name }) => name)).toEqual([
    'you',
    'master',
    'fighter',
    'fighter#2',
  ]);
});

test('the sentence counts messages and readers, and not the goal', () => {
  expect(mailSentence(mailMessages(viewOf(party)))).toEqual([
    '4 messages to 5 readers.',
    '1 read, 1 delivered to you, 1 queued, 2 dead.',
  ]);
});

test('a run without mail has nothing to draw, though it has a goal and an answer', () => {
  expect(mailMessages(viewOf(party.filter(({ type }) => type !== 'mail')))).toEqual([]);
});

test('the text of a message is in the crossing with which it left its room', () => {
  const [, broadcast, result, , lost] = mailMessages(viewOf(party));
  expect([broadcast!.crossing?.bytes, result!.crossing, lost!.crossing]).toEqual([20, null, null]);
  expect(textOfCrossing('broadcast', '{"id":"m1"}\nYou see\na door.')).toBe('You see\na door.');
  expect(textOfCrossing('result', '{"status":"completed","output":"Done."}')).toBe('Done.');
  expect(textOfCrossing('result', 'not JSON')).toBe('not JSON');
});

test('an answer of a long-lived agent is its mail, and is not shown twice', () => {
  const events = [...party, mail('m4', 'root', 'outside', 'delivered', { at: 40, kind: 'answer', text: 'Done.' })];
  expect(mailMessages(viewOf(events)).filter(({ kind }) => kind === 'answer')).toHaveLength(1);
});

test('tokens of a message are those of its sender’s requests since the one before', () => {
  const request = (op: number, at: number): readonly Given[] => [
    { type: 'model-start', cell: 'a', op, at, turn: op, model: 'm', promptBytes: 1 },
    {
      type: 'model-end',
      cell: 'a',
      op,
      at: at + 1,
      ok: true,
      calls: 1,
      inputTokens: 100,
      outputTokens: op,
      usd: 0,
      ms: 1,
    },
  ];
  const events = [
    started('a', null),
    ...request(1, 1),
    ...request(2, 3),
    mail('m1', 'a', 'b', 'queued', { at: 5 }),
    mail('m2', 'a', 'b', 'queued', { at: 6 }),
    ...request(4, 7),
    mail('m3', 'a', 'b', 'queued', { at: 9 }),
  ];
  expect(mailMessages(viewOf(events)).map(({ tokens }) => tokens)).toEqual([
    { input: 200, output: 3 },
    null,
    { input: 100, output: 4 },
  ]);
});

test('the page says whether the person saw a message, and who quoted it', () => {
  const [goal, broadcast, , answer] = mailMessages(viewOf(party), 'She said: "You see a door in the wall."');
  const all = [goal!, { ...broadcast!, text: 'You see a door in the wall.' }, answer!];
  expect(all.map((one) => seenByPerson(one, all))).toEqual([
    'You wrote this message.',
    'You did not see this message. You saw master’s answer, which quotes it.',
    'You got this message.',
  ]);
  expect(seenByPerson(broadcast!, all)).toBe('You did not see this message.');
});
