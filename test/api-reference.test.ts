// The reference that `npm run docs:api` writes from the types: complete, and readable without a network.
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildApiReference } from '../tools/typedoc/api-reference.ts';
import { scratchFolder } from './scratch-folder.ts';

test('every exported name, and every member of the main types, has a comment and a page; nothing is loaded from elsewhere', async () => {
  const folder = mkdtempSync(join(scratchFolder(), 'api-reference-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { names, undocumented, warnings } = await buildApiReference(folder);
  expect({ undocumented, warnings }).toEqual({ undocumented: [], warnings: [] });
  const pages = globSync('{classes,functions,interfaces,types,variables}/*.html', { cwd: folder });
  const ofExports = pages.filter((page) => !page.includes('.Referenced_types.'));
  expect(names).toBeGreaterThan(150);
  expect(ofExports.length).toBe(names);
  const outside = globSync('**/*.html', { cwd: folder }).filter((page) =>
    /(?:src|href)="(?:https?:)?\/\//u.test(readFileSync(`${folder}/${page}`, 'utf8')),
  );
  expect(outside).toEqual([]);
});
