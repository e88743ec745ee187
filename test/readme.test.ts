// What the README and the pages on commands say exists: commands, options, files; and how long the README may be.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli } from './headends/cli/driver.ts';

const pages = ['README.md', 'docs/START.md', 'docs/COMMANDS.md', 'docs/HOW-IT-WORKS.md'];
const read = (page: string): string => readFileSync(page, 'utf8');

/** Of a command line: the name of the command, with that of a command below it, and its options. */
const parsed = (line: string) => {
  const [, words = ''] = /npx (?:-y -p node@24 )?cloister ((?:[^#`\n]|#(?! ))*)/u.exec(line) ?? [];
  const [name = '', second = ''] = words.replaceAll(/"[^"]*"/gu, '').split(/[ |]+/u);
  return { words, name, second, options: words.match(/--[a-z][a-z-]*/gu) ?? [] };
};

const commandLines = (page: string): readonly string[] =>
  [...read(page).matchAll(/^.*\bnpx (?:-y -p node@24 )?cloister .*$/gmu)]
    .map(([line]) => line)
    .filter((line) => !/cloister [`<]|cloister`/u.test(line));

describe.each(pages)('%s', (page) => {
  test('names no file that does not exist', () => {
    const links = [...read(page).matchAll(/(?:\]\(|src(?:set)?=")([^)\s"]+)/gu)].map(([, link]) => link!);
    const files = links.filter((link) => !/^(?:https?:|#)/u.test(link)).map((link) => link.split('#')[0]!);
    expect(files.filter((file) => !existsSync(join(dirname(page), file)))).toEqual([]);
  });

  test('links to headings that exist', () => {
    const links = [...read(page).matchAll(/\]\(([^)\s:]+\.md)#([^)\s]+)\)/gu)];
    const missing = links.filter(([, file = '', heading = '']) => {
      const headings = [...read(join(dirname(page), file)).matchAll(/^#+ (.*)$/gmu)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w -]/gu, '')
          .replaceAll(' ', '-'),
      );
      return !headings.includes(heading);
    });
    expect(missing.map(([link]) => link)).toEqual([]);
  });

  test('names no command or option that does not exist', async () => {
    const unknown: string[] = [];
    for (const line of commandLines(page)) {
      const { name, second, options } = parsed(line);
      // An agent file stands for `run`.
      const command = /\.ai$|^<agent/u.test(name) ? ['run'] : [name];
      const below = await cli([...command, ...(/^[a-z]+$/u.test(second) ? [second] : []), '--help']);
      const help = below.code === 0 ? below : await cli([...command, '--help']);
      const shown = help.stdout;
      if (!shown.startsWith(`Usage: cloister ${command.join(' ')}`)) unknown.push(line);
      unknown.push(...options.filter((option) => !shown.includes(option)).map((option) => `${option}: ${line}`));
    }
    expect(unknown).toEqual([]);
  });
});

test('the README is short, and explains its words', () => {
  const words = read('README.md')
    .replaceAll(/\]\([^)]*\)/gu, ']')
    .split(/\s+/u).length;
  expect(words).toBeLessThan(1_300);
  for (const word of ['cell', 'crossing', 'grant']) expect(read('README.md')).toContain(`**${word}**`);
});

test('the README cites only issues on GitHub, by repository and number', () => {
  const cited = [...read('README.md').matchAll(/\[([\w.-]+)#(\d+)\]\(([^)]+)\)/gu)];
  expect(cited.length).toBeGreaterThan(3);
  for (const [, name, number, link] of cited)
    expect(link).toMatch(new RegExp(`^https://github\\.com/[\\w.-]+/${name}/issues/${number}$`, 'u'));
});
