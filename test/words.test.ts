// The words of the project: one exported name has one meaning, types are nouns, and what people read is plain English.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseSource, walk } from './planted/probes.ts';
import type { SyntaxNode } from './planted/probes.ts';

const filesBelow = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .filter((file) => !/\/(?:\.planted|node_modules)\//u.test(file));

const read = (file: string): string => readFileSync(file, 'utf8');

type Declared = { readonly name: string; readonly kind: string };

/** What a file declares and exports itself. What it passes on from others is not counted. */
const exportsOf = (file: string): readonly Declared[] => {
  const { body } = parseSource(file, read(file)) as unknown as { body: readonly SyntaxNode[] };
  return body.flatMap((statement) => {
    const { declaration } = statement as { declaration?: SyntaxNode | null } & SyntaxNode;
    if (statement.type !== 'ExportNamedDeclaration' || !declaration) return [];
    return declaredNames(declaration).map((name) => ({ name, kind: declaration.type }));
  });
};

const declaredNames = (declaration: SyntaxNode): readonly string[] => {
  const { id, declarations } = declaration as {
    id?: SyntaxNode;
    declarations?: readonly { id: SyntaxNode }[];
  } & SyntaxNode;
  const patterns = declarations?.map((one) => one.id) ?? (id ? [id] : []);
  return patterns.flatMap((pattern) =>
    [...walk(pattern)].flatMap((node) => ('name' in node ? [String(node.name)] : [])).slice(0, 1),
  );
};

const sources = filesBelow('src', /\.ts$/u);
const exported = sources.flatMap((file) => exportsOf(file).map((declared) => ({ ...declared, file })));

test('no name is exported from two files', () => {
  const files = new Map<string, Set<string>>();
  for (const { name, file } of exported) files.set(name, (files.get(name) ?? new Set()).add(file));
  expect(files.size).toBeGreaterThan(1_500);
  const doubled = [...files]
    .filter(([, where]) => where.size > 1)
    .map(([name, where]) => `${name}: ${[...where].join(', ')}`);
  expect(doubled).toEqual([]);
});

/** Participles that say nothing about the thing itself. */
const participles =
  /^(?:Asked|Begun|Born|Brought|Found|Given|Heard|Held|Kept|Known|Made|Meant|Met|Named|Said|Seen|Served|Shown|Taken|Told|Wanted)$/u;

test('no exported type is called by a bare participle', () => {
  const types = exported.filter(({ kind }) => /Type|Interface|Class/u.test(kind));
  expect(types.length).toBeGreaterThan(500);
  expect(types.filter(({ name }) => participles.test(name)).map(({ name, file }) => `${name}: ${file}`)).toEqual([]);
});
