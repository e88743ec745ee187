// Lists exports of src that nobody imports, and those that only tests import without the `testing.ts` of their room.
//   node tools/unused-exports.ts            lists them
//   node tools/unused-exports.ts --remove   takes the first kind away; the compiler then names what is not used at all
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What a package exports, and what starts it: everything in these is used. */
const entries = ['src/app/index.ts', 'src/app/testkit.ts', 'src/app/main.ts', 'src/adapters/stores/sqlite-worker.ts'];
/** Folders outside src whose uses count like those of src. Forgeries for the guard are tests. */
const isProduct = (file: string): boolean => /^(?:src|web|examples|tools(?!\/guard\/forged))\//u.test(file);
const users = ['test', 'bench', 'sim', 'deep', 'tools', 'examples', 'web'];
/** The door for tests: `src/<room>/testing.ts`, imported as `#testing/<room>`. */
const isTestDoor = (file: string): boolean => file.endsWith('/testing.ts');

export type UnusedExports = {
  /** `file: name` */
  readonly unused: readonly string[];
  /** Only tests import it, and not, or not only, by the door for tests. */
  readonly besideTestDoor: readonly string[];
  /** In a door for tests, although the product imports it from there or from the room's index. */
  readonly notTestOnly: readonly string[];
};

/** `door`: by tests, through a door for tests. */
type Use = 'product' | 'tests' | 'door';
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
  const resolver = specifierResolver(root);
  const sources = new Map(paths.map((path) => [path, readSource(path, resolver)]));
  const uses = new Map<string, Set<Use>>();
  const use = ({ file, name }: Reference, kind: Use): void => {
    const key = `${file}: ${name}`;
    const known = uses.get(key) ?? new Set();
    if (known.has(kind)) return;
    uses.set(key, known.add(kind));
    const source = sources.get(resolve(root, file));
    const passedOn = source?.passedOn.get(name);
    if (passedOn !== undefined) use(passedOn, isTestDoor(file) && kind === 'tests' ? 'door' : kind);
    if (name === '*' && source !== undefined) for (const one of exportsOf(source)) use({ file, name: one }, kind);
  };
  for (const entry of entries) use({ file: entry, name: '*' }, 'product');
  for (const { path, imports } of sources.values())
    for (const one of imports) use(one, isProduct(relative(root, path)) ? 'product' : 'tests');
  const all = [...sources.values()].flatMap((source) => {
    const file = relative(root, source.path);
    return file.startsWith('src/') ? exportsOf(source).map((name) => `${file}: ${name}`) : [];
  });
  const isUsedBy = (kind: Use, one: string): boolean => uses.get(one)?.has(kind) === true;
  const [doors, others] = [true, false].map((wanted) => all.filter((one) => isTestDoor(fileOf(one)) === wanted));
  return {
    unused: all.filter((one) => !uses.has(one)),
    besideTestDoor: others!.filter((one) => isUsedBy('tests', one) && !isUsedBy('product', one)),
    notTestOnly: doors!.filter(
      (one) => isUsedBy('product', one) || all.includes(one.replace('/testing.ts', '/index.ts')),
    ),
  };
};

const fileOf = (one: string): string => one.split(': ')[0]!;

const exportsOf = ({ declared, passedOn }: Source): readonly string[] => [...declared, ...passedOn.keys()];

const sourcesIn = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(
          (entry) =>
            entry.isFile() && /\.tsx?$/u.test(entry.name) && !/\/(?:\.planted|node_modules)\b/u.test(entry.parentPath),
        )
        .map((entry) => resolve(entry.parentPath, entry.name))
    : [];

const readSource = (path: string, resolveFrom: ResolveSpecifier): Source => {
  const text = readFileSync(path, 'utf8').replace(/^\s*(?:\/\/|\*|\/\*).*$/gmu, '');
  const imports: Reference[] = [];
  const passedOn = new Map<string, Reference>();
  const declared = [
    ...text.matchAll(
      /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|type|interface|enum) (\w+)/gmu,
    ),
  ].map((match) => match[1]!);
  for (const [, word, names, specifier] of text.matchAll(/^(import|export) (?:type )?\{([^}]*)\} from '([^']+)'/gmu)) {
    const file = resolveFrom(specifier!, path);
    if (file === null) continue;
    for (const [from, as] of splitNames(names!))
      if (word === 'import') imports.push({ file, name: from });
      else passedOn.set(as, { file, name: from });
  }
  const add = (specifier: string, name: string): void => {
    const file = resolveFrom(specifier, path);
    if (file !== null) imports.push({ file, name });
  };
  for (const [, specifier] of text.matchAll(/^import (?:type )?\* as \w+ from '([^']+)'/gmu)) add(specifier!, '*');
  for (const [, names, specifier] of text.matchAll(/(?:const \{([^}]*)\} = await )?import\(\s*'([^']+)'\s*,?\s*\)/gu))
    if (names === undefined) add(specifier!, '*');
    else for (const [from] of splitNames(names.replaceAll(':', ' as '))) add(specifier!, from);
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
type ResolveSpecifier = (specifier: string, from: string) => string | null;

const specifierResolver = (root: string): ResolveSpecifier => {
  // An exact name wins, then the longest pattern, as in Node.
  const patterns = aliases(root)
    .map(([name, to]) => ({ name, to, head: name.split('*')[0]!, isExact: !name.includes('*') }))
    .sort((one, other) => Number(other.isExact) - Number(one.isExact) || other.head.length - one.head.length);
  return (specifier, from) => {
    if (specifier.startsWith('.')) {
      const file = relative(root, resolve(dirname(from), specifier));
      return file.startsWith('src/') ? file : null;
    }
    const found = patterns.find(({ name, head, isExact }) =>
      isExact ? specifier === name : specifier.startsWith(head),
    );
    return found?.to.replace('*', specifier.slice(found.head.length)).replace(/^\.\//u, '') ?? null;
  };
};

const remove = (unused: readonly string[]): void => {
  for (const [file, all] of Map.groupBy(unused, fileOf)) {
    let text = readFileSync(file, 'utf8');
    for (const one of all) text = withoutExport(text, one.split(': ')[1]!);
    writeFileSync(file, text);
  }
};

const withoutExport = (text: string, name: string): string => {
  const declaration = new RegExp(`^export ((?:[a-z]+\\*? )+${name}\\b)`, 'mu');
  if (declaration.test(text)) return text.replace(declaration, '$1');
  return text.replaceAll(
    /^export (type )?\{([^}]*)\} from '([^']+)';\n/gmu,
    (line: string, type: string | undefined, names: string, from: string) => {
      const parts = names
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '');
      const kept = parts.filter((part) => splitNames(part)[0]?.[1] !== name);
      if (kept.length === parts.length) return line;
      return kept.length === 0 ? '' : `export ${type ?? ''}{ ${kept.join(', ')} } from '${from}';\n`;
    },
  );
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const found = findUnusedExports();
  if (process.argv.includes('--remove')) remove(found.unused);
  for (const [kind, names] of Object.entries(found))
    process.stdout.write(`${kind}: ${names.length}\n${names.map((name) => `  ${name}\n`).join('')}`);
}
