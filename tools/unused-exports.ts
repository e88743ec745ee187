// Lists exports of src that nobody imports, and names that a door offers although no other folder of src needs them.
//   node tools/unused-exports.ts
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What a package exports, and what starts it: everything in these is used. */
const entries = ['src/app/index.ts', 'src/app/testkit.ts', 'src/app/main.ts', 'src/adapters/stores/sqlite-worker.ts'];
/** Folders outside src that may import from it. */
const users = ['test', 'bench', 'sim', 'deep', 'tools'];

export type UnusedExports = {
  /** `file: name` */
  readonly unused: readonly string[];
  /** The same for what only tests and tools import. */
  readonly testOnly: readonly string[];
};

type Use = 'src' | 'outside';
type Reference = { readonly file: string; readonly name: string };
type Source = {
  readonly path: string;
  /** Names declared here. */
  readonly declared: readonly string[];
  /** By exported name. */
  readonly passedOn: ReadonlyMap<string, Reference>;
  readonly imports: readonly Reference[];
};

export const findUnusedExports = (root = '.'): UnusedExports => {
  const paths = ['src', ...users].flatMap((folder) => sourcesIn(join(root, folder)));
  const sources = new Map(paths.map((path) => [path, readSource(path, root)]));
  const uses = new Map<string, Set<Use>>();
  const use = ({ file, name }: Reference, kind: Use): void => {
    const key = `${file}: ${name}`;
    const known = uses.get(key) ?? new Set();
    if (known.has(kind)) return;
    uses.set(key, known.add(kind));
    const source = sources.get(resolve(root, file));
    const passedOn = source?.passedOn.get(name);
    if (passedOn !== undefined) use(passedOn, kind);
    if (name === '*' && source !== undefined) for (const one of exportsOf(source)) use({ file, name: one }, kind);
  };
  for (const entry of entries) use({ file: entry, name: '*' }, 'src');
  for (const { path, imports } of sources.values())
    for (const one of imports) use(one, relative(root, path).startsWith('src/') ? 'src' : 'outside');
  const all = [...sources.values()].flatMap((source) => {
    const file = relative(root, source.path);
    return file.startsWith('src/') ? exportsOf(source).map((name) => `${file}: ${name}`) : [];
  });
  return {
    unused: all.filter((one) => uses.get(one) === undefined),
    testOnly: all.filter((one) => uses.has(one) && !uses.get(one)!.has('src')),
  };
};

const exportsOf = ({ declared, passedOn }: Source): readonly string[] => [...declared, ...passedOn.keys()];

const sourcesIn = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !/\/\.planted\b/u.test(entry.parentPath))
        .map((entry) => resolve(entry.parentPath, entry.name))
    : [];

const readSource = (path: string, root: string): Source => {
  const text = readFileSync(path, 'utf8').replace(/^\s*(?:\/\/|\*|\/\*).*$/gmu, '');
  const target = (specifier: string): string | null => resolveSpecifier(specifier, path, root);
  const imports: Reference[] = [];
  const passedOn = new Map<string, Reference>();
  const declared = [
    ...text.matchAll(
      /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|type|interface|enum) (\w+)/gmu,
    ),
  ].map((match) => match[1]!);
  for (const [, word, names, specifier] of text.matchAll(/^(import|export) (?:type )?\{([^}]*)\} from '([^']+)'/gmu)) {
    const file = target(specifier!);
    if (file === null) continue;
    for (const [from, as] of splitNames(names!))
      if (word === 'import') imports.push({ file, name: from });
      else passedOn.set(as, { file, name: from });
  }
  for (const [, specifier] of text.matchAll(/^import (?:type )?\* as \w+ from '([^']+)'/gmu)) addAll(specifier!);
  for (const [, names, specifier] of text.matchAll(/(?:const \{([^}]*)\} = await )?import\(\s*'([^']+)'\s*,?\s*\)/gu))
    if (names === undefined) addAll(specifier!);
    else for (const [from] of splitNames(names.replaceAll(':', ' as '))) add(specifier!, from);
  function addAll(specifier: string): void {
    add(specifier, '*');
  }
  function add(specifier: string, name: string): void {
    const file = target(specifier);
    if (file !== null) imports.push({ file, name });
  }
  return { path, declared, passedOn, imports };
};

/** As pairs: the name there, and the name here. */
const splitNames = (names: string): readonly (readonly [string, string])[] =>
  names
    .split(',')
    .map((one) => one.trim().replace(/^type /u, ''))
    .filter((one) => one !== '')
    .map((one) => {
      const [from = '', as = from] = one.split(/\s+as\s+/u);
      return [from, as] as const;
    });

const aliases = (root: string): readonly (readonly [string, string])[] => {
  const { imports, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    imports: Record<string, Record<string, string>>;
    exports: Record<string, Record<string, string> | string>;
  };
  const own = Object.entries(exports).flatMap(([name, to]) =>
    typeof to === 'string' || to['cloister-source'] === undefined
      ? []
      : [[`cloister${name.slice(1)}`, to['cloister-source']] as const],
  );
  return [...own, ...Object.entries(imports).map(([name, to]) => [name, to['cloister-source']!] as const)];
};

/** The file in src that an import leads to, relative to the root; null for packages and files elsewhere. */
const resolveSpecifier = (specifier: string, from: string, root: string): string | null => {
  if (specifier.startsWith('.')) {
    const file = relative(root, resolve(dirname(from), specifier));
    return file.startsWith('src/') ? file : null;
  }
  // The longest pattern wins, as in Node.
  const found = aliases(root)
    .map(([name, to]) => {
      const [head = '', tail] = name.split('*');
      const fits = tail === undefined ? specifier === name : specifier.startsWith(head);
      return fits
        ? { length: head.length + (tail === undefined ? 1000 : 0), file: to.replace('*', specifier.slice(head.length)) }
        : null;
    })
    .filter((one) => one !== null)
    .sort((one, other) => other.length - one.length)[0];
  return found === undefined ? null : found.file.replace(/^\.\//u, '');
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { unused, testOnly } = findUnusedExports();
  process.stdout.write(
    `${unused.length} unused:\n${unused.join('\n')}\n\n${testOnly.length} only for tests:\n${testOnly.join('\n')}\n`,
  );
}
