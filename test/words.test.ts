// The words of the project: one exported name has one meaning, types are nouns, and what people read is plain English.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseSource, walk } from './planted/probes.ts';
import type { SyntaxNode } from './planted/probes.ts';

/** Other tests make and remove folders in `.planted` meanwhile. */
const filesBelow = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['.planted', 'node_modules'].includes(entry.name) ? [] : filesBelow(path, ending);
    return ending.test(entry.name) ? [path] : [];
  });

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

/** Words that we do not use, and what to say instead. Found in what people read: comments, titles, texts, docs and examples. */
const unused: readonly (readonly [words: RegExp, instead: string])[] = [
  [/\b(?:go(?:es|ing)?|went|gone) on with\b|\b(?:runs?|sessions?|it) goes on\b/iu, 'continue, resume'],
  [/\bunder way\b/iu, 'running, in flight'],
  [/\bfor ever\b/iu, 'never ends, hangs'],
  [/\bin earnest\b/iu, 'in real runs'],
  [/\bunless told\b/iu, 'default'],
  [/\bcom(?:e|es|ing) to an end\b/iu, 'end, finish, shut down'],
  [/\bgiv(?:e|es|ing) way\b/iu, 'is dropped, is shortened'],
  [/\btold apart\b/iu, 'distinguished'],
  [/\bin the words of\b/iu, 'the text of, summarised by'],
  [/\bwhat was said\b/iu, 'the messages, the history'],
  [
    /\bas it were\b|\bthereby\b|\btherein\b|\bwhence\b|\bwhilst\b|\bamongst\b/iu,
    'nothing, by, in, from where, while, among',
  ],
  [/\b(?:the|a) book\b|\bpages? of the book\b/iu, 'the workspace log, its records'],
  [/\b(?:is|are|was|were|be) (?:not |never )?born\b|\bat birth\b/iu, 'is created'],
  [/\bbur(?:y|ies|ied)\b/iu, 'record as a dead letter'],
  [/\bhears? (?:a|the|no|any) topics?\b/iu, 'is subscribed to'],
  [/\btries at once\b|\bof its own accord\b|\bjust like that\b/iu, 'immediately, by itself, without confirmation'],
  [
    /\bgoOn\b|\bunderWay\b|\bborn(?:At|In)\b|\bdeaf[A-Z]\w*|\bwordless\b/u,
    'resume, inFlight, createdAt, discarding, withoutDetail',
  ],
];

const proseFiles = (): readonly string[] => [
  ...['src', 'test', 'sim', 'deep', 'bench', 'tools', 'docs', 'examples', 'templates'].flatMap((folder) =>
    filesBelow(folder, /\.(?:ts|mjs|md|ai|ya?ml)$/u),
  ),
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
];

const findWords = (file: string, text: string): readonly string[] =>
  text.split('\n').flatMap((line, at) =>
    unused.flatMap(([words, instead]) => {
      const found = words.exec(line);
      return found === null ? [] : [`${file}:${at + 1}: "${found[0]}": say ${instead}`];
    }),
  );

test('words that we do not use are not used', () => {
  const files = proseFiles().filter((file) => file !== 'test/words.test.ts');
  expect(files.length).toBeGreaterThan(1_000);
  expect(files.flatMap((file) => findWords(file, read(file)))).toEqual([]);
});

test('such a word is found where it stands, with what to say instead', () => {
  expect(findWords('some.md', 'One.\nThe run goes on with two tools under way.')).toEqual([
    'some.md:2: "run goes on": say continue, resume',
    'some.md:2: "under way": say running, in flight',
  ]);
});
