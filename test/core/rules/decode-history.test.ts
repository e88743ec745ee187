// A history is shown entry by entry, and each entry is described and checked by itself.
import { expect, test } from 'vitest';
import { decodeHistory } from '#contracts';

const content = (text: string): string => JSON.stringify({ conversation: 'main', leftOut: 0, entries: [{ text }] });

test('a history is decoded once for all of its entries, and nobody can change it for the others', () => {
  const first = decodeHistory(content('Hello.'));
  expect(decodeHistory(content('Hello.'))).toBe(first);
  expect(() => Object.assign(first.entries[0]!, { text: 'Bye.' })).toThrow(TypeError);
  expect(decodeHistory(content('Bye.')).entries[0]!.text).toBe('Bye.');
  expect(decodeHistory(content('Hello.'))).toEqual(first);
});
