import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitLines } from '../../../src/adapters/mcp/split-lines.ts';
import type { TruncatedLine } from '../../../src/adapters/mcp/split-lines.ts';
import { responseIdOf } from '#testing/adapters/mcp';

const bytesMax = 600;

/** Lines of any length, cut into chunks at any position. */
const streams = fc.record({
  lines: fc.array(fc.oneof(fc.nat(5), fc.nat(2_000), fc.constantFrom(bytesMax, bytesMax + 1, 512, 1_024)), {
    maxLength: 8,
  }),
  cuts: fc.array(fc.nat(8_000), { maxLength: 20 }),
});

const contentOf = (length: number, line: number): string =>
  Array.from({ length }, (_, at) => String.fromCodePoint(97 + ((at * 7 + line) % 26))).join('');

// invariant: mcp-line-bounded
test('a stream yields the same lines however it is chunked; of long lines, both ends are kept', () => {
  fc.assert(
    fc.property(streams, ({ lines, cuts }) => {
      const contents = lines.map(contentOf);
      const bytes = Buffer.from(contents.map((line) => `${line}\n`).join(''));
      const received: (string | TruncatedLine)[] = [];
      const push = splitLines(bytesMax, {
        line: (line) => received.push(line.toString()),
        tooLong: (ends) => received.push(ends),
      });
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
      for (let at = 1; at < places.length; at++) push(bytes.subarray(places[at - 1], places[at]));
      expect(received).toEqual(
        contents.map((line) =>
          line.length <= bytesMax ? line : { head: line.slice(0, 512), tail: line.slice(-512), bytes: line.length },
        ),
      );
    }),
  );
});

const endsOf = (text: string): TruncatedLine => ({
  head: text.slice(0, 512),
  tail: text.slice(-512),
  bytes: text.length,
});

test('the id of a response is found at either end, whatever its content', () => {
  const ids = fc.oneof(fc.nat(), fc.stringMatching(/^[\w-]{1,20}$/u));
  const shapes = fc.constantFrom(
    (id: unknown, result: unknown) => ({ jsonrpc: '2.0', id, result }),
    (id: unknown, result: unknown) => ({ id, jsonrpc: '2.0', result }),
    (id: unknown, result: unknown) => ({ result, jsonrpc: '2.0', id }),
    (id: unknown, result: unknown) => ({ jsonrpc: '2.0', result, id }),
    (id: unknown, result: unknown) => ({ result, id, jsonrpc: '2.0' }),
  );
  const filler = 'x'.repeat(2_000);
  const contents = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom({ id: 1 }, [{ id: 2 }], '"id":3}', '{"jsonrpc":"2.0","id":4,', { jsonrpc: '2.0', id: 5 }),
  );
  fc.assert(
    fc.property(ids, shapes, contents, contents, fc.constantFrom(0, 1), (id, shape, first, last, indent) => {
      const text = JSON.stringify(shape(id, { first, filler, last }), null, indent);
      expect(responseIdOf(endsOf(text))).toBe(id);
    }),
  );
});

test('a line that answers nothing has no id, and an ambiguous id is not guessed', () => {
  const filler = 'x'.repeat(2_000);
  const found = (value: object) => responseIdOf(endsOf(JSON.stringify(value)));
  expect(found({ jsonrpc: '2.0', method: 'a', params: { filler, id: 1 } })).toBeNull();
  expect(found({ method: 'a', params: { filler }, id: 1 })).toBeNull();
  expect(found({ a: filler, id: 1, b: filler })).toBeUndefined();
  expect(found({ result: { filler, last: { id: 1 } } })).toBeUndefined();
});
