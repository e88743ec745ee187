// Markdown is read as `marked` reads it, which knows CommonMark and GitHub's additions.
import fc from 'fast-check';
import { Lexer } from 'marked';
import type { Token, Tokens } from 'marked';
import { expect, test } from 'vitest';
import { decodeEntities } from '../../web/src/markdown/entities.ts';
import type { Inline } from '../../web/src/markdown/read-inline.ts';
import { readMarkdown } from '../../web/src/markdown/read-markdown.ts';
import type { MarkdownBlock } from '../../web/src/markdown/read-markdown.ts';

const nest = (name: string, inner: string): string => `<${name}>${inner}</${name}>`;
const trimmed = (text: string): string => text.replaceAll(/[ \t]*\n[ \t]*/gu, '\n');

const inlines = (parts: readonly Inline[]): string => parts.map(inline).join('');

const inline = (part: Inline): string => {
  if (typeof part === 'string') return trimmed(part);
  if (part.type === 'br') return '<br>';
  if (part.type === 'box') return `[${part.isTicked}]`;
  if (part.type === 'code') return nest('code', part.text);
  if (part.type === 'image') return nest(`img ${part.href}`, part.text);
  return nest(part.type === 'link' ? `a ${part.href}` : part.type, inlines(part.of));
};

const blocks = (all: readonly MarkdownBlock[], isTight = false): string =>
  all.map((one) => (isTight && one.type === 'paragraph' ? inlines(one.of) : block(one))).join('');

const block = (one: MarkdownBlock): string => {
  switch (one.type) {
    case 'paragraph':
      return nest('p', inlines(one.of));
    case 'heading':
      return nest(`h${one.level}`, inlines(one.of));
    case 'quote':
      return nest('quote', blocks(one.of));
    case 'rule':
      return '<hr>';
    case 'code':
      return nest(`pre ${one.language}`, one.text);
    case 'list':
      return nest(`list ${one.start ?? '-'}`, one.items.map(({ of }) => nest('li', blocks(of, !one.isLoose))).join(''));
    case 'table':
      return nest(
        `table ${one.alignments.join(' ')}`,
        [one.head, ...one.rows]
          .map((row) => nest('tr', row.map((cell) => nest('td', inlines(cell))).join('')))
          .join(''),
      );
  }
};

const theirs = (tokens: readonly Token[] | undefined): string => (tokens ?? []).map(their).join('');

const their = (token: Token): string => {
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'paragraph':
      return nest('p', theirs(token.tokens));
    case 'heading':
      return nest(`h${(token as Tokens.Heading).depth}`, theirs(token.tokens));
    case 'blockquote':
      return nest('quote', theirs(token.tokens));
    case 'hr':
      return '<hr>';
    case 'code':
      return nest(`pre ${(token as Tokens.Code).lang ?? ''}`, (token as Tokens.Code).text);
    case 'list': {
      const { ordered, start, items } = token as Tokens.List;
      return nest(`list ${ordered ? start : '-'}`, items.map((item) => nest('li', theirs(item.tokens))).join(''));
    }
    case 'checkbox':
      return `[${(token as Tokens.Checkbox).checked}]`;
    case 'table': {
      const { align, header, rows } = token as Tokens.Table;
      return nest(
        `table ${align.join(' ')}`,
        [header, ...rows]
          .map((row) => nest('tr', row.map((cell) => nest('td', theirs(cell.tokens))).join('')))
          .join(''),
      );
    }
    case 'strong':
    case 'em':
    case 'del':
      return nest(token.type, theirs(token.tokens));
    case 'codespan':
      return nest('code', (token as Tokens.Codespan).text);
    case 'br':
      return '<br>';
    case 'link':
      return nest(`a ${decodeEntities((token as Tokens.Link).href)}`, theirs(token.tokens));
    case 'image':
      return nest(`img ${(token as Tokens.Image).href}`, (token as Tokens.Image).text);
    case 'html':
      return /^<br\s*\/?>$/iu.test(token.raw.trim()) ? '<br>' : token.raw;
    case 'escape':
      return (token as Tokens.Escape).text;
    default:
      return 'tokens' in token && token.tokens !== undefined
        ? theirs(token.tokens)
        : trimmed(decodeEntities((token as Tokens.Text).text));
  }
};

const ours = (text: string): string => blocks(readMarkdown(text));
const reference = (text: string): string => theirs(new Lexer({ gfm: true }).lex(text));

const samples = [
  '# One #\n\nTwo\n===\nThree\n---\n\n####### no heading\n#no\n#',
  'a *b* **c** ***d*** _e_ __f__ ~~g~~ ~h~ a_b_c a*b*c **a*b*c** *a **b** c*',
  '**a *b*** ***a** b* *(a)* _(a)_b *a * b*',
  '`a` ``b`c`` ` d ` `e\nf` `no',
  '[a](https://a.example) [b](<https://b.example/x y> "t") [c](https://c.example/(x)) ![d](data:x "y") [e][f] [f][] [f] [no]\n\n[f]: https://f.example "title"',
  '[a *b* `c`](https://a.example) [![i](https://i.example)](https://l.example) [a [b](https://b.example)](https://c.example)',
  '<https://a.example/?b=c&d> <a@b.example> https://c.example/d_e_f. (www.x.example) x@y.example, http://a.example/(b)) not:http',
  'a  \nb\\\nc\nd',
  String.raw`\*a\* \# \\ \a \&lt; &lt; &amp;amp; &#65; &nope;`,
  '- a\n- b\n  - c\n\n    d\n- e',
  '- a\n\n- b\n- c',
  '1. a\n2. b\n\n   c\n3) d\n',
  '* a\n\n  ```\n  x\n\n  y\n  ```\n* b',
  '- [ ] a\n- [x] b\n- [X] c **d**',
  '> a\n> b\nc\n\n> # d\n> - e\n> > f',
  '```ts title\na\n\n  b\n```\nc\n\n~~~\n```\n~~~\n\n    code\n\n    more\n\nend',
  '| a | b |\n| --- | :-: |\n| `c` | **d** \\| e |\n| f |\n\na | b\n-|-:\n1 | 2\nend',
  'para\n- list\n\npara\n1. one\n\npara\n2. no list\n\n***\n- - -\n* * *',
  'a\n> b\n# c\n```\nd',
  '\tcode\n\n- a',
  '-\n- a\n\n10. x\n11. y',
  'Text:\n| a | b |\n|---|---|\n| 1 | 2 |\n- x',
  '- a\n\n      code\n- b\n\n\nc',
  '',
];

test.each(samples)('like the reference: %j', (text) => {
  expect(ours(text)).toBe(reference(text));
});

/** What agents write: whole words with signs around them, in blocks of all kinds. */
const word = fc.constantFrom('one', 'two', 'Three', '4', 'naïve', 'x_y', 'a.b', '(aside)', 'f(x)', '5%');
const phrase = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));
const span: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: phrase },
  phrase.map((text) => `*${text}*`),
  phrase.map((text) => `**${text}**`),
  phrase.map((text) => `***${text}***`),
  phrase.map((text) => `_${text}_`),
  phrase.map((text) => `~~${text}~~`),
  phrase.map((text) => `**${text} *${text}* ${text}**`),
  phrase.map((text) => `\`${text}\``),
  phrase.map((text) => `\`\`${text} \` *x*\`\``),
  phrase.map((text) => `[${text}](https://a.example/${text.length})`),
  phrase.map((text) => `[**${text}**](https://a.example "T")`),
  phrase.map((text) => `![${text}](data:image/png;base64,AAAA)`),
  fc.constantFrom(
    'https://b.example/c?d=e.',
    '<https://f.example>',
    'g@h.example',
    '2 * 3',
    'a*',
    '_',
    '\\*',
    '&gt;',
    '[x]',
    '!',
  ),
);
const line = fc.array(span, { minLength: 1, maxLength: 4 }).map((spans) => spans.join(' '));
const lines = fc.array(line, { minLength: 1, maxLength: 3 });
const cells = fc.array(
  span.filter((text) => !text.includes('|')),
  { minLength: 2, maxLength: 2 },
);
const row = cells.map((all) => `| ${all.join(' | ')} |`);

const bodies: fc.Arbitrary<readonly string[]> = fc.letrec<{ body: readonly string[] }>((tie) => {
  const body = tie('body');
  const indented = (width: number) => (all: readonly string[]) =>
    all.map((one) => (one === '' ? '' : `${' '.repeat(width)}${one}`));
  const itemOf = (sign: string) =>
    fc
      .tuple(line, fc.option(body, { freq: 3 }), fc.boolean())
      .map(([first, more, isLoose]) => [
        `${sign} ${first}`,
        ...(more === null ? [] : [...(isLoose ? [''] : []), ...indented(sign.length + 1)(more)]),
      ]);
  const listOf = (sign: string) =>
    fc
      .tuple(fc.array(itemOf(sign), { minLength: 1, maxLength: 3 }), fc.boolean())
      .map(([items, isLoose]) => items.flatMap((item, at) => (at > 0 && isLoose ? ['', ...item] : item)));
  return {
    body: fc
      .array(
        fc.oneof(
          { depthSize: 'small', withCrossShrink: true },
          lines,
          fc.tuple(fc.integer({ min: 1, max: 6 }), line).map(([level, text]) => [`${'#'.repeat(level)} ${text}`]),
          fc.constant(['***']),
          fc
            .tuple(fc.constantFrom('', 'ts'), lines)
            .map(([language, all]) => [`\`\`\`${language}`, ...all, '', ...all, '```']),
          fc.tuple(row, fc.array(row, { maxLength: 2 })).map(([head, rows]) => [head, '| --- | ---: |', ...rows]),
          listOf('-'),
          listOf('*'),
          listOf('1.'),
          body.map((all) => all.map((one) => `> ${one}`)),
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map((all) => all.flatMap((one, at) => (at === 0 ? one : ['', ...one]))),
  };
}).body;

test('whatever agents write is read like the reference reads it', () => {
  fc.assert(
    fc.property(bodies, (all) => {
      const text = all.join('\n');
      expect(ours(text)).toBe(reference(text));
    }),
    { numRuns: 1_000 },
  );
});

test('no letter is lost, whatever signs stand around it', () => {
  const signs = [
    '*',
    '**',
    '_',
    '~~',
    '`',
    '``',
    '[',
    ']',
    '](',
    ')',
    '![',
    '<',
    '>',
    '\n',
    ' ',
    '    ',
    '\\',
    '- ',
    '1. ',
    '> ',
    '# ',
    '\t',
    '```\n',
  ];
  const lettersOf = (text: string): string => text.replaceAll(/[^a-f]/gu, '');
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...signs, ...'abcdef'), { maxLength: 40 }), (all) => {
      const kept: string[] = [];
      JSON.stringify(readMarkdown(all.join('')), (key, value: unknown) => {
        if (typeof value === 'string' && key !== 'type') kept.push(value);
        // An address stands behind its text.
        if (typeof value !== 'object' || value === null || !('href' in value)) return value;
        const { href, ...others } = value;
        return { ...others, href };
      });
      // A language stands before its code; all others are in their order.
      const [shown, written] = [kept.join(''), all.join('')].map(lettersOf);
      expect([...shown!].sort().join('')).toBe([...written!].sort().join(''));
    }),
    { numRuns: 500 },
  );
});

const hostilePieces = [
  '*a_ ',
  '[',
  '[a](',
  '[a](b ',
  '[a](b (',
  '[[a]',
  '![',
  '<!--',
  '<a ',
  '`',
  '`a``',
  '**',
  '_a',
  '~',
  '&#',
  '\\',
  '> ',
  '- ',
  '1. ',
  '#',
  '# # ',
  '    ',
  '|',
  '| a |\n',
  '\n\n',
  '[a]: b\n',
  'a@',
  'https://(',
  'www.a)',
  `${'*'.repeat(50)}a`,
  'a'.repeat(50),
  'a\n',
  '> a\n',
  '- a\n',
  '- a\n\n',
];

// invariant: inline-linear
test.each(hostilePieces)('100,000 times %j is read within seconds', (piece) => {
  const before = process.cpuUsage();
  readMarkdown(piece.repeat(100_000));
  const { user } = process.cpuUsage(before);
  expect(user / 1_000_000).toBeLessThan(10);
});
