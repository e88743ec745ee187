// What leaves for Slack notifies nobody and hides nothing; what comes from it is readable.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutText, fromSlackText, showHidden, toMrkdwn, toPlainText, toSlackMarkdown } from '#testing/headends/slack';
import { testRuns } from '../../test-seed.ts';

const hostile = fc.constantFrom(
  '<!channel>',
  '<!here|x>',
  '<!subteam^S1>',
  '<@U1>',
  '<#C1|general>',
  '<https://evil.test|bank.test>',
  '<mailto:a@b.test|x>',
  '[bank.test](https://evil.test)',
  '![a](https://evil.test/x.png)',
  '[x]: https://evil.test',
  '[x][y]',
  '&lt;!channel&gt;',
  '&#60;!here&#62;',
  '\\<!channel>',
  '`<!channel>`',
  '```\n<!channel>\n```',
  '``` <@U1>',
  '\u202E',
  '\u200B',
  '\u{E0041}',
  '\u2028',
  '\r\n',
  '<',
  '>',
  '|',
  '!',
  '@',
  '`',
  '``',
  '~~~',
  '[',
  ']',
  '(',
  ')',
  '\\',
  '&',
  '👨‍👩‍👧',
  '\n',
  ' ',
  'word',
);
const hostileText = fc.array(hostile, { maxLength: 12 }).map((parts) => parts.join(''));

/** Slack's own sequences, and links with a label, as it reads them. */
const control = /<[!@#]|<[a-z][a-z0-9+.-]*:|<[^\s<>]*\|/iu;
const hidden = /(?![\u200C\u200D])\p{Cf}|\u2028|\p{Co}/u;

// invariants: text-no-control, text-visible
test("no text that leaves has one of Slack's control sequences, or a character that nobody sees", () => {
  fc.assert(
    fc.property(hostileText, (text) => {
      for (const sent of [
        toSlackMarkdown(text),
        toSlackMarkdown(text, false),
        toMrkdwn(text, 3_000),
        toPlainText(text, 75),
      ]) {
        expect(sent).not.toMatch(control);
        expect(sent).not.toMatch(hidden);
      }
      expect(toMrkdwn(text, 3_000).replaceAll(/^\s*> /gmu, '')).not.toMatch(/[<>]|&(?!lt;|gt;|amp;)/u);
    }),
    { numRuns: testRuns(30_000) },
  );
});

// invariants: markdown-prefix, markdown-by-line
test('what is sent of a text that grows is how the whole text begins', () => {
  const piece = fc.oneof(
    hostile,
    fc.constantFrom('a', ' b', '"t"', "'", '- ', '1. ', '> ', '# ', '| a | b |', 'https://x.test/a?b=1&lt=2 '),
  );
  const long = fc.array(piece, { maxLength: 16 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(long, fc.nat(), (text, cut) => {
      const beginning = text.slice(0, cut % (text.length + 1));
      expect(toSlackMarkdown(text).startsWith(toSlackMarkdown(beginning, false).trimEnd())).toBe(true);
    }),
    { numRuns: testRuns(60_000) },
  );
});

test.each<[string, string, string]>([
  [
    'a link shows its host',
    'see [the docs](https://a.test/b?c=1&d=2)',
    'see [the docs](https://a.test/b?c=1&d=2) (a.test)',
  ],
  ['a label that is the address stays', '[https://a.test/x](https://a.test/x)', '[https://a.test/x](https://a.test/x)'],
  ['a label that is another address is no link', '[bank.test](https://evil.test)', 'bank.test (https://evil.test)'],
  [
    'also with the host in its path',
    '[https://bank.test/evil.test](https://evil.test)',
    'https://bank.test/evil.test (https://evil.test)',
  ],
  [
    'credentials do not hide a host',
    '[x](https://bank.test@evil.test/)',
    '[x](https://bank.test@evil.test/) (evil.test)',
  ],
  ['other protocols are no links', '[x](javascript:alert(1))', 'x (javascript:alert(1))'],
  ['a picture is a link', '![cat](https://a.test/c.png)', '[cat](https://a.test/c.png) (a.test)'],
  ['HTML is text', '<b>x</b> & <!-- y -->', '&lt;b>x&lt;/b> & &lt;!-- y -->'],
  ['an address in brackets is an address', '<https://a.test/b>', 'https://a.test/b'],
  ['entities are shown as they were written', '&lt;b&gt; &amp; AT&T', '&amp;lt;b&amp;gt; &amp;amp; AT&T'],
  ['code keeps what is harmless', '`Array<string>` and `a < b`', '`Array<string>` and `a < b`'],
  ['code does not notify', '`<!channel>`', '`&lt;!channel>`'],
  ['a definition of a link is text', '[x]: https://evil.test', '[x] : https://evil.test'],
  [
    'tables, headings and lists stay',
    '# H\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- x',
    '# H\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- x',
  ],
  ['a fence of 5,000 marks is short', `${'`'.repeat(5_000)}js\nx\n${'`'.repeat(5_000)}`, '````````js\nx\n````````'],
  ['line breaks are one kind', 'a\r\nb\rc\u2028d', 'a\nb\nc\nd'],
])('Markdown: %s', (_, text, sent) => expect(toSlackMarkdown(text)).toBe(sent));

test.each<[string, string, string]>([
  ['emphasis', '**bold** *it* ~~no~~ __b__', '*bold* _it_ ~no~ *b*'],
  ['headings', '## A **b**', '*A b*'],
  ['lists', '- a\n  * b\n1. c', '• a\n  • b\n1. c'],
  ['links', '[x](https://a.test)', 'x (https://a.test)'],
  ['code', '`a<b`\n```js\na < b\n```', '`a&lt;b`\n```\na &lt; b\n```'],
  ['tables', '| a | b |', '`| a | b |`'],
  ['quotes', '> a', '> a'],
  ['text', 'a < b & c', 'a &lt; b &amp; c'],
])('mrkdwn: %s', (_, text, sent) => expect(toMrkdwn(text, 3_000)).toBe(sent));

test('mrkdwn that is cut inside a code block closes it', () => {
  const cut = toMrkdwn(`\`\`\`\n${'line\n'.repeat(100)}\`\`\``, 60);
  expect(cut.length).toBeLessThanOrEqual(60);
  expect(cut).toMatch(/^```\n[^`]*…\n```$/u);
});

test('emoji and joined scripts stay whole, other hidden characters are shown', () => {
  expect(showHidden('👨‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 می‌خواهم क्‍ष a\u00A0b')).toBe('👨‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 می‌خواهم क्‍ष a b');
  expect(showHidden('a\u200Db \u202Ex \uFEFF')).toBe(String.raw`a\u200db \u202ex \ufeff`);
});

test('a text is cut between characters as people see them, with an ellipsis', () => {
  expect(cutText('👨‍👩‍👧👨‍👩‍👧', 12)).toBe('👨‍👩‍👧…');
  expect(cutText('a&lt;b', 4)).toBe('a…');
  expect(cutText('abc', 3)).toBe('abc');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 30 }), (text, max) => {
      const cut = cutText(text, max);
      expect(cut.length).toBeLessThanOrEqual(max);
      expect(text.startsWith(cut.replace(/…$/u, ''))).toBe(true);
      expect(cut.isWellFormed()).toBe(true);
    }),
  );
});

test.each<[string, string, string]>([
  ['the mention of the app is removed', '<@UAPP>, what is <@U2|ann> doing?', 'what is @ann doing?'],
  [
    'links are spelled out',
    'see <https://a.test/b|the docs> and <https://c.test>',
    'see the docs (https://a.test/b) and https://c.test',
  ],
  [
    'a link with itself as label is said once',
    '<http://a.test|a.test> <mailto:x@a.test|x@a.test>',
    'http://a.test x@a.test',
  ],
  [
    'channels, groups and dates are named',
    '<#C1|general> <#C2> <!here> <!subteam^S1|@ops> <!date^1^{date}|today>',
    '#general #C2 @here @ops today',
  ],
  ['entities are decoded once', '1 &lt; 2 &amp;&amp; &amp;lt;', '1 < 2 && &lt;'],
  ['what was typed is no sequence', '&lt;@U1&gt;', '<@U1>'],
])('incoming: %s', (_, text, read) => expect(fromSlackText(text, 'UAPP')).toBe(read));
