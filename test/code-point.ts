// Any code point as text, for `fc.string({ unit: codePoint })`. Equivalent to fast-check's own unit 'binary', which takes a
// second and a hundred megabytes to initialise.
import fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };

export const codePoint: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates.count).map(
  (place) => String.fromCodePoint(place < surrogates.first ? place : place + surrogates.count),
  (text) => {
    if (typeof text !== 'string') throw new TypeError('Expected text.');
    const point = text.codePointAt(0);
    if (point === undefined || String.fromCodePoint(point) !== text) throw new Error('Expected one code point.');
    return point < surrogates.first ? point : point - surrogates.count;
  },
);
