// With `npm test` some of the plants are tried. That each of them could be is known here: what it changes stands where it says, once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileLeaks } from '../isolation/planted-file-leaks.ts';
import { leaks } from '../isolation/planted-leaks.ts';
import { mailLeaks } from '../isolation/planted-mail-leaks.ts';
import { serveLeaks } from '../isolation/planted-serve-leaks.ts';
import { teamLeaks } from '../isolation/planted-team-leaks.ts';
import { bugs } from '../sim/planted-bugs.ts';
import { mailBugs } from '../sim/planted-mail-bugs.ts';
import { teamBugs } from '../sim/planted-team-bugs.ts';
import { root } from './folders.ts';
import type { Edit } from './plant.ts';

type Planted = { readonly name: string; readonly edits: readonly Edit[] };
const all: readonly Planted[] = [leaks, fileLeaks, mailLeaks, teamLeaks, serveLeaks, bugs, mailBugs, teamBugs].flat();

test('every plant finds its place in the code, once', () => {
  const lost = all.flatMap(({ name, edits }) => {
    const texts = new Map<string, string>();
    return edits.flatMap(({ file, find, put }) => {
      const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8');
      texts.set(
        file,
        text.replace(find, () => put),
      );
      return text.split(find).length === 2 ? [] : [`${name}: ${file}: ${find}`];
    });
  });
  expect(all.length).toBeGreaterThan(150);
  expect(lost).toEqual([]);
});
