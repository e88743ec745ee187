// The token in the link of the page.
import { beforeEach, expect, test, vi } from 'vitest';
import { storeToken, takeToken } from '../../web/src/server-source.ts';

const stored = new Map<string, string>();
const shown: string[] = [];

beforeEach(() => {
  stored.clear();
  shown.length = 0;
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  });
  vi.stubGlobal('history', { replaceState: (_state: null, _title: string, url: string) => void shown.push(url) });
  return () => vi.unstubAllGlobals();
});

const openLink = (hash: string): string | null => {
  vi.stubGlobal('location', { hash, pathname: '/' });
  return takeToken();
};

test('a token is taken out of the address, and kept for the tab', () => {
  expect(openLink('#token=clo_abc%2B%3D&/runs?run=1')).toBe('clo_abc+=');
  expect(shown).toEqual(['/#/runs?run=1']);
  expect(openLink('#/runs')).toBe('clo_abc+=');
});

test.each(['%', '%zz', '%ff', '%E2%82%AC', 'a%0d%0ab', 'a b', '<img>', '', '%00'])(
  'a text that is no token leaves the address too, and is not kept: %s',
  (text) => {
    expect(openLink(`#token=${text}&/runs`)).toBe(null);
    expect(shown).toEqual(['/#/runs']);
    expect([...stored]).toEqual([]);
  },
);

test('a pasted text that is no token can be replaced by another one', () => {
  storeToken('tököń');
  expect(openLink('#/chat')).toBe(null);
  expect([...stored]).toEqual([]);
});
