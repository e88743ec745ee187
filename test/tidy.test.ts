// Checks on the code itself: the allowed imports, what core may not touch, and what the documentation must list.
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { cruise } from 'dependency-cruiser';
import type { ICruiseResult } from 'dependency-cruiser';
import { expect, test } from 'vitest';
import { findUnusedExports } from '../tools/unused-exports.ts';
import { rules } from '#core/rules';
import { errorsPage } from '../tools/errors-page.ts';
import { promptsPage, wordlessRules } from '../tools/prompts-page.ts';

const table = createRequire(import.meta.url)('../.dependency-cruiser.cjs') as { forbidden: never[]; options: object };

const sources = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/u.test(entry.name) && !entry.parentPath.includes('node_modules'))
    .map((entry) => `${entry.parentPath}/${entry.name}`);

const read = (file: string): string => readFileSync(file, 'utf8');
/** Without comments, so that words in prose do not count. */
const code = (file: string): string =>
  read(file)
    .replace(/\/\*[\s\S]*?\*\//gu, '')
    .replace(/(^|\s)\/\/.*$/gmu, '$1');

/** dependency-cruiser's parser does not support `using` declarations yet: it reads a copy in which they are `const`. */
const withoutUsing = (folder: string): string => {
  rmSync(folder, { recursive: true, force: true });
  for (const file of sources('src')) {
    mkdirSync(dirname(`${folder}/${file}`), { recursive: true });
    writeFileSync(`${folder}/${file}`, read(file).replace(/\b(?:await )?using (\w+) =/gu, 'const $1 ='));
  }
  cpSync('package.json', `${folder}/package.json`);
  return resolve(folder);
};

const cruiseSources = async (): Promise<ICruiseResult> => {
  const baseDir = withoutUsing('test/.planted/tidy');
  const { output } = await cruise(['src'], {
    ...table.options,
    baseDir,
    ruleSet: { forbidden: table.forbidden },
    validate: true,
  });
  return output as ICruiseResult;
};

/** The modules that these load, also lazily; a lazy import of a module that needs the testkit counts as its own start. */
const modulesLoadedFrom = (entries: readonly string[], { modules }: ICruiseResult): readonly string[] => {
  const bySource = new Map(modules.map((one) => [one.source, one]));
  const loaded = new Set(entries);
  for (const source of loaded)
    for (const { resolved, dynamic, typeOnly } of bySource.get(source)?.dependencies ?? [])
      if (typeOnly !== true && !(dynamic && needsTestkit.includes(resolved))) loaded.add(resolved);
  return [...loaded];
};

/** Loaded lazily, for rehearsals, for `cloister verify` and for `cloister demo`. */
const needsTestkit = ['src/app/agents/prepare-rehearsal.ts', 'src/app/verify.ts', 'src/app/open-demo.ts'];

test('every import follows the architecture table, all modules were read, and no run loads the testkit', async () => {
  const result = await cruiseSources();
  const problems = result.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
  expect(problems).toEqual([]);
  const read_ = result.modules.filter(({ source }) => source.startsWith('src/')).map(({ source }) => source);
  expect(read_.sort()).toEqual(sources('src').sort());
  const arrows = result.modules.reduce((sum, { dependencies }) => sum + dependencies.length, 0);
  expect(arrows).toBeGreaterThan(300);

  // The command and the library load it only for rehearsals and `verify`.
  const onStart = modulesLoadedFrom(['src/app/main.ts', 'src/app/index.ts'], result);
  expect(onStart.filter((file) => file.startsWith('src/testkit/'))).toEqual([]);
  expect(onStart).toContain('src/app/agents/registry.ts');
});

test('core reaches for no clock, randomness, timer, network, file or environment', () => {
  const forbidden =
    /\bDate\.now\b|\bnew Date\b|\bMath\.random\b|\bset(?:Timeout|Interval|Immediate)\b|\bfetch\s*\(|\bprocess\b|\bperformance\b|\bPromise\.(?:all|race|any|allSettled)\b|\bqueueMicrotask\b|\brandomUUID\b|\bconsole\b/u;
  const found = sources('src/core').flatMap((file) => {
    const hit = forbidden.exec(code(file));
    return hit === null ? [] : [`${file}: ${hit[0]}`];
  });
  expect(found).toEqual([]);
});

test('only src/app reads process.env', () => {
  const found = sources('src').filter((file) => !file.startsWith('src/app/') && /process\.env/u.test(code(file)));
  expect(found).toEqual([]);
});

test('no function is assigned straight to a property: V8 would promote it with everything it captures', () => {
  // `const stop = () => …; started.stop = stop;` makes a run a third cheaper. The same holds
  // for getters in the literals of one request.
  const straight = /^[ \t]*[\w.#!?[\]]*[.#][#\w]+ (?:\?\?)?= (?:async )?(?:\([^()]*\)|\w+)(?:: [^=\n]+)? =>/mu;
  const found = sources('src').flatMap(
    (file) => straight.exec(code(file))?.map((hit) => `${file}: ${hit.trim()}`) ?? [],
  );
  expect(found).toEqual([]);
  expect(
    straight.test('    this.#wake = () => resolve();') && straight.test('  run.onBroken = (failure) => halt();'),
  ).toBe(true);
});

test('src is imported through its entry points: no import climbs with ../', () => {
  const found = sources('src').filter((file) => /from '\.\.\//u.test(read(file)));
  expect(found).toEqual([]);
});

test('every folder lists its exports by name', () => {
  const found = sources('src').filter((file) => /export \*/u.test(code(file)));
  expect(found).toEqual([]);
});

test('only one file says which content of a crossing is what', () => {
  const cast =
    /\b(?:JSON\.parse|decode\w+)\([^;]*\) as (?:Partial<)?(?:Mail|Dependency|Envelope|History|RoutedMessages|InheritedFiles|TeamGoal)\b/u;
  const found = sources('src').filter((file) => cast.test(code(file)));
  expect(found).toEqual(['src/contracts/crossing-content.ts']);
});

test('every export of src is imported somewhere; what only tests import comes by the testing.ts of its room', () => {
  expect(findUnusedExports()).toEqual({ unused: [], besideTestDoor: [], notTestOnly: [] });
});

// invariant: error-code-keeps-meaning
test('the page of errors and the page of prompt texts are what the code says', () => {
  expect(read('docs/ERRORS.md')).toBe(errorsPage());
  expect(read('docs/PROMPTS.md')).toBe(promptsPage());
  const documented = Object.keys(rules).filter((name) => promptsPage().includes(`\`${name}\``));
  expect([...documented, ...wordlessRules].toSorted()).toEqual(Object.keys(rules).toSorted());
});

test('every file and folder that a document names exists', () => {
  const exclude = ['**/node_modules/**', 'test/.planted/**'];
  const files = globSync(['*.ts', '{src,web,test,tools,sim,deep,bench,docs}/**/*.{ts,tsx,md}'], { exclude });
  const exists = (name: string): boolean =>
    files.some((file) => `/${file}`.endsWith(`/${name}`) || `/${file}`.includes(`/${name}/`));
  const found = globSync(['*.md', 'docs/**/*.md']).flatMap((page) => {
    const text = read(page);
    const quoted = [...text.matchAll(/`((?:src|test|sim|deep|core|app|adapters|headends)\/[\w./-]+|[\w./-]+\.ts)`/gu)];
    const linked = [...text.matchAll(/\]\((?!https?:)([^)#]+\.md)/gu)];
    return [
      ...quoted.map(([, name]) => name!.replace(/\/$/u, '')).filter((name) => !exists(name)),
      ...linked.map(([, name]) => join(dirname(page), name!)).filter((name) => !globSync(name).length),
    ].map((name) => `${page}: ${name}`);
  });
  expect(found).toEqual([]);
});

test('every rule that renders prompts is pure: it imports types and base only', () => {
  for (const file of sources('src/core/rules')) {
    const imports = [...read(file).matchAll(/^import (?:type )?[\s\S]*?from '([^']+)';/gmu)].map((match) => match[1]!);
    expect(
      imports.filter((name) => !name.startsWith('./') && !['#base', '#contracts', '@ai-sdk/provider'].includes(name)),
    ).toEqual([]);
  }
});

test('the lock file carries no download addresses', () => {
  expect(read('package-lock.json')).not.toMatch(/"resolved": "(?:https?|git)/u);
});

test('every invariant has a name of its own, and a test, a judge or a plant cites it', () => {
  const files = ['src', 'web', 'sim', 'deep', 'bench', 'tools', 'test']
    .flatMap(sources)
    .filter((file) => !file.includes('.planted'));
  const named = files.flatMap((file) =>
    [...read(file).matchAll(/^\/\/ {3}(?<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)\. /gmu)].map(
      ({ groups }) => groups!['name']!,
    ),
  );
  const cited = files.flatMap((file) =>
    [
      ...read(file).matchAll(/^\s*(?:\/\/|\/?\*+) invariants?: (?<names>[a-z0-9-]+(?:,\s+(?:\/\/ )?[a-z0-9-]+)*)/gmu),
    ].flatMap(({ groups }) => groups!['names']!.split(/[^a-z0-9-]+/u)),
  );
  expect(named.filter((name, at) => named.indexOf(name) !== at)).toEqual([]);
  expect(cited.filter((name) => !named.includes(name))).toEqual([]);
  expect(named.filter((name) => !cited.includes(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(350);
  const numbered = files.filter((file) => /^\/\/ {3}[A-Z]+\d+\. /mu.test(read(file)));
  expect(numbered).toEqual([]);
});
