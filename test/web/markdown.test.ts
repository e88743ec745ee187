// Markdown in pieces, and what of it a page may offer.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  linkDefinitions,
  looksLikeMarkdown,
  parsedJson,
  safeImage,
  safeLink,
  splitBlocks,
} from '../../web/src/markdown/blocks.ts';
import { decodeEntities } from '../../web/src/markdown/entities.ts';

test('blocks end at blank lines, but not within fences and lists', () => {
  expect(splitBlocks('a\nb\n\nc')).toEqual(['a\nb', 'c']);
  expect(splitBlocks('```ts\na\n\nb\n```\n\nc')).toEqual(['```ts\na\n\nb\n```', 'c']);
  expect(splitBlocks('~~~\na\n\n```\n\nb')).toEqual(['~~~\na\n\n```\n\nb']);
  expect(splitBlocks('1. a\n\n2. b\n\n   more\n\nc')).toEqual(['1. a\n\n2. b\n\n   more', 'c']);
  expect(splitBlocks('a\n\n- b\n\n\n- c')).toEqual(['a', '- b\n\n\n- c']);
  expect(splitBlocks('\n\n')).toEqual([]);
});

const line = fc.constantFrom(
  '',
  '',
  'word',
  '- item',
  '  more',
  '```',
  '~~~',
  '# head',
  '| a | b |',
  '> quote',
  '1. one',
  '\tcode',
);

test('no line is lost, and what was finished stays as it was while a text grows', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
      const text = lines.join('\n');
      const words = (one: string) =>
        one
          .split('\n')
          .map((each) => each.trimEnd())
          .filter((each) => each !== '');
      expect(splitBlocks(text).flatMap(words)).toEqual(words(text));
      const now = splitBlocks(`${text}\n`);
      const later = splitBlocks(`${text}\nand more`);
      expect(later.slice(0, Math.max(0, now.length - 1))).toEqual(now.slice(0, -1));
    }),
  );
});

test('links go to the web or to mail, and nowhere else', () => {
  expect(safeLink('https://a.example/x?y#z')).toBe('https://a.example/x?y#z');
  expect(safeLink('mailto:a@b.example')).toBe('mailto:a@b.example');
  for (const href of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'JaVaScRiPt:1',
    'data:text/html,x',
    'vbscript:x',
    '//a.example',
    '/x',
    'file:///etc',
    'blob:x',
    'http:',
    'java\nscript:1',
  ])
    expect(safeLink(href), href).toBe(null);
});

// invariant: markdown-no-html
test('pictures are those in the text itself: none is fetched', () => {
  expect(safeImage('data:image/png;base64,AAAA')).toBe('data:image/png;base64,AAAA');
  for (const href of [
    'https://a.example/x.png',
    '/x.png',
    'data:image/svg+xml;base64,AAAA',
    'data:image/png;base64,A A',
    'data:text/html;base64,AAAA',
  ])
    expect(safeImage(href), href).toBe(null);
});

test('entities become the characters that they stand for, and unknown ones stay', () => {
  expect(decodeEntities('a &lt;b&gt; &amp;amp; &#65;&#x42; &nope; &#0; &#xD800; &#9999999;')).toBe(
    'a <b> &amp; AB &nope; &#0; &#xD800; &#9999999;',
  );
});

test('definitions of links are found wherever they stand', () => {
  expect(linkDefinitions('a [x]\n\n[x]: https://a.example\n  [y]: <b> "t"\n')).toBe(
    '[x]: https://a.example\n  [y]: <b> "t"',
  );
  expect(linkDefinitions('none')).toBe('');
});

test('Markdown and JSON are recognized, plain words are neither', () => {
  for (const text of ['# a', 'a\n- b', '1. a', '**b**', 'use `x`', '[a](b)', '```\nx'])
    expect(looksLikeMarkdown(text), text).toBe(true);
  for (const text of ['a - b', 'no 1. here', '2 * 3 * 4', 'plain.\nwords', '#tag'])
    expect(looksLikeMarkdown(text), text).toBe(false);
  expect(parsedJson(' {"a": [1]} ')).toEqual({ a: [1] });
  for (const text of ['{a}', '[x', 'null', '1', '"a"', '']) expect(parsedJson(text), text).toBe(undefined);
});
