// The token in the link of the page.
// invariants: token-link-clean
import { expect, test } from 'vitest';
import { isToken, readTokenLink } from '../../web/src/token-link.ts';

test('a token is taken out of the address, and the place behind it stays', () => {
  expect(readTokenLink('#token=clo_abc%2B%3D&/runs?run=1')).toEqual({ token: 'clo_abc+=', rest: '#/runs?run=1' });
  expect(readTokenLink('#token=clo_abc')).toEqual({ token: 'clo_abc', rest: '' });
  for (const hash of ['', '#/chat', '#/chat?find=#token=x']) expect(readTokenLink(hash)).toBe(null);
});

test.each(['%', '%zz', '%ff', '%E2%82%AC', 'a%0d%0ab', 'a b', '<img>', '', '%00', 'tököń'])(
  'a text that is no token leaves the address too, and is not used: %s',
  (text) => {
    expect(readTokenLink(`#token=${text}&/runs`)).toEqual({ token: null, rest: '#/runs' });
    expect(isToken(text)).toBe(false);
  },
);
