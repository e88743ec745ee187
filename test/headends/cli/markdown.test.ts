import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { styleText, stripVTControlCharacters } from 'node:util';
import { markdownRenderer, plainRenderer, renderText } from '../../../src/headends/cli/shared/markdown.ts';
import type { Paint } from '../../../src/headends/cli/shared/output.ts';
import { width } from '../../../src/headends/cli/shared/sanitize-text.ts';
import { testRuns } from '../../test-seed.ts';

const coloured: Paint = (style, text) => styleText(style, text, { validateStream: false });
const uncoloured: Paint = (_style, text) => text;
const render = (text: string, columns = 79, paint: Paint = coloured): readonly string[] =>
  renderText(text, markdownRenderer({ paint, columns }));
/** Styles in angle brackets. */
const tagged: Paint = (style, text) => `<${style}>${text}</${style}>`;

describe('Markdown on a terminal', () => {
  const cases: readonly (readonly [source: string, shown: string])[] = [
    ['# Title #', '<underline><bold>Title</bold></underline>'],
    ['### Small `code`', '<bold>Small</bold> <cyan><bold>code</bold></cyan>'],
    ['a **b c** d', 'a <bold>b c</bold> d'],
    ['*a* _b_ __c__ ~~d~~', '<italic>a</italic> <italic>b</italic> <bold>c</bold> <strikethrough>d</strikethrough>'],
    ['***a***', '<italic><bold>a</bold></italic>'],
    ['**a *b***', '<bold>a</bold> <italic><bold>b</bold></italic>'],
    ['snake_case_name, 2 * 3 * 4, a ** b, **open', 'snake_case_name, 2 * 3 * 4, a ** b, **open'],
    [String.raw`\*no\* \\ \a`, String.raw`*no* \ \a`],
    ['`a **b** c` ``d ` e``', '<cyan>a **b** c</cyan> <cyan>d ` e</cyan>'],
    ['[docs](https://e.org/a_(b))', '<underline>docs</underline> <dim>(https://e.org/a_(b))</dim>'],
    ['<https://e.org/a>', '<underline>https://e.org/a</underline>'],
    ['![alt](x.png "t")', 'alt <dim>(x.png)</dim>'],
    [
      '[x] done, a[0](1) and [open](',
      '[x] done, a[0](1) and [open]('.replace('[0](1)', '<underline>0</underline> <dim>(1)</dim>'),
    ],
    ['* item', '• item'],
    ['  12) item', '  12) item'],
    ['> quoted', '<dim>│</dim> quoted'],
    ['```ts\na  **b**\n```', '<dim>```ts</dim>\n<cyan>a  **b**</cyan>\n<dim>```</dim>'],
    ['|a|b|\n|-|-:|\n|x \\| y|1|', '<bold>a    </bold>  <bold>b</bold>'],
  ];
  test.each(cases)('%s', (source, shown) => {
    const lines = renderText(source, markdownRenderer({ paint: tagged, columns: 200 })).join('\n');
    if (source.startsWith('|')) expect(lines.replaceAll(/<\/?\w+>/gu, '')).toBe('a      b\n─────  ─\nx | y  1');
    else expect(lines).toBe(shown);
  });

  test('without colours the marks stay, and lists and tables are laid out all the same', () => {
    expect(render('# T\n- **a** b c d e f g h i j\n|a|bb|\n|-|-|\n|1|2|', 19, uncoloured)).toEqual([
      '# T',
      '- **a** b c d e f g',
      '  h i j',
      'a  bb',
      '─  ──',
      '1  2',
    ]);
  });

  test('a table that is too wide becomes a list, and nothing of it is lost', () => {
    const source = '| name | what it is good for |\n| --- | --- |\n| SQLite | many small writes at once |';
    expect(render(source, 24, uncoloured)).toEqual([
      '• name: SQLite',
      '  what it is good for:',
      '    many small writes at',
      '    once',
    ]);
  });
});

const texts = fc.string({
  unit: fc.constantFrom(
    'a',
    'bc ',
    '界',
    '😀',
    'e\u0301',
    '**',
    '*',
    '_',
    '`',
    '```',
    '\n',
    '\n\n',
    '|',
    '|-|',
    '[',
    '](',
    ')',
    '> ',
    '- ',
    '# ',
    '  ',
    '1. ',
  ),
  maxLength: 80,
});
const letters = (text: string): string => stripVTControlCharacters(text).replaceAll(/[^\p{L}\u0301😀]/gu, '');

// invariants: rendered-lines-final, rendered-nothing-lost, width-never-less
test('a preview fits the screen, and no letter is lost at any width', () =>
  fc.assert(
    fc.property(texts, fc.integer({ min: 19, max: 60 }), fc.boolean(), (text, columns, plain) => {
      const screen = { paint: coloured, columns };
      const renderer = plain ? plainRenderer(screen) : markdownRenderer(screen);
      const shown: string[] = [];
      for (const line of text.split('\n')) {
        for (const one of renderer.preview(line))
          expect(width(stripVTControlCharacters(one))).toBeLessThanOrEqual(columns);
        shown.push(...renderer.add(line));
      }
      shown.push(...renderer.end());
      const count = (all: string): readonly string[] => [...letters(all)].sort();
      // The head of a table that became a list is repeated.
      if (!text.includes('|')) expect(letters(shown.join(''))).toBe(letters(text));
      else for (const one of new Set(count(text))) expect(letters(shown.join(''))).toContain(one);
    }),
    { numRuns: testRuns(600) },
  ));

test('a word is broken only where it is wider than the line, and only in a preview', () => {
  const words = 'Many words of which none is broken at the edge of a narrow terminal, https://example.org/a/long/path';
  for (const columns of [20, 39, 79])
    for (const line of render(words, columns, uncoloured))
      for (const word of line.trim().split(' ')) expect(words.split(' ')).toContain(word);
});

// invariant: rendered-linear
test('hostile text is rendered all the same', () => {
  const n = 20_000;
  const hostile = [
    '[',
    '[a](',
    '*a ',
    '_a',
    '**a',
    '`a``',
    '> ',
    '- ',
    '<a',
    '![',
    '~~a ',
    '**_',
    '|',
    '*a* **b ',
    '\\',
  ];
  // With a lexer that is quadratic in one of them this takes minutes.
  for (const unit of hostile) expect(render(unit.repeat(n / unit.length), 79).length).toBeGreaterThan(0);
});
