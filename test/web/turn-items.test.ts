// What a turn shows, in which order.
import { expect, test } from 'vitest';
import type { RunView } from '#headends/run-view';
import {
  isTextMissing,
  itemKey,
  standingStill,
  turnItems,
  versionsOf,
  withAnswer,
} from '../../web/src/chat/turn-items.ts';
import { asks, calls, cellId, ends, event, live, replies, start, viewOf } from './events.ts';

const nothing = (): undefined => undefined;

const shown = (view: RunView, recorded: (op: number) => string | undefined = nothing) =>
  turnItems(view, view.cells.get(cellId('lead'))!, recorded).map((item) => {
    switch (item.type) {
      case 'text':
        return `${item.isCut ? '…' : ''}${item.text}${item.isLive ? '|' : ''}`;
      case 'rows':
        return item.rows.map((row) => (row.type === 'agent' ? row.agent : row.call.tool));
      case 'question':
        return `? ${item.question.question}`;
      case 'mail':
        return `${item.isMine ? 'me' : 'it'}: ${item.mail.text}`;
    }
  });

const writes = (text: string) => live('text-delta', 'lead', text);
const tool = (at: number, op: number, name: string) => event('tool-start', 'lead', at, { op, tool: name, args: '{}' });

const question = (cell: string, at: number, op: number, id: string) =>
  event('question', cell, at, {
    op,
    question: id,
    tool: 'mail__send',
    args: {},
    sha256: 'x',
    why: 'tool',
    need: 1,
    until: 9,
  });

test('agents and tools stand below the words that called them, in one box, and above the words that follow', () => {
  const view = viewOf(
    start('lead', 0),
    asks('lead', 1, 0),
    writes('I ask two.'),
    replies('lead', 2, 0, 3),
    calls('lead', 3, 1, 'one'),
    tool(3, 2, 'read'),
    calls('lead', 4, 3, 'two'),
    asks('lead', 5, 4),
    writes('They sa'),
  );
  expect(shown(view)).toEqual(['I ask two.', ['one', 'read', 'two'], 'They sa|']);
});

test('words that were recorded take the place of those that were sent, and fill those that were not', () => {
  const view = viewOf(start('lead', 0), asks('lead', 1, 0), replies('lead', 2, 0, 1), tool(3, 1, 'read'));
  expect(shown(view)).toEqual([['read']]);
  expect(shown(view, (op) => (op === 0 ? 'Said before.' : undefined))).toEqual(['Said before.', ['read']]);
});

test('a request that failed says nothing, and a spawn is shown as the agent that it started', () => {
  const failed = event('model-end', 'lead', 2, { op: 0, ok: false, calls: 0, error: null });
  const view = viewOf(
    start('lead', 0),
    asks('lead', 1, 0),
    writes('lost'),
    failed,
    tool(3, 1, 'spawn_agent'),
    calls('lead', 3, 2, 'rogue'),
  );
  expect(shown(view)).toEqual([['rogue']]);
});

test('of a run that was stopped, the words in the middle of which it was stay in sight', () => {
  const stop = event('session-end', 'lead', 3, { status: 'cancelled', spent: { ms: 3 }, error: null });
  const failed = event('model-end', 'lead', 3, { op: 0, ok: false, calls: 0, error: null });
  const begun = [start('lead', 0), asks('lead', 1, 0), writes('Half a sen')];
  expect(shown(viewOf(...begun, stop))).toEqual(['Half a sen']);
  expect(shown(viewOf(...begun, failed, stop))).toEqual(['Half a sen']);
});

test('a text whose beginning is missing says so while it is written', () => {
  const view = viewOf(start('lead', 0), asks('lead', 1, 0), live('text-lag', 'lead'), writes('the end'));
  expect(shown(view)).toEqual(['…the end|']);
});

test('a question of any cell stands below the rows that were there when it was asked', () => {
  const view = viewOf(
    start('lead', 0),
    asks('lead', 1, 0),
    replies('lead', 2, 0, 2),
    calls('lead', 3, 1, 'one'),
    calls('lead', 4, 2, 'two'),
  );
  const asked = viewOf(
    start('lead', 0),
    asks('lead', 1, 0),
    replies('lead', 2, 0, 2),
    calls('lead', 3, 1, 'one'),
    calls('lead', 4, 2, 'two'),
    question('two', 5, 0, 'q1'),
    asks('lead', 6, 3),
    writes('Next'),
  );
  expect(shown(view)).toEqual([['one', 'two']]);
  expect(shown(asked)).toEqual([['one', 'two'], '? q1', 'Next|']);
  // Only of the root: an agent below shows its own words.
  expect(turnItems(asked, asked.cells.get(cellId('two'))!, nothing)).toEqual([]);
});

test('an answer to a message is shown once, as a message', () => {
  const mail = (at: number, id: string, from: string, to: string, text: string) =>
    event('mail', 'lead', at, {
      message: id,
      kind: 'answer',
      from,
      to,
      sender: 'lead',
      recipient: to,
      text,
      state: 'queued',
      reason: null,
    });
  const view = viewOf(
    start('lead', 0),
    asks('lead', 1, 0),
    writes('A way opens.'),
    replies('lead', 2, 0),
    mail(3, 'm1', 'lead', 'outside', 'A way opens.'),
    mail(4, 'm2', 'outside', 'lead', 'We go in.'),
    asks('lead', 5, 1),
    writes('Dark'),
  );
  expect(shown(view)).toEqual(['it: A way opens.', 'me: We go in.', 'Dark|']);
});

test('the answer of a run takes the place of other last words, and is not shown twice', () => {
  const view = viewOf(start('lead', 0), asks('lead', 1, 0), writes('Draft'), replies('lead', 2, 0), ends('lead', 3));
  const items = turnItems(view, view.cells.get(cellId('lead'))!, nothing);
  const texts = (output: string) =>
    withAnswer(items, output, 3).map((item) => (item.type === 'text' ? item.text : item.type));
  expect(texts('Draft\n')).toEqual(['Draft']);
  expect(texts('Final')).toEqual(['Final']);
  expect(texts('')).toEqual(['Draft']);
  expect(withAnswer([], 'Alone', 3)).toHaveLength(1);
  // The element stays the same, so that nothing flickers when the answer is known.
  expect(itemKey(withAnswer(items, 'Final', 3)[0]!)).toBe(itemKey(items[0]!));
});

test('what the log has is read only for requests that have ended and whose words are unknown', () => {
  const view = viewOf(start('lead', 0), asks('lead', 1, 0), live('text-lag', 'lead'));
  const cell = view.cells.get(cellId('lead'))!;
  expect(isTextMissing(cell, nothing)).toBe(false);
  const ended = viewOf(start('lead', 0), asks('lead', 1, 0), live('text-lag', 'lead'), replies('lead', 2, 0));
  expect(isTextMissing(ended.cells.get(cellId('lead'))!, nothing)).toBe(true);
  expect(isTextMissing(ended.cells.get(cellId('lead'))!, () => '')).toBe(false);
});

test('while a person is waited for, those above the asker stand still and others work on', () => {
  const view = viewOf(
    start('lead', 0),
    asks('lead', 1, 0),
    replies('lead', 2, 0, 1),
    calls('lead', 3, 1, 'one'),
    asks('one', 4, 0),
    replies('one', 5, 0, 1),
    question('one', 6, 1, 'q1'),
  );
  expect(standingStill(view)).toEqual({ still: ['lead', 'one'], working: [] });
});

test('versions of a turn are the runs with the same goal again, not forks that go on from its middle', () => {
  const row = (run: string, startedAt: number, fork: { run: string; at: string } | null = null) => ({
    run,
    startedAt,
    fork,
  });
  const rows = [
    row('d', 4, { run: 'b', at: 'lead-1' }),
    row('c', 3, { run: 'a', at: 'lead-1/4' }),
    row('b', 2, { run: 'a', at: 'lead-1' }),
    row('a', 1),
    row('z', 0),
  ];
  for (const run of ['a', 'b', 'd']) expect(versionsOf(run, rows)).toEqual(['a', 'b', 'd']);
  expect(versionsOf('c', rows)).toEqual(['c']);
  // A cycle, which no server sends, ends too.
  expect(
    versionsOf('x', [row('x', 1, { run: 'y', at: 'l' }), row('y', 2, { run: 'x', at: 'l' })]).length,
  ).toBeGreaterThan(0);
});
