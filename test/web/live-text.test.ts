// Text that a page is sent while a model writes it.
import { expect, test } from 'vitest';
import { applyEvent, cutLiveText } from '#headends/run-view';
import { asks, cellId, ends, live, replies, start, viewOf } from './events.ts';

const root = cellId('lead');

const writes = (text: string) => live('text-delta', 'lead', text);

test('a request has the text that it wrote, after the next one has begun and the cell has ended', () => {
  const view = viewOf(start('lead', 0), asks('lead', 1, 0), writes('I '), writes('ask.'), replies('lead', 2, 0, 1));
  applyEvent(view, asks('lead', 3, 1));
  applyEvent(view, writes('Done.'));
  applyEvent(view, replies('lead', 4, 1));
  applyEvent(view, ends('lead', 5));
  const { requests, text } = view.cells.get(root)!;
  expect(requests.map((one) => one.text)).toEqual(['I ask.', 'Done.']);
  expect(text).toBe('');
});

test('what was taken back is no part of the text', () => {
  const view = viewOf(
    start('lead', 0),
    asks('lead', 1, 0),
    writes('Wrong'),
    live('text-reset', 'lead'),
    writes('Right'),
  );
  applyEvent(view, replies('lead', 2, 0));
  expect(view.cells.get(root)!.requests[0]!.text).toBe('Right');
});

test('a text of which pieces are missing is unknown, not a text with a hole', () => {
  const lagged = viewOf(start('lead', 0), asks('lead', 1, 0), writes('Be'), live('text-lag', 'lead'), writes('end'));
  expect(lagged.cells.get(root)).toMatchObject({ text: 'end', isTextCut: true });
  applyEvent(lagged, replies('lead', 2, 0));
  expect(lagged.cells.get(root)!.requests[0]!.text).toBe(null);

  // Everything before was read from the log, which has no pieces.
  const joined = viewOf(start('lead', 0), asks('lead', 1, 0), replies('lead', 2, 0, 1), asks('lead', 3, 1));
  cutLiveText(joined);
  applyEvent(joined, writes('tail'));
  applyEvent(joined, replies('lead', 4, 1, 1));
  applyEvent(joined, asks('lead', 5, 2));
  applyEvent(joined, writes('whole'));
  applyEvent(joined, replies('lead', 6, 2));
  expect(joined.cells.get(root)!.requests.map(({ text }) => text)).toEqual([null, null, 'whole']);
});
